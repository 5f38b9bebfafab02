"""A plaintext cluster that runs becomes a secure one, stage by stage (`api.stages`), and nobody pauses longer than for
a roll.

Three things hold at every moment, whatever mixture of two adjacent stages runs, and whoever dies:

    **I1** every controller serves the default listener of every node;
    **I2** every voter's entry in the log has it, in every node's own copy of the log;
    **I3** who connects by it is trusted, and may do what it has to.

A stage begins when the one before it *stands*: every pod runs it and serves, every voter is live. Two of them wait for
more. **G1**, before any default changes (TURNED): every controller was seen to show a certificate of the cluster's
authority on its new listener, and the committed voter set names both listeners of every voter; a controller whose
default is in nobody's entry ends. **G2**, before the old listener goes (CLOSED): nobody has used it for a while; a
broker that still does would be fenced. From CLOSED on there is no way back. Until then `mode: Disabled` goes the same
way in reverse; turning round needs no gate, because the two stages that meet are those that met already.

What stands is written in the ledger before anything is done for the next stage, so an operator may die at any point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from kraft_operator.api.metadata_versions import KRAFT_FEATURE
from kraft_operator.api.roles import controls, serves
from kraft_operator.api.security import AuthorizationMode, CertificateSource, Stage, TlsMode
from kraft_operator.api.spec import LifecycleState
from kraft_operator.api.stages import Formed, formed
from kraft_operator.credentials import EnterStage
from kraft_operator.ledger import Formation, Ledger, RunningOperation
from kraft_operator.manifests.context import Context, NodePlan
from kraft_operator.observed import Pod, QuorumState
from kraft_operator.plan.security import certificates_stand
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.voters.endpoints import served_by
from kraft_operator.plan.wording import called, verb

BECOMES: Final = "BecomesSecure"
"""Reason of what is told meanwhile: the cluster is as good as ever."""
REFUSED: Final = "SecurityRefused"
UPDATE_RAFT_VOTER: Final = 82
KRAFT_LEVEL: Final = 1
"""Of kraft.version, from which on the log has the voters' endpoints (Apache Kafka 3.9)."""
QUIET: Final = "nobody uses the controllers' plaintext listener"


def become_secure(now: Situation) -> Verdict:
    """One stage further, or why not."""
    ledger, security = now.ledger, now.cluster.spec.security
    if ledger is None or ledger.formation is not Formation.FORMED:
        return NOTHING
    if security.required and security.enforced:
        return NOTHING
    if now.cluster.spec.lifecycle is not LifecycleState.RUNNING or now.cluster.formed != ledger.security:
        return NOTHING
    here = formed(ledger.security)
    aim = _aim(now)
    if aim == here.stage or now.cluster.kept_mode:
        return _at_its_aim(now, here)
    if not here.stage and (why := _refusal(now)):
        return Verdict(findings=(Finding(Topic.SPEC, REFUSED, why, stalled=True),))
    back = aim < here.stage
    turns_round = here.migrated and here.back != back and here.stage > Stage.PREPARED
    suspects = _quiet(now, here.stage) if not back else frozenset()
    if back and turns_round:
        return _entering(now, ledger, Formed(Stage(here.stage - 1), migrated=True, back=True))
    held = next(_unsteady(now, ledger), "") or ("" if back else GATES[Stage(here.stage + 1)](now))
    if held:
        return Verdict(findings=(_told(here.stage, aim, held),), suspects=suspects)
    there = Stage(here.stage + (-1 if back else 1))
    was_plaintext = here.migrated or here.stage is Stage.PLAIN
    found = Formed(there, migrated=was_plaintext and there > Stage.PLAIN, back=back and there > Stage.PLAIN)
    return replace(_entering(now, ledger, found), suspects=suspects)


def tell_who_waits(now: Situation) -> Verdict:
    """No stage is entered, and none is left, while a lost quorum is recovered: for that the way waits."""
    ledger = now.ledger
    if ledger is None or ledger.operation is None or now.cluster.formed != ledger.security or now.cluster.kept_mode:
        return NOTHING
    here, aim = formed(ledger.security), _aim(now)
    if not here.migrated or aim == here.stage:
        return NOTHING
    return Verdict(findings=(_told(here.stage, aim, _carried_out_first(ledger.operation)),))


def _carried_out_first(operation: RunningOperation) -> str:
    return f"KRaftOperation {operation.name} is carried out first"


def is_quiet(suspicion: str) -> bool:
    """Time alone is waited for."""
    return suspicion == QUIET


def _aim(now: Situation) -> Stage:
    """As far as the resource lets it go; from CLOSED on it goes forward only."""
    security = now.cluster.spec.security
    match security.mode:
        case TlsMode.DISABLED:
            return max(Stage.PLAIN, security.stage if security.closed else Stage.PLAIN)
        case TlsMode.MIGRATING:
            return max(Stage.REPLICATING, security.stage)
        case TlsMode.REQUIRED:
            enforced = security.authorization is AuthorizationMode.ENFORCED or security.enforced
            return Stage.ENFORCED if enforced else Stage.AUTHORIZED


def _entering(now: Situation, ledger: Ledger, there: Formed) -> Verdict:
    told = _told(there.stage, _aim(now), "its nodes are given what it needs")
    action = EnterStage(
        there.stage.name.capitalize(), f"the stage before stands: {WORDS[there.stage]}", back=there.back
    )
    return Verdict(ledger=replace(ledger, security=there.text), actions=(action,), findings=(told,))


def _at_its_aim(now: Situation, here: Formed) -> Verdict:
    """What its owner has to do to go on."""
    if here.stage is Stage.REPLICATING and now.cluster.spec.security.mode is TlsMode.MIGRATING:
        todo = "set spec.security.tls.mode to Required to close the controllers' plaintext listener for good"
        return Verdict(findings=(_told(here.stage, here.stage, todo),))
    if here.stage is Stage.AUTHORIZED and not now.cluster.kept_mode:
        todo = (
            "give everybody their ACLs (KRaftUser), all those of a resource at once, then set "
            "spec.security.authorization.mode to Enforced: what no ACL is about is allowed until then"
        )
        return Verdict(findings=(_told(here.stage, here.stage, todo),))
    return NOTHING


def _told(stage: Stage, aim: Stage, why: str) -> Finding:
    return Finding(Topic.SECURITY, BECOMES, f"{stage.name.capitalize()} on the way to {aim.name.capitalize()}: {why}")


def _refusal(now: Situation) -> str:
    """Why this cluster cannot begin, and what its owner may do."""
    if now.cluster.hindrance:
        return f"correct the resource before the cluster can become secure: {now.cluster.hindrance}"
    registry = now.observed.brokers.registry
    if registry.finalized is None or registry.apis is None:
        return ""  # nobody could be asked; the gate says so
    level = registry.finalized.get(KRAFT_FEATURE, 0)
    if level < KRAFT_LEVEL:
        return (
            f"set spec.quorumFeature.policy to Latest first: at kraft.version {level} the log does not hold where "
            "voters are, so a second listener of theirs would be found by nobody"
        )
    if UPDATE_RAFT_VOTER not in registry.apis:
        return "upgrade the controllers first: theirs cannot change a voter's listeners (UpdateRaftVoter, Kafka 3.9)"
    return ""


# What has to hold before a stage begins.


def _unsteady(now: Situation, ledger: Ledger) -> Iterator[str]:
    """Why the stage of the moment does not stand yet."""
    quorum, brokers, spec = now.observed.quorum, now.observed.brokers, now.cluster.spec
    if ledger.operation is not None:
        yield _carried_out_first(ledger.operation)
    if now.stepped:
        yield "another step comes first"
    if behind := sorted(node.node_id for node in now.nodes if not _runs_the_newest(now, ledger, node)):
        yield f"{called('node', behind)} {verb(behind, 'does', 'do')} not run it yet"
    if quorum.state is not QuorumState.AVAILABLE or not quorum.proven or not quorum.settled:
        yield f"the quorum has to be proven, and its voters committed: {quorum.detail}"
    if away := sorted(each.node_id for each in quorum.voters if not each.live):
        yield f"{called('voter', away)} {verb(away, 'is', 'are')} not live"
    if {each.node_id for each in quorum.voters} != set(spec.controllers.node_ids):
        yield "the controllers that the resource asks for are the voters first"
    wanted = {node_id for pool in spec.broker_pools for node_id in pool.node_ids}
    serving = (brokers.registered or frozenset()) - (brokers.fenced or frozenset())
    if idle := sorted(wanted - serving):
        yield f"{called('broker', idle)} {verb(idle, 'does', 'do')} not serve"
    late = {each.node_id for each in quorum.observers if not each.caught_up} & wanted
    if late:
        yield f"{called('broker', sorted(late))} {verb(sorted(late), 'has', 'have')} not read the whole log"


def _runs_the_newest(now: Situation, ledger: Ledger, node: NodePlan) -> bool:
    node_set, pod = now.observed.node_set(node.node_id), now.observed.pod(node.node_id)
    group = now.cluster.spec.group(node.group)
    if node_set is None or pod is None or group is None:
        return False
    context = Context(now.cluster, ledger.cluster_id, (), now.images, ledger.replication_factor)
    newest = node_set.target == now.rendered.revision(context, group) and bool(node_set.revision)
    return newest and pod.ready and not pod.terminating and pod.revision == node_set.revision


def _none(_: Situation) -> str:
    return ""


def _certificates_are_made(now: Situation) -> str:
    seen = now.observed.credentials
    own = now.cluster.spec.security.source is CertificateSource.OPERATOR
    if own and (seen is None or seen.authority is None or seen.published != seen.trusted):
        return "the authority is being made"
    return "" if certificates_stand(now) else "certificates are being made"


def _voters_are_known_by_both(now: Situation) -> str:
    """G1."""
    known = {each.node_id: set(each.endpoints) for each in now.observed.quorum.voters}
    lacking = sorted(node for node, listed in known.items() if listed != set(served_by(now.cluster, node)))
    if lacking:
        return f"the log does not name both listeners of {called('voter', lacking)} yet (G1)"
    return _proven(now, controls, "G1")


def _brokers_serve_both(now: Situation) -> str:
    return _proven(now, serves, "G1")


def _proven(now: Situation, concerned: Callable[[Pod], bool], gate: str) -> str:
    seen = now.observed.credentials
    running = {each.node_id for each in now.observed.pods if concerned(each) and each.main_started}
    missing = sorted(running - (seen.proven if seen is not None else frozenset()))
    if now.foreseen or not missing:
        return ""
    who = called("node", missing)
    return f"{who} {verb(missing, 'was', 'were')} not seen to show a certificate on the new listener yet ({gate})"


def _nobody_speaks_plaintext(now: Situation) -> str:
    """G2."""
    used = now.observed.plaintext_sessions
    if busy := sorted(node for node, count in used.items() if count):
        return f"somebody is connected to the plaintext listener of {called('controller', busy)} (G2)"
    wanted = now.cluster.spec.security.quiet_seconds
    stood = now.waited.get(QUIET, -1.0)
    return "" if stood >= wanted else f"nobody may have used the plaintext listener for {wanted:g} s (G2)"


def _quiet(now: Situation, stage: Stage) -> frozenset[str]:
    busy = any(now.observed.plaintext_sessions.values())
    steady = now.ledger is not None and not next(_unsteady(now, now.ledger), "")
    return frozenset({QUIET}) if stage is Stage.REPLICATING and steady and not busy else frozenset()


def _old_listener_is_forgotten(now: Situation) -> str:
    known = {each.node_id: set(each.endpoints) for each in now.observed.quorum.voters}
    left = sorted(node for node, listed in known.items() if listed != set(served_by(now.cluster, node)))
    return f"the log names the closed listener of {called('voter', left)} still" if left else ""


GATES: Final[Mapping[Stage, Callable[[Situation], str]]] = {
    Stage.PREPARED: _none,
    Stage.LISTENING: _certificates_are_made,
    Stage.TURNED: _voters_are_known_by_both,
    Stage.FOLLOWED: _none,
    Stage.REPLICATING: _brokers_serve_both,
    Stage.CLOSED: _nobody_speaks_plaintext,
    Stage.AUTHORIZED: _old_listener_is_forgotten,
    Stage.ENFORCED: _none,
}
"""Beside the stage before it standing."""

WORDS: Final[Mapping[Stage, str]] = {
    Stage.PLAIN: "the certificates are not needed any more",
    Stage.PREPARED: "an authority, certificates for every node, and a way through the network policies",
    Stage.LISTENING: "controllers serve a secure listener beside the plaintext one",
    Stage.TURNED: "controllers speak to each other by the secure listener",
    Stage.FOLLOWED: "brokers follow the controllers by it, and serve a secure one beside their own",
    Stage.REPLICATING: "brokers and the operator speak to brokers by theirs",
    Stage.CLOSED: "the controllers' plaintext listener is closed, for good",
    Stage.AUTHORIZED: "every node asks the authorizer; what no ACL is about is allowed (A1)",
    Stage.ENFORCED: "what no ACL allows is denied (A4)",
}
