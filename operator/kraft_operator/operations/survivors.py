"""What copies of a quorum's log prove where nobody has kept a ledger: another operator's cluster, or one without any.

The copies themselves say who the voters are. What only a ledger knows, nobody knows here: a copy that was restored from
a backup looks like one that survived, and only two copies of one directory betray the older one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kraft_operator.operations.verdict import (
    CopyRole,
    LogCopy,
    RecoveryVerdict,
    VoterKey,
    common_start,
    compared_at,
    judge,
)
from storage_guard.copies import CopyReport, State

CAVEAT: Final = (
    "No ledger was asked: a copy out of a backup looks like one that survived. Count only claims that no backup wrote."
)


@dataclass(frozen=True, slots=True)
class Survivor:
    """A copy, and the claim that holds it."""

    claim: str
    copy: LogCopy


@dataclass(frozen=True, slots=True)
class Findings:
    verdict: RecoveryVerdict
    survivors: tuple[Survivor, ...]
    missing: tuple[VoterKey, ...]
    """Voters that some copy tells of and no claim holds."""
    empty: tuple[str, ...]
    """Claims without a directory of Kafka's."""
    failed: Mapping[str, str]
    """Claims that could not be read, and why: such a copy counts as lost."""
    never_ran: tuple[tuple[str, int, str], ...] = ()
    """Claims with a directory that was formatted and holds no record, with its node and directory id: nobody ran on it,
    or its log is gone.
    """


def survivors(reports: Mapping[str, CopyReport], static_voters: Sequence[int] = ()) -> tuple[Survivor, ...]:
    """`static_voters`: ids of the voters where the log does not tell them (controller.quorum.voters)."""
    found = {claim: each for claim, each in sorted(reports.items()) if each.state is State.COPY}
    told = {voter for each in found.values() for voter in each.voters}
    if not told:
        own = {each.node_id: each.directory_id for each in found.values()}
        told = {(node_id, own.get(node_id, "")) for node_id in static_voters}
    static = tuple(sorted(told)) if not any(each.voters for each in found.values()) else ()
    newest: dict[VoterKey, tuple[int, int]] = {}
    for each in found.values():
        key = (_node(each), each.directory_id)
        newest[key] = max(newest.get(key, (-1, -1)), (each.last_epoch, each.end))
    taken: set[VoterKey] = set()
    listed = []
    for claim, each in found.items():
        key = (_node(each), each.directory_id)
        counts = key in told and (each.last_epoch, each.end) == newest[key] and key not in taken
        taken |= {key} if counts else set()
        listed.append(Survivor(claim, _copy(each, CopyRole.VOTER if counts else CopyRole.BROKER, static)))
    return tuple(listed)


def _copy(report: CopyReport, role: CopyRole, static: tuple[VoterKey, ...]) -> LogCopy:
    return LogCopy(
        _node(report),
        role,
        cluster_id=report.cluster_id,
        directory_id=report.directory_id,
        end=report.end,
        last_epoch=report.last_epoch,
        start=report.start,
        known=report.known,
        promised=report.promised,
        voters=report.voters or static,
    )


def _node(report: CopyReport) -> int:
    return report.node_id if report.node_id is not None else -1


def to_compare(found: Sequence[Survivor]) -> dict[str, str]:
    """What the second reading is asked for; nothing when there is nothing to compare."""
    copies = [each.copy for each in found]
    points = compared_at(copies)
    if len(copies) < 2 or not points:
        return {}
    return {"START": str(common_start(copies)), "POINTS": ",".join(map(str, points))}


def compared(found: Sequence[Survivor], again: Mapping[str, CopyReport]) -> tuple[tuple[Survivor, ...], dict[str, str]]:
    """With the digests of the second reading; and the claims whose copy is not as it was."""
    kept, moved = [], {}
    for each in found:
        report = again.get(each.claim)
        if report is None:
            continue
        if (report.end, report.last_epoch) != (each.copy.end, each.copy.last_epoch):
            moved[each.claim] = "its log changed between two readings: stop what writes to it, and ask again"
            continue
        kept.append(replace(each, copy=replace(each.copy, digests=report.digests)))
    return tuple(kept), moved


def findings(found: Sequence[Survivor], blank: Mapping[str, CopyReport], failed: Mapping[str, str]) -> Findings:
    """`blank` are the claims that hold no record."""
    copies = [each.copy for each in found]
    voters = {voter for each in copies for voter in each.voters}
    there = {each.key for each in copies if each.role is CopyRole.VOTER}
    empty = tuple(sorted(claim for claim, each in blank.items() if each.node_id is None))
    never_ran = tuple(
        (claim, _node(each), each.directory_id) for claim, each in sorted(blank.items()) if each.node_id is not None
    )
    missing = tuple(sorted(voters - there))
    return Findings(judge(copies), tuple(found), missing=missing, empty=empty, failed=dict(failed), never_ran=never_ran)
