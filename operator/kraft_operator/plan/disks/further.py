"""Further volumes of brokers: what is decided about a node's disk is decided about them by the same rules.

`through` shows the situation as it is for one volume name: the claims are those of that volume, a pod's reports and
grants are about it, the ledger's entries are its directories. A rule that knows nothing of further volumes then learns,
grants, refuses or gives up exactly one directory; `back` puts what it found in its place. Who votes, which nodes there
are, and what is in doubt is said by the rules about first volumes alone.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.actions import Action, ApplyChild, DeliverGrant, MakeClaim
from kraft_operator.api.roles import BROKER
from kraft_operator.api.spec import Group
from kraft_operator.api.storage import Storage
from kraft_operator.ledger import Entry, Ledger
from kraft_operator.manifests import further
from kraft_operator.manifests.context import NodePlan
from kraft_operator.observed import Claim, Pod
from kraft_operator.plan.disks.recall import borne
from kraft_operator.plan.disks.volumes import claim_grows
from kraft_operator.plan.situation import NOTHING, Rule, Situation, Verdict
from storage_guard.formats import Report


def volumes_of(now: Situation) -> tuple[str, ...]:
    """Names of all further volumes of the cluster."""
    asked = {name for pool in now.cluster.spec.broker_pools for name in pool.volumes}
    known = {name for name, _ in now.ledger.volumes} if now.ledger is not None else set()
    return tuple(sorted(asked | known))


def of_each_volume(rule: Rule) -> Rule:
    """This rule, asked about every further volume in turn."""

    def asked(now: Situation) -> Verdict:
        found = NOTHING
        for volume in volumes_of(now) if now.ledger is not None else ():
            verdict = back(now, volume, rule(through(now, volume)))
            now = replace(now, ledger=verdict.ledger or now.ledger, replacing=now.replacing | verdict.replacing)
            found = _joined(found, verdict)
        return found

    return asked


def through(now: Situation, volume: str) -> Situation:
    assert now.ledger is not None
    claims = tuple(each for each in now.observed.further_claims if each.further == volume)
    pods = tuple(_about(pod, volume) for pod in now.observed.pods if volume in pod.volumes)
    retired = {each.node_id for each in now.ledger.entries if each.retired}
    known = (each for each in now.ledger.of_volume(volume) if not _set_aside(now, volume, each))
    entries = tuple(replace(each, retired=each.node_id in retired) for each in known)
    blank = (each for each in entries if not (each.directory_id or each.grant or each.replaces or each.retired))
    doubted = tuple(each.node_id for each in blank)
    return replace(
        now,
        observed=replace(now.observed, claims=claims, pods=pods, further_claims=()),
        ledger=replace(now.ledger, entries=entries, doubted=doubted),
    )


def back(now: Situation, volume: str, verdict: Verdict) -> Verdict:
    """`now` is the situation that `through` was given."""
    assert now.ledger is not None
    seen = verdict.ledger
    ledger = None
    if seen is not None:
        first = replace(seen, entries=now.ledger.entries, doubted=now.ledger.doubted, volumes=now.ledger.volumes)
        aside = (each for each in now.ledger.of_volume(volume) if _set_aside(now, volume, each))
        ledger = first.with_volume(volume, (*seen.entries, *aside))
    return replace(
        verdict,
        ledger=ledger if ledger != now.ledger else None,
        actions=tuple(_named(each, volume) for each in verdict.actions),
        findings=tuple(replace(each, message=f"volume {volume}: {each.message}") for each in verdict.findings),
    )


def _set_aside(now: Situation, volume: str, entry: Entry) -> bool:
    """No pod has it any more, or will: whatever becomes of it is no loss."""
    pod, node_set = now.observed.pod(entry.node_id), now.observed.node_set(entry.node_id)
    worn = (pod is not None and volume in pod.volumes) or (node_set is not None and volume in node_set.volumes)
    removal = now.ledger.removal(entry.pool, volume) if now.ledger is not None else None
    return removal is not None and removal.gone and not worn


def keep_volumes(now: Situation) -> Verdict:
    """Their claims: made where they are missing, grown where they are asked to."""
    if now.ledger is None:
        return NOTHING
    found = NOTHING
    for node in now.nodes:
        group = now.cluster.spec.group(node.group)
        for volume, storage in sorted(group.volumes.items()) if group is not None else ():
            assert group is not None
            found = _joined(found, _kept(now, node, group, (volume, storage)))
    return found


def know_claims_again(now: Situation) -> Verdict:
    """Where only the claim is another one, on the same volume. Comes before anything is taken as lost."""
    if now.ledger is None:
        return NOTHING
    ledger, claims = now.ledger, {each.volume: each for each in now.observed.further_claims if each.volume}
    for volume, entry in now.ledger.volumes:
        claim = claims.get(entry.pv_name or "")
        if claim is None or claim.uid == entry.pvc_uid or (claim.further, claim.node_id) != (volume, entry.node_id):
            continue
        others = (each for each in ledger.of_volume(volume) if each.node_id != entry.node_id)
        ledger = ledger.with_volume(volume, (*others, replace(entry, pvc_uid=claim.uid)))
    return Verdict(ledger=ledger) if ledger != now.ledger else NOTHING


def recalled_volumes(now: Situation, ledger: Ledger) -> Ledger:
    """A ledger that was made again, with what the claims of further volumes bear. A volume that is asked for and of
    which none tells is in doubt: it may have been there, and an empty one is formatted only with an approval."""
    claims = {(each.further, each.node_id): each for each in now.observed.further_claims}
    for pool in now.cluster.spec.broker_pools:
        asked = {(volume, node_id) for volume in pool.volumes for node_id in pool.node_ids}
        there = {key for key, each in claims.items() if each.pool == pool.name}
        for volume, node_id in sorted(asked | there):
            claim = claims.get((volume, node_id))
            entry = Entry(node_id, BROKER.label, pool.name)
            if claim is not None and _bears(claim, ledger):
                entry = borne(claim, entry)
            ledger = ledger.with_volume(volume, (*ledger.of_volume(volume), entry))
    return ledger


def _bears(claim: Claim, ledger: Ledger) -> bool:
    marks = claim.identity
    mine = (marks.get("cluster-id"), marks.get("node-id")) == (ledger.cluster_id, str(claim.node_id))
    return mine and "directory-id" in marks and not ledger.is_written_off(claim.node_id, marks["directory-id"])


def _kept(now: Situation, node: NodePlan, group: Group, wanted: tuple[str, Storage]) -> Verdict:
    assert now.ledger is not None
    volume, storage = wanted
    intent = further.claim(now.cluster, group, node.node_id, volume, storage)
    name = intent["metadata"]["name"]
    claim = next((each for each in now.observed.further_claims if each.name == name), None)
    entry = next((each for each in now.ledger.of_volume(volume) if each.node_id == node.node_id), None)
    if claim is None and entry is not None and entry.pv_name in now.observed.volumes:
        released = f"released volume {node.node_id} {entry.pv_name}"
        certain = node.node_id == now.ledger.node_made_anew  # its volumes were seen to be retained
        if not certain and now.waited.get(released, 0.0) < now.cluster.spec.recovery.debounce_seconds:
            return Verdict(suspects=frozenset({released}))  # it may go with its claim, and is lost then
        reason = f"node {node.node_id} keeps directory {entry.directory_id} on {entry.pv_name}"
        anew = MakeClaim(name, entry.pvc_uid or "", entry.pv_name or "", intent["metadata"]["labels"], reason)
        return Verdict(actions=(anew,))
    if claim is None:
        return Verdict(actions=(ApplyChild(intent, f"node {node.node_id} has no claim for volume {volume}"),))
    if claim.terminating:
        return NOTHING
    step, finding = claim_grows(now, claim, storage.size)
    actions: tuple[Action, ...] = (step,) if step is not None else ()
    if claim.owned != ("ownerReferences" in intent["metadata"]):
        actions = (*actions, ApplyChild(intent, "spec.deletionPolicy.volumes says anew whether it goes with the rest"))
    return Verdict(actions=actions, findings=(finding,) if finding is not None else ())


def _about(pod: Pod, volume: str) -> Pod:
    return replace(
        pod,
        claim=pod.volumes[volume],
        inspect=_report(pod.inspect, volume),
        seal=_report(pod.seal, volume),
        grant_nonce=pod.grants.get(volume),
        volumes={},
        grants={},
    )


def _report(report: Report | None, volume: str) -> Report | None:
    return report.volumes.get(volume) if report is not None else None


def _named(action: Action, volume: str) -> Action:
    return replace(action, volume=volume) if isinstance(action, DeliverGrant) else action


def _joined(one: Verdict, other: Verdict) -> Verdict:
    return replace(
        one,
        ledger=other.ledger or one.ledger,
        actions=one.actions + other.actions,
        findings=one.findings + other.findings,
        suspects=one.suspects | other.suspects,
        replacing=one.replacing | other.replacing,
        guarded=one.guarded | other.guarded,
    )
