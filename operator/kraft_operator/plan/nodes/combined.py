"""Combined nodes: a voter and a broker on one disk.

A lost disk is a lost voter and a lost broker, and one directory: it is written off once, when both have let it go. The
partitions are asked before the voter is removed, and again before the disk goes; so nothing is begun that only a person
may end. What a cluster's nodes are is decided when it is formed: their names and labels are for ever.
"""

from __future__ import annotations

from kraft_operator.api.combined import Role, is_combined
from kraft_operator.api.roles import controls, roles_of, serves
from kraft_operator.ledger import Entry, Ledger
from kraft_operator.observed import Claim, NodeSet
from kraft_operator.plan.nodes.replacement import given_up_with
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.voters.loss import Loss, written_off
from kraft_operator.plan.voters.membership import replace_lost_voters


def replace_lost_nodes(now: Situation) -> Verdict:
    """Voters that lost their disks, brokers as well or not."""
    return replace_lost_voters(now, _end_of)


def _end_of(now: Situation, ledger: Ledger, entry: Entry, loss: Loss) -> Verdict:
    if serves(entry):
        return given_up_with(now, ledger, entry, loss)
    return Verdict(ledger=written_off(ledger, entry))


def keep_the_role(now: Situation) -> Verdict:
    """Nothing is done with a resource that asks for other nodes than there are, or takes combined ones away: what these
    hold would have to be moved first, and nothing moves it.
    """
    ledger, group = now.ledger, now.cluster.spec.controllers
    if ledger is None:
        return NOTHING
    there: tuple[Entry | NodeSet | Claim, ...] = (*ledger.entries, *now.observed.sets, *now.observed.claims)
    known = [each for each in there if each.pool == group.name]
    others = sorted({each.node_id for each in known if controls(each) and roles_of(each) != group.roles})
    if others:
        was = Role.CONTROLLER if is_combined(now.cluster.spec) else Role.COMBINED
        message = f"set spec.controllers.role to {was} again: this cluster was formed with it, and it never changes"
        return _kept("RoleFixed", message)
    if is_combined(now.cluster.spec) and len(group.node_ids) < ledger.size:
        message = (
            f"set spec.controllers.replicas to {ledger.size} again: combined nodes become more, not fewer. For a "
            "smaller cluster make another one, and move what this one has to it"
        )
        return _kept("CombinedNodesStay", message)
    return NOTHING


def _kept(reason: str, message: str) -> Verdict:
    told = f"{message}; the running cluster is left as it is"
    return Verdict(findings=(Finding(Topic.SPEC, reason, told, "spec.controllers", stalled=True),), stop=True)
