"""Each disk by itself, and against what is committed: from the lake's commits alone, without reading data. Pure.

Gaps, files that are not what their names say, records of another epoch than the committed log's, suffixes that a node
threw away although they are committed, committed offsets that nobody has, and what the ingest could not read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from metadata_pipeline.audit.findings import AuditFinding
from metadata_pipeline.canon.model import Canon, Suffix
from metadata_pipeline.copies import CopyKey
from metadata_pipeline.lake.entries import SourceRange, Trouble
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.tables.committed import Cluster

_TROUBLES = {
    "torn": "torn tail", "zeros": "torn tail", "shrunk": "torn tail", "identity": "nobody's log", "twice": "read twice",
    "history replaced": "history replaced", "another cluster": "another cluster", "malformed": "bad answer",
    "refused": "not let in", "away": "away",
}  # fmt: skip


def judge(state: LakeState, clusters: Iterable[Cluster]) -> list[AuditFinding]:
    findings = [_trouble(it) for it in state.troubles if it.fault != "empty"]
    for cluster in clusters:
        ranges = _ranges(state, cluster.cluster)
        for copy, own in ranges.items():
            findings += _wrong_files(copy, own)
            findings += _gaps(copy, own, cluster)
        findings += _against_canon(cluster, ranges)
        findings += _lost_suffixes(state, cluster)
    return findings


def _trouble(it: Trouble) -> AuditFinding:
    kind = _TROUBLES.get(it.fault, "unreadable")
    key = it.copy
    return AuditFinding(
        key.cluster if key else "", kind, node=key.node if key else None, directory=key.directory if key else None,
        file=it.path, position=it.position, offset=None, detail=f"{it.fault}: {it.detail}",
    )  # fmt: skip


def _ranges(state: LakeState, cluster: str) -> dict[CopyKey, list[SourceRange]]:
    """The log ranges of each disk that still count, in the order of its files."""
    found: dict[CopyKey, list[SourceRange]] = defaultdict(list)
    for live in state.of("batches"):
        for one in live.file.ranges:
            dead = live.dead_from.get(one.copy)
            if one.copy.cluster == cluster and one.file.endswith(".log") and (dead is None or one.end_offset <= dead):
                found[one.copy].append(one)
    return {copy: sorted(some, key=lambda it: (it.file, it.start_position)) for copy, some in sorted(found.items())}


def _at(copy: CopyKey, kind: str, one: SourceRange, offset: int | None, detail: str) -> AuditFinding:
    return AuditFinding(
        copy.cluster,
        kind,
        node=copy.node,
        directory=copy.directory,
        file=one.file,
        position=one.start_position,
        offset=offset,
        detail=detail,
    )


def _wrong_files(copy: CopyKey, ranges: list[SourceRange]) -> Iterator[AuditFinding]:
    for one in ranges:
        named = int(one.file[:20])
        if one.start_position == 0 and one.runs and one.runs[0].start != named and not one.damaged:
            yield _at(
                copy,
                "wrong file",
                one,
                one.runs[0].start,
                f"it is called {named} and begins with offset {one.runs[0].start}",
            )


def _gaps(copy: CopyKey, ranges: list[SourceRange], cluster: Cluster) -> Iterator[AuditFinding]:
    """Between two files of a disk. A file that begins with a snapshot's end is a restart: the snapshot replaced what is
    missing.
    """
    restarts = {it.end for it in cluster.evidence.snapshots if it.copy == copy}
    before: SourceRange | None = None
    for one in (it for it in ranges if it.runs):
        start = one.runs[0].start
        if (
            before is not None
            and start > before.end_offset
            and start not in restarts
            and not (one.damaged or before.damaged)
        ):
            yield _at(
                copy,
                "gap",
                one,
                before.end_offset,
                f"offsets {before.end_offset} to {start - 1} are missing before this file",
            )
        before = one


def _against_canon(cluster: Cluster, ranges: dict[CopyKey, list[SourceRange]]) -> Iterator[AuditFinding]:
    canon = cluster.canon
    for start, end in canon.holes:
        yield from _hole(cluster.cluster, start, end, ranges)
    voters = _voters(cluster)
    for copy in cluster.evidence.copies:
        own = ranges.get(copy.key, [])
        end = max((piece.end for piece in copy.pieces), default=0)
        if own and end < canon.end and copy.key.node in voters:
            yield _at(copy.key, "behind", own[-1], end, f"it ends at {end}, committed is {canon.end}")
        for suffix in (*canon.refuted, *canon.open):
            if copy.key in suffix.holders:
                yield _suffix(copy.key, own, suffix, canon, end)


def _hole(cluster: str, start: int, end: int, ranges: dict[CopyKey, list[SourceRange]]) -> Iterator[AuditFinding]:
    """Committed offsets that no table has: what a disk holds whole under an epoch that is not believed is told as that,
    the rest is lost.
    """
    untold = start
    held = [(claim, copy, one) for copy, own in ranges.items() for one in own for claim in one.claims]
    for claim, copy, one in sorted(held, key=lambda it: (it[0].start, it[0].end)):
        first, last = max(claim.start, untold), min(claim.end, end)
        if first >= last:
            continue
        if untold < first:
            yield _lost(cluster, untold, first)
        why = f"offsets {first} to {last - 1} are whole, of epoch {claim.epoch}, which the log contradicts"
        yield _at(copy, "epoch not believed", one, first, f"{why} and no checksum covers; read another copy")
        untold = last
    if untold < end:
        yield _lost(cluster, untold, end)


def _lost(cluster: str, start: int, end: int) -> AuditFinding:
    return AuditFinding(
        cluster, "lost records", node=None, directory=None, file=None, position=None, offset=start,
        detail=f"no disk has offsets {start} to {end - 1} whole",
    )  # fmt: skip


def _voters(cluster: Cluster) -> set[int]:
    """Ids of the last known voters; a node that left the quorum may end where it likes."""
    known = max(cluster.evidence.voters, key=lambda it: (it.from_record, it.offset), default=None)
    return set() if known is None else {voter.node for voter in known.voters}


def _suffix(copy: CopyKey, own: list[SourceRange], suffix: Suffix, canon: Canon, end: int) -> AuditFinding:
    where = next((one for one in own if one.start_offset <= suffix.start < one.end_offset), own[-1])
    span = f"offsets {suffix.start} to {suffix.end - 1} of epoch {suffix.epoch}"
    if suffix.start < canon.end and end > suffix.end and canon.epoch_at(suffix.start) is not None:
        return _at(
            copy,
            "conflict",
            where,
            suffix.start,
            f"{span}; the committed log has epoch {canon.epoch_at(suffix.start)} there",
        )
    return _at(copy, "uncommitted", where, suffix.start, f"{span} are not known to be committed")


def _lost_suffixes(state: LakeState, cluster: Cluster) -> Iterator[AuditFinding]:
    """A node may truncate what was never committed. What was proven before it was cut, and had the committed epoch, is
    a loss.
    """
    canon = cluster.canon
    for commit, cut in state.truncations:
        if cut.copy.cluster != cluster.cluster or cut.offset >= canon.end:
            continue
        held = next((it for it in cluster.evidence.copies if it.key == cut.copy), None)
        if held is not None and all(piece.epoch_at(cut.offset) is None for piece in held.pieces):
            detail = (
                f"it was cut at {cut.offset} (seen by commit {commit}), committed is "
                f"{canon.end}, and the records did not come back"
            )
            name = cut.kept.file if cut.kept is not None else None
            position = cut.kept.end_position if cut.kept is not None else None
            yield AuditFinding(
                cluster.cluster,
                "lost suffix",
                node=cut.copy.node,
                directory=cut.copy.directory,
                file=name,
                position=position,
                offset=cut.offset,
                detail=detail,
            )
