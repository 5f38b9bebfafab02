"""What the copies of the metadata log say: helper pods read them twice, and they are judged.

The first reading says what every copy is, the second gives digests at the offsets where known prefixes end. A copy that
changed between the two is not dead and does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.roles import controls
from kraft_operator.ledger import Ledger
from kraft_operator.manifests.helpers import Task
from kraft_operator.observed import Claim, Helper
from kraft_operator.operations import verdict as copies_of
from kraft_operator.operations.operation import Operation, OperationType
from kraft_operator.operations.verdict import LogCopy, VoterKey, Witness
from kraft_operator.plan.situation import Situation
from storage_guard.copies import Helper as What
from storage_guard.copies import State

TYPES: Final = (OperationType.RECOVER_QUORUM.value, OperationType.RESTORE.value)
"""Operations that compare copies and make a quorum of the best one: of a lost quorum, or of a cluster that came out of
a backup.
"""


@dataclass(frozen=True, slots=True)
class Collected:
    """What the helpers have reported so far."""

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


def collected(now: Situation) -> Collected:
    ledger = now.ledger
    assert ledger is not None
    assert ledger.recovery is not None
    first = [(claim, survey_of(now, claim, {})) for claim in claims_of_copies(now)]
    found, seen = answers(now, first)
    copies = tuple(copy for claim, helper in seen if (copy := _copy(now, claim, helper)) is not None)
    empty = {
        claim.node_id: claim.uid
        for claim, helper in seen
        if helper.report is not None and helper.report.state is State.EMPTY and controls(claim)
    }
    found = replace(found, copies=copies, empty=empty, claims={claim.node_id: claim.uid for claim, _ in seen})
    points = copies_of.compared_at(copies)
    if not found.complete or not points or len(copies) < 2:
        return found
    start = copies_of.common_start(copies)
    asked = {"START": str(start), "POINTS": ",".join(map(str, points))}
    keys = {each.key for each in copies}
    again = [(claim, survey_of(now, claim, asked)) for claim, helper in seen if _key(helper) in keys]
    compared, told = answers(now, again)
    digests = {_key(helper): helper.report.digests for _, helper in told if helper.report is not None}
    moved = {each.key for each in copies if _moved(each, told)}
    both = tuple(
        replace(each, digests=digests[each.key]) for each in copies if each.key in digests and each.key not in moved
    )
    why = "its log changed between two readings, so something still writes to it"
    failed = found.failed + compared.failed + tuple(f"{whose(node_id)}: {why}" for node_id, _ in sorted(moved))
    return replace(compared, copies=both, empty=empty, claims=found.claims, failed=failed, points=points)


def _moved(copy: LogCopy, answers: Sequence[tuple[Claim, Helper]]) -> bool:
    """A controller's copy that changes is not dead. A broker's may grow (what it had fetched is flushed), but nobody is
    left to shorten it.
    """
    for claim, helper in answers:
        if helper.report is not None and _key(helper) == copy.key:
            end = helper.report.end
            return end != copy.end if controls(claim) else end < copy.end
    return False


def answers(now: Situation, asked: Sequence[tuple[Claim, Task]]) -> tuple[Collected, list[tuple[Claim, Helper]]]:
    helpers = {each.name: each for each in now.observed.helpers}
    missing, working, failed, seen = [], [], [], []
    for claim, task in asked:
        helper = helpers.get(task.name(now.cluster.name))
        if helper is None:
            missing.append(task)
        elif helper.failed:
            failed.append(
                f"{whose(claim.node_id)}: {helper.line or 'its helper ended without a word'} (pod {helper.name})"
            )
        elif helper.report is None:
            working.append(f"{helper.name}{f' ({helper.trouble})' if helper.trouble else ''}")
        else:
            seen.append((claim, helper))
    return Collected((), {}, tuple(missing), tuple(working), tuple(failed)), seen


def claims_of_copies(now: Situation) -> list[Claim]:
    """Every bound claim of a node that has a copy of the log; of a lost quorum the archive's, too."""
    archive = now.observed.archive_claim
    restores = now.ledger is not None and is_restore(now.ledger)
    others = (archive,) if archive is not None and not restores else ()
    found = (each for each in (*now.observed.claims, *others) if each.volume and not each.terminating)
    return sorted(found, key=lambda claim: claim.node_id)


def claim_of(now: Situation, node_id: int) -> Claim | None:
    """Whatever its state: a node's, or the archive's."""
    if node_id == names.ARCHIVE_NODE:
        return now.observed.archive_claim
    return next((each for each in now.observed.claims if each.node_id == node_id), None)


def whose(node_id: int, role: str = "node") -> str:
    """The owner of a copy, in words."""
    return "the archive" if node_id == names.ARCHIVE_NODE else f"{role} {node_id}"


def survey_of(now: Situation, claim: Claim, environment: Mapping[str, str]) -> Task:
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
    if claim.node_id == names.ARCHIVE_NODE and report.cluster_id != ledger.cluster_id:
        return None
    entry = ledger.entry(claim.node_id)
    if ledger.is_written_off(claim.node_id, report.directory_id):
        return None
    reached = (report.last_epoch, report.end)
    remembers = (  # a copy out of a backup has forgotten whatever came after it
        not is_restore(ledger)
        and controls(claim)
        and entry is not None
        and entry.directory_id == report.directory_id
        and reached >= (entry.min_epoch, entry.min_offset)
    )
    spoken = next((each for each in ledger.recovery.witnesses if each.node_id == claim.node_id), None)
    known = [report.known, spoken.known if spoken is not None else 0]
    known += [entry.min_offset] if remembers and entry is not None else []
    return LogCopy(
        claim.node_id,
        copies_of.CopyRole.VOTER if remembers else copies_of.CopyRole.BROKER,
        cluster_id=report.cluster_id,
        directory_id=report.directory_id,
        end=report.end,
        last_epoch=report.last_epoch,
        start=report.start,
        known=max(known),
        promised=max(report.promised, spoken.promised if spoken is not None else 0),
        voters=report.voters,
    )


def witnesses(ledger: Ledger) -> tuple[Witness, ...]:
    """What processes said while they lived, and what the ledger has seen committed."""
    assert ledger.recovery is not None
    remembered = tuple(
        Witness(each.node_id, each.min_offset, each.min_epoch) for each in ledger.entries if each.min_offset > 0
    )
    return (*ledger.recovery.witnesses, *remembered)


def judgement(now: Situation, found: Collected) -> tuple[copies_of.RecoveryVerdict, str]:
    """The verdict and its hash."""
    assert now.ledger is not None
    heard = witnesses(now.ledger)
    judged = copies_of.judge(found.copies, heard)
    return judged, copies_of.digest(judged, found.copies, heard, found.claims)


def target_of(now: Situation, found: Collected, seed: LogCopy) -> int | None:
    """The controller whose directory is made: the seed's own; of a broker's copy, the first whose volume is empty or
    gone.
    """
    wanted = now.cluster.spec.controllers.node_ids
    if seed.node_id in wanted:
        return seed.node_id
    claims = {each.node_id for each in now.observed.claims}
    return next((each for each in wanted if each in found.empty or each not in claims), None)


def asked_for(now: Situation) -> Operation | None:
    running = now.ledger.operation if now.ledger is not None else None
    return next((each for each in now.observed.operations if running is not None and each.uid == running.uid), None)


def is_restore(ledger: Ledger) -> bool:
    return ledger.operation is not None and ledger.operation.type == OperationType.RESTORE.value
