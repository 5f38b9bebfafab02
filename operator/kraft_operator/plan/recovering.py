"""RecoverQuorum: a quorum that lost its majority made anew from the best copy of its log, one journaled stage after the
other.

The living are asked before anything is stopped (`attend_operations` writes down what they say). Then the controllers
are held, and only when none of their pods is left the copies are read by helper pods, compared and judged. Nothing is
changed on any disk before the verdict is approved by its hash. What is then done is written into the ledger first, with
every name it will have, so it is carried to its end by whichever operator; the originals are kept beside what is made.
The old generation is fenced by its directory ids: all of them are written off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kraft_operator.actions import Action, DropClaim, EndHelper, RunHelper
from kraft_operator.api import names
from kraft_operator.api.spec import QuorumLoss, Role
from kraft_operator.ledger import Entry, Formation, Ledger, WrittenOff
from kraft_operator.manifests.helpers import Task, helper_pod
from kraft_operator.observed import Claim, Helper
from kraft_operator.operations import verdict as copies_of
from kraft_operator.operations.operation import ANNOTATION_APPROVE, Operation, OperationType, Phase
from kraft_operator.operations.recovery import HELD, Choice, Recovery, Stage
from kraft_operator.operations.telling import Telling, steps_up_to
from kraft_operator.operations.verdict import Judged, LogCopy, VoterKey, Witness
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from storage_guard.copies import Helper as What
from storage_guard.copies import State

STEPS: Final = (
    ("Fence", "the controllers are held, and none of their processes is left"),
    ("Collect", "helpers read every copy of the metadata log, the brokers' too"),
    ("Verdict", "the copies are compared and judged"),
    ("Approval", "the verdict has to be approved by its hash"),
    ("ForceStandalone", "a quorum of one is made of the seed, under a new directory id"),
    ("SetAside", "the other controllers' old directories are taken out of the way, whole"),
    ("Rejoin", "the other controllers are formatted and added one by one"),
    ("Verify", "every controller is a live voter of the new quorum"),
)


TYPES: Final = (OperationType.RECOVER_QUORUM.value, OperationType.RESTORE.value)
"""Operations that compare copies and make a quorum of the best one: of a lost quorum, or of a cluster that came out of
a backup.
"""

RECOVERY_MARK: Final = "recovery"
"""Annotation of a claim that a recovery makes: the operation's UID."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What the helpers have told so far."""

    copies: tuple[LogCopy, ...]
    empty: Mapping[int, str]
    """Controllers whose volume is empty, to the UID of its claim."""
    missing: tuple[Task, ...] = ()
    """Tasks that nobody has begun."""
    working: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """Helpers that could not read their copy, and why: such a copy counts as lost."""
    points: tuple[int, ...] = ()
    claims: Mapping[int, str] = field(default_factory=dict)
    """Nodes whose claim was read, to its UID."""

    @property
    def complete(self) -> bool:
        return not self.missing and not self.working


def recover_quorum(now: Situation) -> Verdict:
    ledger = now.ledger
    if ledger is None or ledger.recovery is None or ledger.recovery.stage not in HELD:
        return NOTHING
    controllers = now.cluster.spec.controllers.name
    held = tuple(replace(node, held=node.held or node.group == controllers or _restores(ledger)) for node in now.nodes)
    answer = _staged(now, ledger, ledger.recovery)
    what = f"KRaftOperation {ledger.operation.name if ledger.operation else '?'} recovers the quorum"
    finding = Finding(Topic.MEMBERSHIP, "RecoveringQuorum", what, "quorum")
    waits = _waits_for_approval(now) if answer.ledger is None else ()
    return replace(answer, ledger=answer.ledger or ledger, nodes=held, findings=(finding, *waits, *answer.findings))


def end_helpers(now: Situation) -> Verdict:
    """Once nobody needs their word: a claim cannot be deleted while a pod names it, not even by one that has ended."""
    recovery = now.ledger.recovery if now.ledger is not None else None
    if recovery is not None and recovery.stage in HELD:
        return NOTHING
    return Verdict(
        actions=tuple(EndHelper(each.name, each.uid, "it has done its task") for each in now.observed.helpers)
    )


def _waits_for_approval(now: Situation) -> tuple[Finding, ...]:
    asked = asked_for(now)
    said = told(asked, now, ()) if asked is not None else None
    if said is None or said.phase is not Phase.WAITING_APPROVAL:
        return ()
    return (Finding(Topic.MANUAL, "RecoveryWaitsForApproval", said.message, "quorum", stalled=True),)


def _staged(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    match recovery.stage:
        case Stage.FENCE:
            if alive(now):
                return Verdict()
            return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.COLLECT)))
        case Stage.COLLECT:
            return _collect(now, ledger, recovery)
        case Stage.FORCE:
            return _force(now, ledger, recovery)
        case Stage.SET_ASIDE:
            return _set_aside(now, ledger, recovery)
        case Stage.REJOIN:
            return Verdict()


def alive(now: Situation) -> list[str]:
    """Controllers that may still run: any pod of theirs, wherever it is in its life. Of a restored cluster brokers,
    too.
    """
    every = now.ledger is not None and _restores(now.ledger)
    return [each.name for each in now.observed.pods if every or each.role == Role.CONTROLLER.value]


def _restores(ledger: Ledger) -> bool:
    return ledger.operation is not None and ledger.operation.type == OperationType.RESTORE.value


# collecting and judging


def collected(now: Situation) -> Collected:
    ledger = now.ledger
    assert ledger is not None
    assert ledger.recovery is not None
    first = [(claim, _survey(now, claim, {})) for claim in _claims(now)]
    found, seen = _answers(now, first)
    copies = tuple(copy for claim, helper in seen if (copy := _copy(now, claim, helper)) is not None)
    empty = {
        claim.node_id: claim.uid
        for claim, helper in seen
        if helper.report is not None and helper.report.state is State.EMPTY and claim.role == Role.CONTROLLER.value
    }
    found = replace(found, copies=copies, empty=empty, claims={claim.node_id: claim.uid for claim, _ in seen})
    points = copies_of.compared_at(copies)
    if not found.complete or not points or len(copies) < 2:
        return found
    start = copies_of.common_start(copies)
    asked = {"START": str(start), "POINTS": ",".join(map(str, points))}
    keys = {each.key for each in copies}
    again = [(claim, _survey(now, claim, asked)) for claim, helper in seen if _key(helper) in keys]
    compared, told = _answers(now, again)
    digests = {_key(helper): helper.report.digests for _, helper in told if helper.report is not None}
    moved = {each.key for each in copies if _moved(each, told)}
    both = tuple(
        replace(each, digests=digests[each.key]) for each in copies if each.key in digests and each.key not in moved
    )
    why = "its log changed between two readings, so something still writes to it"
    failed = found.failed + compared.failed + tuple(f"node {node_id}: {why}" for node_id, _ in sorted(moved))
    return replace(compared, copies=both, empty=empty, claims=found.claims, failed=failed, points=points)


def _moved(copy: LogCopy, told: Sequence[tuple[Claim, Helper]]) -> bool:
    """A controller's copy that changes is not dead. A broker's may grow (what it had fetched is flushed), but nobody is
    left to shorten it.
    """
    for claim, helper in told:
        if helper.report is not None and _key(helper) == copy.key:
            end = helper.report.end
            return end != copy.end if claim.role == Role.CONTROLLER.value else end < copy.end
    return False


def _answers(now: Situation, asked: Sequence[tuple[Claim, Task]]) -> tuple[Collected, list[tuple[Claim, Helper]]]:
    helpers = {each.name: each for each in now.observed.helpers}
    missing, working, failed, seen = [], [], [], []
    for claim, task in asked:
        helper = helpers.get(task.name(now.cluster.name))
        if helper is None:
            missing.append(task)
        elif helper.failed:
            failed.append(
                f"node {claim.node_id}: {helper.line or 'its helper ended without a word'} (pod {helper.name})"
            )
        elif helper.report is None:
            working.append(f"{helper.name}{f' ({helper.trouble})' if helper.trouble else ''}")
        else:
            seen.append((claim, helper))
    return Collected((), {}, tuple(missing), tuple(working), tuple(failed)), seen


def _claims(now: Situation) -> list[Claim]:
    """Every bound claim of a node that has a copy of the log."""
    return sorted(
        (each for each in now.observed.claims if each.volume and not each.terminating), key=lambda c: c.node_id
    )


def _survey(now: Situation, claim: Claim, environment: Mapping[str, str]) -> Task:
    assert now.ledger is not None
    assert now.ledger.operation is not None
    pod = now.observed.pod(claim.node_id)
    on = pod.node if pod is not None and not pod.terminating else ""
    values = {"CLAIM_UID": claim.uid, **environment}
    return Task(What.SURVEY.value, claim.node_id, claim.name, now.ledger.operation.uid, values, on=on)


def _key(helper: Helper) -> VoterKey:
    assert helper.report is not None
    return helper.report.node_id if helper.report.node_id is not None else -1, helper.report.directory_id


def _copy(now: Situation, claim: Claim, helper: Helper) -> LogCopy | None:
    """A copy that counts: of this node, and not written off. One that the ledger knows to have been longer is an old
    copy: its log may be read, but it is no voter that remembers. What its process said before it was stopped, and what
    the ledger saw of it, is known of it, too."""
    report, ledger = helper.report, now.ledger
    assert ledger is not None
    assert ledger.recovery is not None
    if report is None or report.state is not State.COPY or report.node_id != claim.node_id:
        return None
    entry = ledger.entry(claim.node_id)
    if ledger.is_written_off(claim.node_id, report.directory_id):
        return None
    reached = (report.last_epoch, report.end)
    remembers = (  # a copy out of a backup has forgotten whatever came after it
        not _restores(ledger)
        and claim.role == Role.CONTROLLER.value
        and entry is not None
        and entry.directory_id == report.directory_id
        and reached >= (entry.min_epoch, entry.min_offset)
    )
    spoken = next((each for each in ledger.recovery.witnesses if each.node_id == claim.node_id), None)
    known = [report.known, spoken.known if spoken is not None else 0]
    known += [entry.min_offset] if remembers and entry is not None else []
    return LogCopy(
        claim.node_id,
        copies_of.Role.VOTER if remembers else copies_of.Role.BROKER,
        report.cluster_id,
        report.directory_id,
        report.end,
        report.last_epoch,
        report.start,
        max(known),
        max(report.promised, spoken.promised if spoken is not None else 0),
        report.voters,
    )


def witnesses(ledger: Ledger) -> tuple[Witness, ...]:
    """What processes said while they lived, and what the ledger has seen committed."""
    assert ledger.recovery is not None
    remembered = tuple(
        Witness(each.node_id, each.min_offset, each.min_epoch) for each in ledger.entries if each.min_offset > 0
    )
    return (*ledger.recovery.witnesses, *remembered)


def judgement(now: Situation, found: Collected) -> tuple[copies_of.Finding, str]:
    """The verdict and its hash."""
    assert now.ledger is not None
    told = witnesses(now.ledger)
    judged = copies_of.judge(found.copies, told)
    return judged, copies_of.digest(judged, found.copies, told, found.claims)


def _collect(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    found = collected(now)
    if found.missing:
        return Verdict(actions=tuple(_run(now, each, "its copy of the log is looked at") for each in found.missing))
    if not found.complete:
        return Verdict()
    judged, name = judgement(now, found)
    if judged.seed is None or judged.judged is Judged.FORKED or not _approved(now, judged, name):
        return Verdict()
    target = _target(now, found, judged.seed)
    if target is None:
        return Verdict()
    seen = [max(each.promised, each.last_epoch) for each in found.copies]
    seen += [each.promised for each in witnesses(ledger)]
    old = [each for each in ledger.entries if each.role == Role.CONTROLLER.value and each.node_id != target]
    claims = {claim.node_id for claim in _claims(now)}
    choice = Choice(
        name, judged.judged.value, judged.seed.node_id, judged.seed.node_id != target, target, now.draw(), now.draw(),
        max(seen) + 1, judged.seed.end, judged.seed.last_epoch,
        tuple(each.node_id for each in old if each.node_id in claims and each.node_id not in found.empty),
        found.claims.get(target, ""), found.claims.get(judged.seed.node_id, ""),
    )  # fmt: skip
    return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.FORCE, choice=choice)))


def _approved(now: Situation, judged: copies_of.Finding, name: str) -> bool:
    automatic = now.cluster.spec.recovery.quorum_loss is QuorumLoss.PROVEN_ONLY
    asked = asked_for(now)
    by_hand = asked is not None and asked.approved == name
    return by_hand or (
        automatic and now.ledger is not None and not _restores(now.ledger) and judged.judged is Judged.PROVEN_COMPLETE
    )


def asked_for(now: Situation) -> Operation | None:
    running = now.ledger.operation if now.ledger is not None else None
    return next((each for each in now.observed.operations if running is not None and each.uid == running.uid), None)


def _target(now: Situation, found: Collected, seed: LogCopy) -> int | None:
    """The controller whose directory is made: the seed's own; of a broker's copy, the first whose volume is empty or
    gone.
    """
    wanted = now.cluster.spec.controllers.node_ids
    if seed.node_id in wanted:
        return seed.node_id
    claims = {each.node_id for each in now.observed.claims}
    return next((each for each in wanted if each in found.empty or each not in claims), None)


# carrying it out


def _force(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    choice = recovery.choice
    assert choice is not None
    claim_name = names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, choice.target)
    claim = now.observed.claim(claim_name)
    task = _recover(now, ledger, choice, claim_name)
    helper = next((each for each in now.observed.helpers if each.name == task.name(now.cluster.name)), None)
    if helper is not None and helper.report is not None and helper.report.directory_id == choice.directory_id:
        return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.SET_ASIDE)))
    if helper is not None or (claim is not None and claim.terminating):
        return Verdict()
    if _other_claims(now, ledger, choice, claim):
        return Verdict(ledger=replace(ledger, recovery=replace(recovery, stage=Stage.COLLECT, choice=None)))
    if not choice.from_broker:
        return Verdict(actions=(_run(now, task, f"a quorum of one is made of controller {choice.seed}'s copy"),))
    if claim is not None and not _made_for(ledger, claim):
        # Bound elsewhere perhaps, and empty, as a helper saw: a new one is bound where the broker's volume is.
        reason = f"it is empty; one that can be used beside broker {choice.seed}'s takes its place"
        readers = [
            each for each in now.observed.helpers if each.node_id == choice.target and each.what == What.SURVEY.value
        ]
        ended = tuple(EndHelper(each.name, each.uid, "its claim has to go") for each in readers)
        return Verdict(actions=(*ended, DropClaim(claim.name, claim.uid, reason)))
    made = None if claim is not None else _claim_manifest(now, ledger, choice.target, claim_name)
    return Verdict(actions=(_run(now, task, f"a quorum of one is made of broker {choice.seed}'s copy", made),))


def _other_claims(now: Situation, ledger: Ledger, choice: Choice, target: Claim | None) -> bool:
    """Somebody has put another claim, hence another disk, where one was judged: what was approved does not speak of it.
    A claim that was empty and is gone is what was asked for; the one that takes its place bears the recovery's mark."""
    seed = next((each for each in now.observed.claims if each.node_id == choice.seed), None)
    if choice.seed_claim is not None and (seed is None or seed.uid != choice.seed_claim):
        return True
    if target is None or choice.target_claim is None or not choice.from_broker:
        return False
    return target.uid != choice.target_claim and not _made_for(ledger, target)


def _made_for(ledger: Ledger, claim: Claim) -> bool:
    return ledger.operation is not None and claim.identity.get(RECOVERY_MARK) == ledger.operation.uid


def _recover(now: Situation, ledger: Ledger, choice: Choice, claim_name: str) -> Task:
    assert ledger.operation is not None
    listener = now.cluster.spec.controller_listeners[0]
    environment = {
        "CLUSTER_ID": ledger.cluster_id,
        "NODE_ID": str(choice.target),
        "GENERATION": str(ledger.generation),
        "DIRECTORY_ID": choice.directory_id,
        "NONCE": choice.nonce,
        "EPOCH": str(choice.epoch),
        "END": str(choice.end),
        "LAST_EPOCH": str(choice.last_epoch),
        "LISTENER": listener.name,
        "HOST": now.cluster.voter_host(choice.target),
        "PORT": str(listener.port),
    }
    source, on = None, ""
    if choice.from_broker:
        source = next((each.name for each in now.observed.claims if each.node_id == choice.seed), None)
        pod = now.observed.pod(choice.seed)
        on = pod.node if pod is not None else ""
    return Task(
        What.RECOVER.value,
        choice.target,
        claim_name,
        ledger.operation.uid,
        environment,
        read_only=False,
        source=source,
        on=on,
    )


def _claim_manifest(now: Situation, ledger: Ledger, node_id: int, name: str) -> Mapping[str, Any] | None:
    """As the node's StatefulSet would make it, and marked as ours."""
    assert ledger.operation is not None
    node_set = names.node_name(now.cluster.name, now.cluster.spec.controllers.name, node_id)
    live = next(
        (each.live for each in now.observed.children if (each.kind, each.name) == ("StatefulSet", node_set)), None
    )
    templates = ((live or {}).get("spec") or {}).get("volumeClaimTemplates") or ()
    if not templates:
        return None
    marks = {f"{names.GROUP}/{RECOVERY_MARK}": ledger.operation.uid}
    labels = templates[0]["metadata"].get("labels") or {}
    meta = {"name": name, "namespace": now.cluster.namespace, "labels": labels, "annotations": marks}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": templates[0]["spec"]}


def _set_aside(now: Situation, ledger: Ledger, recovery: Recovery) -> Verdict:
    choice = recovery.choice
    assert choice is not None
    actions: list[Action] = []
    waiting = False
    for node_id in choice.aside:
        claim = now.observed.claim(names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, node_id))
        if claim is None or not claim.volume:
            continue
        assert ledger.operation is not None
        values = {"GENERATION": str(ledger.generation)}
        task = Task(What.SET_ASIDE.value, node_id, claim.name, ledger.operation.uid, values, read_only=False)
        helper = next((each for each in now.observed.helpers if each.name == task.name(now.cluster.name)), None)
        if helper is None:
            actions.append(_run(now, task, "its directory is of the old generation"))
        waiting = waiting or helper is None or helper.report is None
    if waiting:
        return Verdict(actions=tuple(actions))
    return Verdict(ledger=next_generation(now, ledger, recovery, choice))


def next_generation(now: Situation, ledger: Ledger, recovery: Recovery, choice: Choice) -> Ledger:
    """Every directory of the old generation is written off; the quorum consists of the one that was made."""
    restores = _restores(ledger)
    for entry in ledger.entries:
        if entry.role != Role.CONTROLLER.value:
            ledger = ledger.with_entry(_on_its_copy(now, entry)) if restores else ledger
            continue
        gone = WrittenOff(entry.node_id, entry.directory_id, None, entry.nonce) if entry.directory_id else None
        fresh = Entry(
            entry.node_id,
            entry.role,
            entry.pool,
            rack=entry.rack,
            retired=entry.retired,
            replaces=entry.directory_id,
            host=entry.host,
        )
        written_off = (*ledger.written_off, *((gone,) if gone is not None else ()))
        ledger = replace(ledger.with_entry(fresh), written_off=written_off)
    name = names.claim_name(now.cluster.name, now.cluster.spec.controllers.name, choice.target)
    claim = now.observed.claim(name)
    entry = ledger.entry(choice.target) or Entry(
        choice.target, Role.CONTROLLER.value, now.cluster.spec.controllers.name
    )
    made = replace(
        entry, directory_id=choice.directory_id, nonce=choice.nonce, pvc_name=name, pvc_uid=claim.uid if claim else None,
        pv_name=claim.volume if claim else None, min_epoch=choice.epoch, min_offset=choice.end + 2,
    )  # fmt: skip
    return replace(
        ledger.with_entry(made),
        formation=Formation.FORMED,
        generation=ledger.generation + 1,
        recovery=replace(recovery, stage=Stage.REJOIN),
    )


def _on_its_copy(now: Situation, entry: Entry) -> Entry:
    """A broker of a restored cluster: its directory is on the claim that is there now."""
    claim = next((each for each in now.observed.claims if each.node_id == entry.node_id and each.volume), None)
    if claim is None or entry.directory_id is None or claim.identity.get("directory-id") != entry.directory_id:
        return entry
    return replace(entry, pvc_name=claim.name, pvc_uid=claim.uid, pv_name=claim.volume)


def _run(now: Situation, task: Task, why: str, claim: Mapping[str, Any] | None = None) -> RunHelper:
    asked = asked_for(now)
    manifest = helper_pod(now.cluster, now.images, task, (asked.name, asked.uid) if asked is not None else None)
    return RunHelper(manifest["metadata"]["name"], manifest, claim, f"node {task.node_id}: {why}")


# what is said


def told(asked: Operation, now: Situation, findings: Sequence[Finding]) -> Telling:
    assert now.ledger is not None
    recovery = now.ledger.recovery
    if recovery is None:
        return _running(asked, 0, "it begins")
    match recovery.stage:
        case Stage.FENCE:
            left = ", ".join(alive(now))
            return _running(
                asked, 0, f"controllers may still run: {left}; nothing is read before they are gone" if left else ""
            )
        case Stage.COLLECT:
            return _told_verdict(asked, now)
        case Stage.FORCE:
            return _running(asked, 4, _helpers(now, What.RECOVER))
        case Stage.SET_ASIDE:
            return _running(asked, 5, _helpers(now, What.SET_ASIDE))
        case Stage.REJOIN:
            return _told_rejoin(asked, now, recovery, findings)


def _helpers(now: Situation, what: What) -> str:
    mine = [each for each in now.observed.helpers if each.what == what.value]
    said = [f"{each.name}: {each.line or each.trouble}" for each in mine if each.failed or each.trouble]
    return "; ".join(said) + ("; delete the pod to have it tried again" if any(each.failed for each in mine) else "")


def _running(asked: Operation, done: int, text: str) -> Telling:
    steps = steps_up_to(STEPS, done, running=text)
    return Telling(asked, Phase.RUNNING, "RecoveringQuorum", text or STEPS[done][1], steps)


def _told_verdict(asked: Operation, now: Situation) -> Telling:
    found = collected(now)
    if not found.complete:
        return _running(asked, 1, f"waiting for helpers: {', '.join(found.working)}" if found.working else "")
    judged, name = judgement(now, found)
    shown = _shown(judged, name, found)
    unread = f"; could not be read: {'; '.join(found.failed)}" if found.failed else ""
    if judged.seed is None or judged.judged is Judged.FORKED:
        text = f"{judged.judged.value}: {judged.text}{unread}"
        return Telling(asked, Phase.FAILED, "NoSeed", text, steps_up_to(STEPS, 2, running=text), verdict=shown)
    if _target(now, found, judged.seed) is None:
        text = f"the seed is node {judged.seed.node_id}'s copy, and no controller's volume is empty to take it"
        return Telling(asked, Phase.RUNNING, "NoTarget", text, steps_up_to(STEPS, 2, running=text), verdict=shown)
    stale = f"; {asked.approved} was approved, which is another verdict" if asked.approved not in ("", name) else ""
    seed = (
        f"node {judged.seed.node_id}'s copy, which ends at offset {judged.seed.end} of epoch {judged.seed.last_epoch}"
    )
    restores = now.ledger is not None and _restores(now.ledger)
    approve = (
        f"kubectl annotate kro {asked.name} -n {now.cluster.namespace} --overwrite {ANNOTATION_APPROVE}={name}"
        if restores
        else f"kubectl kraft recover {now.cluster.name} -n {now.cluster.namespace} --approve {name}"
    )
    text = (
        f"{judged.judged.value}: {judged.text}; the quorum would be made of {seed}{_compared(found, judged.seed) if restores else ''}"
        f"{unread}{stale}; approve it with: {approve}"
    )
    return Telling(
        asked, Phase.WAITING_APPROVAL, "WaitingApproval", text, steps_up_to(STEPS, 3, running=text), verdict=shown
    )


def _compared(found: Collected, seed: LogCopy) -> str:
    """How far every other copy is from the seed."""
    others = sorted((each for each in found.copies if each is not seed), key=lambda each: each.node_id)
    ends = (f"node {each.node_id} ends at {each.end} of epoch {each.last_epoch}" for each in others)
    return "; " + ", ".join(ends) if others else ""


def _shown(judged: copies_of.Finding, name: str, found: Collected) -> dict[str, Any]:
    seed: dict[str, Any] = {"seed": judged.seed.node_id} if judged.seed is not None else {}
    return {
        "verdict": judged.judged.value,
        "hash": name,
        "text": judged.text,
        **seed,
        **({"lostFrom": judged.lost[0], "lostTo": judged.lost[1]} if judged.lost is not None else {}),
        "copies": [
            {
                "nodeID": each.node_id,
                "role": each.role.value,
                "directoryID": each.directory_id,
                "lastEpoch": each.last_epoch,
                "end": each.end,
                "known": each.known,
                "promised": each.promised,
            }
            for each in found.copies
        ],
    }


def _told_rejoin(asked: Operation, now: Situation, recovery: Recovery, findings: Sequence[Finding]) -> Telling:
    assert now.ledger is not None
    choice, quorum = recovery.choice, now.observed.quorum
    assert choice is not None
    wanted = set(now.cluster.spec.controllers.node_ids)
    there = {each.node_id for each in quorum.voters if each.live and not now.ledger.is_written_off(*each.key)}
    if quorum.voters and there == wanted == {each.node_id for each in quorum.voters} and quorum.settled:
        proof = (
            f"generation {now.ledger.generation}: {len(there)} of {len(wanted)} controllers are live voters under new directory "
            f"ids; verdict {choice.judged} ({choice.hash}) on node {choice.seed}'s copy up to offset {choice.end} of epoch "
            f"{choice.last_epoch}; the old directories are written off and kept as log.generation-{now.ledger.generation - 1}"
        )
        steps = steps_up_to(STEPS, len(STEPS))
        return Telling(asked, Phase.SUCCEEDED, "QuorumRestored", "the quorum is whole again", steps, proof)
    about = [each.message for each in findings if each.topic in (Topic.MEMBERSHIP, Topic.STORAGE)]
    return _running(asked, 6, about[0] if about else f"voters so far: {', '.join(map(str, sorted(there))) or 'none'}")
