"""Whether a new revision of a group's pods is any good: the first pod that gets it tells, and the others wait for its
word.

A revision is good once one node of the group was seen to serve with it; then it is written down with what it was made
of. If its first pod does not serve for `readyTimeout` the revision is bad, for ever: the group's objects are made again
of the last good one, so that pod returns and the others, which still run it, are not outdated any more. It is tried
again when the resource gives more time than it had. A node that was down before it got the revision is no witness
against it, nor is one whose disk or machine keeps it away. How long a pod has been waiting is kept in this process
only: an operator that takes over begins to count again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kraft_operator.api.revision import InvalidSpec, cluster_with, inputs_of
from kraft_operator.api.roles import controls
from kraft_operator.api.roles import serves as is_broker
from kraft_operator.api.spec import Group, KRaftCluster, OnBadRevision
from kraft_operator.ledger import BadRevision, Excuse, Formation, GoodRevision, Ledger
from kraft_operator.manifests.context import Context, Images
from kraft_operator.observed import NodeSet, Pod, QuorumState
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict

RolledBack = tuple[KRaftCluster, Images]
MAX_DETAIL = 800


def judge_revisions(now: Situation) -> Verdict:
    if now.ledger is None or now.ledger.formation is not Formation.FORMED:
        return NOTHING
    verdict = Verdict(ledger=now.ledger)
    context = Context(now.cluster, now.ledger.cluster_id, (), now.images, now.ledger.replication_factor)
    wanted = [(group, now.rendered.revision(context, group)) for group in now.cluster.spec.groups]
    for group, revision in wanted:
        verdict = _judged(now, verdict, group, revision)
    return _with_the_others(now, verdict, wanted) if verdict.bad else verdict


def _with_the_others(now: Situation, verdict: Verdict, wanted: Sequence[tuple[Group, str]]) -> Verdict:
    """One edit often changes several groups: while one of them is bad, the others keep what they are known
    to run with.
    """
    ledger = verdict.ledger
    assert ledger is not None
    back = dict(verdict.rolled_back)
    for group, revision in wanted:
        good = ledger.good_revision(group.name)
        if good is None or good.revision == revision or group.name in back:
            continue
        way = _way_back(now, group, revision, good)
        back |= {} if isinstance(way, str) else {group.name: way}
    return replace(verdict, rolled_back=back)


def _judged(now: Situation, verdict: Verdict, group: Group, wanted: str) -> Verdict:
    ledger = verdict.ledger
    assert ledger is not None
    good = ledger.good_revision(group.name)
    if good is not None and good.revision == wanted:
        return verdict
    bad = ledger.bad_revision(group.name, wanted)
    timeout = now.cluster.spec.rollout.ready_timeout_seconds
    if bad is not None and 0 < bad.patience < timeout:
        ledger, bad = replace(ledger, bad=tuple(each for each in ledger.bad if each != bad)), None
        verdict = replace(verdict, ledger=ledger)  # it was not given the time that it has now
    if bad is None:
        candidates = list(_candidates(now, group, wanted))
        if any(each.serves for each in candidates):
            proven = GoodRevision(group.name, wanted, inputs_of(now.cluster, group, now.images.operator))
            return replace(verdict, ledger=ledger.with_good(proven))
        guilty = [each for each in candidates if good is not None and _speaks_against(now, ledger, group, each)]
        verdict = replace(verdict, suspects=verdict.suspects | {each.suspicion for each in guilty})
        overdue = next((each for each in guilty if now.waited.get(each.suspicion, -1.0) >= timeout), None)
        if overdue is None:
            return verdict
        halted = now.cluster.spec.rollout.on_bad_revision is OnBadRevision.HALT
        bad = BadRevision(
            group.name,
            wanted,
            overdue.node_set.node_id,
            detail=overdue.detail[:MAX_DETAIL],
            halted=halted,
            patience=timeout,
        )
        verdict = replace(verdict, ledger=replace(ledger, bad=(*ledger.bad, bad)))
    return _without(now, verdict, group, bad, good)


def _without(now: Situation, verdict: Verdict, group: Group, bad: BadRevision, good: GoodRevision | None) -> Verdict:
    """What becomes of a group whose wanted revision is bad."""
    back = _way_back(now, group, bad.revision, good)
    told = (
        f"correct the resource: revision {bad.revision} of {group.name} did not serve on node "
        f"{bad.node_id} in time ({bad.detail}). "
    )
    if isinstance(back, str):
        told += f"Its pod is left as it is ({back}), and no other pod is touched"
    else:
        verdict = replace(verdict, rolled_back={**verdict.rolled_back, group.name: back})
        told += "The group is back on its last good revision, and no other pod was touched"
    finding = Finding(Topic.ROLLOUT, "BadRevision", told, f"node {bad.node_id}", stalled=True)
    return replace(verdict, findings=(*verdict.findings, finding), bad=True)


def _way_back(now: Situation, group: Group, revision: str, good: GoodRevision | None) -> RolledBack | str:
    """The resource as it was when the group was good, or why not."""
    assert now.ledger is not None
    if now.cluster.spec.rollout.on_bad_revision is OnBadRevision.HALT:
        return "spec.rollout.onBadRevision is Halt"
    if good is None:
        return "no good revision is known"
    try:
        cluster, operator_image = cluster_with(now.cluster, group, good.inputs)
    except InvalidSpec as error:
        return f"the last good revision cannot be read any more: {error}"
    images = replace(now.images, operator=operator_image)
    before = cluster.spec.group(group.name)
    assert before is not None
    context = Context(cluster, now.ledger.cluster_id, (), images, now.ledger.replication_factor)
    if now.rendered.revision(context, before) == revision:
        return "what the resource said when it was good makes the same pods today"
    return cluster, images


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A node whose pod has a revision, or is about to."""

    node_set: NodeSet
    pod: Pod | None
    serves: bool | None

    @property
    def suspicion(self) -> str:
        return f"revision {self.node_set.target} of {self.node_set.pool} on node {self.node_set.node_id}"

    @property
    def detail(self) -> str:
        if self.pod is None:
            return "its pod was not made"
        why = "its pod is ready, the cluster does not count on it" if self.pod.ready else "its pod is not ready"
        if self.pod.trouble is not None:
            why = f"{self.pod.trouble.reason}: {self.pod.trouble.message}".rstrip(": ")
        return f"{why}; it said: {self.pod.last_words}" if self.pod.last_words else why


def waits_for(now: Situation, pod: Pod) -> str | None:
    """Why this outdated pod may not get its new revision now: nobody has seen it at work, and another pod of the group
    tries it first, or one that the resource asks for is bad."""
    node_set, ledger = now.observed.node_set(pod.node_id), now.ledger
    group = now.cluster.spec.group(pod.pool)
    if node_set is None or ledger is None or group is None:
        return None
    if ledger.bad_revision(group.name, node_set.target) is not None:
        return f"revision {node_set.target} is bad"
    good = ledger.good_revision(group.name)
    if good is None or good.revision == node_set.target:
        return None
    if now.bad:
        return "another group's new revision is bad"
    for each in _candidates(now, group, node_set.target):
        if each.serves is not True and each.node_set.node_id != pod.node_id and not _excused(ledger, each):
            if each.pod is None or not _kept_away(now, each.pod):
                return f"{each.node_set.name}-0 tries the new revision first and does not serve yet"
    return None


def excuse(now: Situation, ledger: Ledger, pod: Pod) -> Ledger:
    """Note that a pod was down before it gets a revision that nobody has tried, unless a bad one brought it down."""
    node_set, good = now.observed.node_set(pod.node_id), ledger.good_revision(pod.pool)
    if node_set is None or good is None or good.revision == node_set.target or serves(now, pod) is not False:
        return ledger
    note = Excuse(pod.pool, node_set.target, pod.node_id)
    if note in ledger.excused or any((each.group, each.node_id) == (pod.pool, pod.node_id) for each in ledger.bad):
        return ledger
    return replace(ledger, excused=(*ledger.excused, note))


def serves(now: Situation, pod: Pod) -> bool | None:
    """Whether the cluster counts on this node; None when nobody can tell."""
    quorum, brokers = now.observed.quorum, now.observed.brokers
    if not pod.ready or pod.terminating:
        return False
    if controls(pod):
        voter = quorum.voter(pod.node_id)
        if not quorum.proven:
            return None
        votes = voter is None or voter.live
        if not votes or not is_broker(pod):
            return votes
    if brokers.registered is None:
        return None
    return pod.node_id in brokers.registered - (brokers.fenced or frozenset())


def _candidates(now: Situation, group: Group, revision: str) -> Iterator[_Candidate]:
    for node_set in now.observed.sets:
        if node_set.pool != group.name or node_set.target != revision or not node_set.revision or not node_set.replicas:
            continue
        pod = now.observed.pod(node_set.node_id)
        if pod is None:
            yield _Candidate(node_set, None, False)
        elif pod.revision == node_set.revision and not pod.terminating:
            yield _Candidate(node_set, pod, serves(now, pod))


def _speaks_against(now: Situation, ledger: Ledger, group: Group, candidate: _Candidate) -> bool:
    """Its not serving is the revision's doing. Without a quorum nobody serves: then only what a controller's pod itself
    says counts.
    """
    if candidate.serves is not False or _excused(ledger, candidate):
        return False
    if candidate.pod is None:
        return True
    if _kept_away(now, candidate.pod):
        return False
    if now.observed.quorum.state is QuorumState.AVAILABLE:
        return True
    alone = len(ledger.controllers or ledger.initial_controllers) == 1
    return group.roles.controls and (alone or candidate.pod.trouble is not None)


def _excused(ledger: Ledger, candidate: _Candidate) -> bool:
    node_set = candidate.node_set
    return Excuse(node_set.pool, node_set.target, node_set.node_id) in ledger.excused


def _kept_away(now: Situation, pod: Pod) -> bool:
    """By its disk, or by the machine that has its disk."""
    claim = now.observed.claim(pod.claim)
    volume = claim.volume if claim is not None else ""
    return pod.gate_waits or volume in now.observed.stranded or volume in now.observed.unready
