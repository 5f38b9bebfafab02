"""Who the voters are, changed one at a time: lost ones replaced, new ones added, surplus ones removed.

A lost voter comes back under its node id with a new directory id, and AddRaftVoter refuses an id that is still a voter:
so it is removed first, then its disk is granted a format, then it is added once it has caught up. Scaling adds before
it removes, dead voters leave first, the leader last. Every pass looks at the quorum anew; a step that may or may not
have happened is decided by what is seen, never by what was sent. A removal counts when the voter set without the voter
is itself committed (`Quorum.settled`); only then is a directory written off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from kraft_operator.actions import AddVoter, DiscardClaim, RemoveVoter, RestartPod
from kraft_operator.api.roles import controls
from kraft_operator.api.spec import LifecycleState, LostDisk
from kraft_operator.ephemeral import is_ephemeral
from kraft_operator.ledger import Entry, Formation, JournaledStep, Ledger, StepKind
from kraft_operator.observed import Pod, QuorumState, QuorumVoter, VoterState
from kraft_operator.plan import headroom
from kraft_operator.plan.disks.volumes import next_class_first
from kraft_operator.plan.giving_up import asked_for_fewer
from kraft_operator.plan.operating.running import asked_to_replace
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.voters.domains import worsened
from kraft_operator.plan.voters.endpoints import served_by
from kraft_operator.plan.voters.loss import Loss, loss_of, written_off
from kraft_operator.plan.wording import called, verb
from storage_guard.formats import DiskVerdict as Disk

EndOf = Callable[[Situation, Ledger, Entry, Loss], Verdict]
"""What becomes of a lost disk once its voter is none any more: the ledger in which it is written off. Without a ledger
it may not go yet, and the findings say why."""


def _of_a_voter(_: Situation, ledger: Ledger, entry: Entry, __: Loss) -> Verdict:
    return Verdict(ledger=written_off(ledger, entry))


def replace_lost_voters(now: Situation, end_of: EndOf = _of_a_voter) -> Verdict:
    """One lost disk at a time; what is suspected of the others is said."""
    ledger = now.ledger
    if ledger is None or ledger.formation is not Formation.FORMED:
        return NOTHING
    losses = {
        entry: loss
        for entry in ledger.entries
        if controls(entry) and entry.directory_id is not None and not entry.retired
        if entry.node_id != ledger.node_made_anew
        if (loss := loss_of(entry, now.observed, now.cluster.spec.recovery.node_gone, ledger.written_off)) is not None
    }
    size = len(ledger.controllers or ledger.initial_controllers)
    losses = losses or _asked_for(now, ledger)
    proven = {entry: loss for entry, loss in losses.items() if loss.blocked is None}
    if any(not each.asked for each in proven.values()) and size - len(proven) < size // 2 + 1:
        return _too_many(now, proven, size)
    verdict = Verdict(ledger=ledger)
    for entry, loss in losses.items():
        verdict = _with_loss(now, verdict, entry, loss, end_of)
    return verdict


def discard_old_copies(now: Situation) -> Verdict:
    """A written-off disk that came back, or whose node is gone, takes the place of the new one: its claim goes, the
    node gets another.
    """
    if now.ledger is None or now.stepped:
        return NOTHING
    gone = {each.pvc_uid for each in now.ledger.written_off}
    for entry in now.ledger.entries:
        pod = now.observed.pod(entry.node_id)
        claim = now.observed.claim(pod.claim) if pod is not None else None
        if pod is None or claim is None or entry.directory_id is not None or claim.uid not in gone:
            continue
        if pod.main_started and not pod.terminating and pod.seal is not None:
            return _stopped(now, pod, pod.seal.directory_id)
        stranded = claim.volume in now.observed.stranded
        if claim.terminating and pod.terminating and not stranded:
            continue  # both are on their way; an operator that died between the two calls has left the pod
        if not (stranded or _holds_written_off(pod, now.ledger)):
            continue
        if is_ephemeral(claim.name):
            return _stopped(now, pod, pod.inspect.directory_id if pod.inspect is not None else None)
        if (first := next_class_first(now, entry.node_id, claim)) is not None:
            return first
        step = _step(now, StepKind.DISCARD_CLAIM, entry.node_id, claim.uid, pod.uid)
        where = f", on node {now.observed.stranded[claim.volume]}" if stranded else ""
        reason = f"its directory was written off{where}"
        action = DiscardClaim(
            claim.name, claim.uid, pod.name, pod_uid=pod.uid, node_is_lost=stranded, step=step, reason=reason
        )
        return Verdict(ledger=now.ledger.with_step(step), actions=(action,))
    return NOTHING


def _stopped(now: Situation, pod: Pod, directory_id: str | None) -> Verdict:
    """The disk came back between its removal and its being written off, and runs. It has to go through the gate again,
    which refuses it.
    """
    assert now.ledger is not None
    if not now.ledger.is_written_off(pod.node_id, directory_id):
        return NOTHING
    step = _step(now, StepKind.RESTART, pod.node_id, pod.uid)
    action = RestartPod(pod.name, pod.uid, step, f"directory {directory_id} was written off, and runs")
    return Verdict(ledger=now.ledger.with_step(step), actions=(action,))


def add_caught_up_voters(now: Situation) -> Verdict:
    ledger, quorum = now.ledger, now.observed.quorum
    asleep = now.cluster.spec.lifecycle is LifecycleState.HIBERNATED
    if ledger is None or ledger.formation is not Formation.FORMED or asleep:
        return NOTHING
    findings = []
    for node_id in now.cluster.spec.controllers.node_ids:
        entry = ledger.entry(node_id)
        if quorum.voter(node_id) is not None or not quorum.voters:
            continue
        if entry is None or entry.directory_id is None:
            findings.append(_note("AddingVoter", node_id, "its disk is not formatted yet"))
            continue
        if entry in _asked_for(now, ledger):
            continue  # it was just removed because somebody asked for that
        # A leader lists a directory that it removed among its observers for minutes, under the same node id.
        mine = (node_id, entry.directory_id)
        seen = next((each for each in quorum.observers if (each.node_id, each.directory_id) == mine), None)
        if seen is None:
            findings.append(
                _note("AddingVoter", node_id, f"directory {entry.directory_id} does not follow the leader yet")
            )
            continue
        gate = headroom.add(quorum, caught_up=seen.caught_up)
        if gate.open and entry.replaces is None and (why := worsened(now)) is not None:
            gate = headroom.Gate(False, why)
        if not gate.open or now.stepped:
            findings.append(_note("AddingVoter", node_id, gate.text))
            continue
        return _adding(now, ledger, entry, gate, findings)
    return Verdict(findings=tuple(findings))


def remove_surplus_voters(now: Situation) -> Verdict:
    """Written-off ones, then those that the resource does not ask for, after those it asks for are live voters."""
    ledger, quorum = now.ledger, now.observed.quorum
    if ledger is None or ledger.formation is not Formation.FORMED or not quorum.voters:
        return NOTHING
    wanted = set(now.cluster.spec.controllers.node_ids)
    surplus = [each for each in quorum.voters if each.node_id not in wanted or ledger.is_written_off(*each.key)]
    if not surplus:
        return NOTHING
    voter = min(surplus, key=lambda each: removal_order(each, ledger, quorum.leader_id))
    missing = sorted(wanted - {each.node_id for each in quorum.voters if each.live})
    gone = voter.state is VoterState.DEAD or ledger.is_written_off(*voter.key)
    if missing and not gone:
        waiting = f"{called('controller', missing)} {verb(missing, 'has', 'have')} to be live first"
        return Verdict(findings=(_note("RemovingVoter", voter.node_id, waiting),))
    gate = headroom.remove(quorum, voter)
    if gate.open and not gone and (worse := worsened(now)) is not None:
        gate = headroom.Gate(False, worse)
    if not gate.open or now.stepped:
        return Verdict(findings=(_note("RemovingVoter", voter.node_id, gate.text),))
    why = "its directory was written off" if ledger.is_written_off(*voter.key) else asked_for_fewer(len(wanted))
    return _removing(now, ledger, voter, why, gate)


def still_controller(now: Situation, node_id: int) -> bool:
    """Whether a controller that nobody asks for any more must keep running: while it is, or may be, a voter."""
    quorum = now.observed.quorum
    return not quorum.settled or quorum.voter(node_id) is not None


def _asked_for(now: Situation, ledger: Ledger) -> dict[Entry, Loss]:
    """The voter that a KRaftOperation wants to have replaced, while no disk is lost."""
    wanted = asked_to_replace(now)
    entry = ledger.entry(wanted.node_id) if wanted is not None and wanted.node_id is not None else None
    if wanted is None or entry is None or entry.directory_id is None or entry.directory_id != wanted.directory_id:
        return {}
    return {entry: Loss(f"KRaftOperation {wanted.name} asks for a new disk", asked=True)}


def _too_many(now: Situation, losses: Mapping[Entry, Loss], size: int) -> Verdict:
    """No majority has its disk any more: nothing may be removed, and nothing is formatted."""
    who = called("controller", sorted(entry.node_id for entry in losses))
    name = f"{now.cluster.name} -n {now.cluster.namespace}"
    todo = f"put the volumes of {who} back, or, if they are gone for good: kubectl kraft recover {name}"
    if now.cluster.spec.controllers.roles.serves:
        todo = f"put the volumes of {who} back: a quorum of combined nodes cannot be recovered"
    if now.cluster.spec.controllers.storage.ephemeral:
        todo = f"delete the KRaftCluster and create it anew, its disks went with their pods: kubectl delete krc {name}"
    message = (
        f"{todo}. {len(losses)} of {size} controllers lost their disks, so no majority can "
        "change the voters; nothing is formatted"
    )
    lost = [
        Finding(Topic.STORAGE, "DiskLost", f"controller {entry.node_id}: {loss.text}", f"node {entry.node_id}")
        for entry, loss in losses.items()
    ]
    return Verdict(
        findings=(Finding(Topic.MANUAL, "QuorumLost", message, "quorum", stalled=True), *lost),
        replacing=frozenset(entry.node_id for entry in losses),
    )


def _with_loss(now: Situation, so_far: Verdict, entry: Entry, loss: Loss, end_of: EndOf) -> Verdict:
    """What follows from one loss, added to what followed from those before it."""
    assert so_far.ledger is not None
    key, node_id, ledger = loss.key(entry), entry.node_id, so_far.ledger
    policy, spoken = now.cluster.spec.recovery, frozenset((entry.node_id,))
    others = {*_between_directories(ledger, now), *so_far.replacing} - {node_id}
    if loss.blocked is not None:
        answer, spoken = (
            _verdict("DiskSuspect", node_id, f"{loss.blocked}: {loss.text}", stalled=not loss.may_end),
            frozenset(),
        )
    elif policy.lost_disk is LostDisk.REPORT and not loss.asked:
        remedy = "put its volume back, or set spec.recoveryPolicy.lostDisk to Replace to have the voter replaced"
        answer, spoken = _verdict("DiskLost", node_id, f"{remedy}: {loss.text}", stalled=True), frozenset()
    elif now.waited.get(key, 0.0) < policy.debounce_seconds and not loss.asked:
        answer = _verdict(
            "DiskSuspect",
            node_id,
            f"it counts as lost after {policy.debounce_seconds:g} s, unless its volume comes back: {loss.text}",
        )
    elif others:
        first = f"{called('controller', sorted(others))} {verb(others, 'is', 'are')} replaced first"
        answer = _verdict("DiskLost", node_id, f"{first}: {loss.text}")
    else:
        answer = _give_up(now, ledger, entry, loss, end_of)
    return replace(
        so_far,
        ledger=answer.ledger or ledger,
        actions=so_far.actions + answer.actions,
        findings=so_far.findings + answer.findings,
        suspects=so_far.suspects | {key},
        replacing=so_far.replacing | spoken,
    )


def _give_up(now: Situation, ledger: Ledger, entry: Entry, loss: Loss, end_of: EndOf) -> Verdict:
    """Remove the lost voter; once that is committed, write its directory off. What may not end is not begun."""
    quorum, end = now.observed.quorum, end_of(now, ledger, entry, loss)
    voter = quorum.voter(entry.node_id)
    if quorum.settled and voter is None:
        if end.ledger is None:
            return end
        answer = _verdict(
            "ReplacingVoter",
            entry.node_id,
            f"nothing to do, it was removed from the voters and gets a new disk: {loss.text}",
        )
        return replace(answer, ledger=end.ledger, actions=end.actions)
    if voter is not None and voter.directory_id != entry.directory_id:
        remedy = (
            f"remove the voter with directory {voter.directory_id} (kafka-metadata-quorum "
            "remove-controller), if it is not yours"
        )
        why = f"this operator never granted that directory, and {loss.text}"
        return _verdict("DiskLost", entry.node_id, f"{remedy}: {why}", stalled=True)
    if voter is None and quorum.state is QuorumState.AVAILABLE:
        return _verdict("ReplacingVoter", entry.node_id, f"{headroom.unsettled(quorum).text}: {loss.text}")
    if voter is None:
        return _verdict("DiskLost", entry.node_id, _not_yet(headroom.unsettled(quorum).text, loss), stalled=_lost(now))
    gate = headroom.remove(quorum, voter)
    if voter.state is not VoterState.DEAD and not loss.asked:
        gate = headroom.Gate(False, f"the quorum still hears from it, it is {voter.state.value} and not Dead")
    elif gate.open and not quorum.advanced:
        gate = headroom.Gate(False, "no new commit was seen since the last look")
    if not gate.open:
        return _verdict("DiskLost", entry.node_id, _not_yet(gate.text, loss), stalled=_lost(now))
    if end.ledger is None:
        return end
    by_name = loss.asked or _asked_by_name(now, entry)
    room = now.brake.gate(now.cluster.uid, voter.directory_id)
    if not room.open and not by_name:
        return _verdict("ReplacementDeferred", entry.node_id, f"{room.text}; {loss.text}", deferred=True)
    removing = _removing(now, ledger, voter, loss.text, gate, begins=not by_name)
    answer = _verdict(
        "ReplacingVoter",
        entry.node_id,
        f"nothing to do, it is being removed from the voters and then gets a new disk: {loss.text}",
    )
    return replace(removing, findings=answer.findings)


def _not_yet(why: str, loss: Loss) -> str:
    return f"it is not replaced yet, because {why}: {loss.text}"


def _asked_by_name(now: Situation, entry: Entry) -> bool:
    """Who asks for this very voter has looked: the fleet's brake does not hold it back, and does not count it."""
    asked = asked_to_replace(now)
    return asked is not None and (asked.node_id, asked.directory_id) == (entry.node_id, entry.directory_id)


def _lost(now: Situation) -> bool:
    """No majority is left: nothing the operator may do brings it back."""
    quorum = now.observed.quorum
    return bool(quorum.voters) and quorum.proven and quorum.headroom < 0


def _between_directories(ledger: Ledger, now: Situation) -> list[int]:
    """Nodes between the removal of their old directory and the addition of their new one."""
    quorum = now.observed.quorum
    return [
        entry.node_id
        for entry in ledger.entries
        if entry.replaces is not None and controls(entry) and quorum.voter(entry.node_id) is None
    ]


def _holds_written_off(pod: Pod, ledger: Ledger) -> bool:
    report = pod.inspect
    if report is None or not pod.gate_waits or report.pod_uid != pod.uid or report.verdict is Disk.EMPTY:
        return False
    return ledger.is_written_off(pod.node_id, report.directory_id)


def _adding(now: Situation, ledger: Ledger, entry: Entry, gate: headroom.Gate, findings: list[Finding]) -> Verdict:
    assert entry.directory_id is not None
    step = _step(now, StepKind.ADD_VOTER, entry.node_id, entry.directory_id)
    served = served_by(now.cluster, entry.node_id)
    action = AddVoter(
        entry.node_id,
        entry.directory_id,
        served if now.cluster.spec.security.migrated else served[:1],
        step=step,
        reason=f"it has caught up: {gate.text}",
    )
    findings.append(_note("AddingVoter", entry.node_id, "it is being added to the voters"))
    return Verdict(ledger=ledger.with_step(step), actions=(action,), findings=tuple(findings))


def _removing(
    now: Situation, ledger: Ledger, voter: QuorumVoter, why: str, gate: headroom.Gate, *, begins: bool = False
) -> Verdict:
    step, reason = _step(now, StepKind.REMOVE_VOTER, voter.node_id, voter.directory_id), f"{why}: {gate.text}"
    action = RemoveVoter(voter.node_id, voter.directory_id, step, reason, begins=begins, why=why)
    finding = _note("RemovingVoter", voter.node_id, reason)
    return Verdict(ledger=ledger.with_step(step), actions=(action,), findings=(finding,))


def removal_order(voter: QuorumVoter, ledger: Ledger, leader_id: int) -> tuple[bool, bool, bool, int]:
    """Written-off ones first, then those that are not live; the leader last; of equals the highest id."""
    return (
        not ledger.is_written_off(*voter.key),
        voter.live,
        voter.node_id == leader_id,
        -voter.node_id,
    )


def _step(now: Situation, kind: StepKind, node_id: int, *preconditions: str) -> JournaledStep:
    return JournaledStep(kind, node_id, now.fence.holder, now.fence.transitions, preconditions)


def _note(reason: str, node_id: int, text: str) -> Finding:
    return Finding(Topic.MEMBERSHIP, reason, f"controller {node_id}: {text}", f"controller {node_id}")


def _verdict(reason: str, node_id: int, text: str, *, stalled: bool = False, deferred: bool = False) -> Verdict:
    told = f"controller {node_id}: {text}"
    return Verdict(
        findings=(Finding(Topic.STORAGE, reason, told, subject=f"node {node_id}", stalled=stalled, deferred=deferred),)
    )
