"""Which offsets a history covers: stretches between gaps, and transactions that do not count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metadata_pipeline.audit.batches import unequal
from metadata_pipeline.audit.copies import judge
from metadata_pipeline.audit.findings import KINDS, AuditFinding, merged
from metadata_pipeline.canon.from_lake import SnapshotFile
from metadata_pipeline.canon.model import Canon
from metadata_pipeline.canon.stretches import Stretch, stretches
from metadata_pipeline.copies import CopyKey, Run
from metadata_pipeline.lake.entries import Commit, CopyFacts, LakeFile, SourceRange, Trouble, Truncation
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.tables.committed import NEVER, clusters, dropped_ranges

COPY = CopyKey("c", 1, "d")


def snapshot(end: int, epoch: int = 1, *, damaged: bool = False) -> SnapshotFile:
    return SnapshotFile(end, epoch, COPY, f"{end:020d}-{epoch:010d}.checkpoint", damaged)


def test_a_whole_log_is_one_stretch_without_a_base() -> None:
    assert stretches(Canon(end=100, runs=(Run(0, 100, 1),)), [snapshot(50)]) == [Stretch(0, 0, 100, None)]


def test_a_trimmed_log_begins_with_its_snapshot() -> None:
    assert stretches(Canon(end=100, runs=(Run(40, 100, 1),)), [snapshot(40), snapshot(90)]) == [
        Stretch(0, 40, 100, snapshot(40))
    ]


def test_behind_a_gap_the_next_snapshot_begins_another_stretch() -> None:
    canon = Canon(end=100, runs=(Run(0, 30, 1), Run(40, 100, 1)))
    assert stretches(canon, [snapshot(60)]) == [Stretch(0, 0, 30, None), Stretch(1, 60, 100, snapshot(60))]
    assert stretches(canon, []) == [Stretch(0, 0, 30, None)]


def test_a_damaged_snapshot_begins_nothing() -> None:
    assert stretches(Canon(end=100, runs=(Run(40, 100, 1),)), [snapshot(40, damaged=True)]) == []


def test_a_snapshot_alone_is_a_state_without_a_history() -> None:
    assert stretches(Canon(end=70), [snapshot(70)]) == [Stretch(0, 70, 70, snapshot(70))]


def test_aborted_and_open_transactions_are_dropped_and_ended_ones_stay() -> None:
    markers = [
        ("a", 0, 5, "BeginTransactionRecord"), ("a", 0, 9, "EndTransactionRecord"),
        ("a", 0, 20, "BeginTransactionRecord"),
        ("a", 0, 29, "AbortTransactionRecord"), ("a", 0, 40, "BeginTransactionRecord"),
        ("b", 0, 3, "BeginTransactionRecord"), ("b", 0, 4, "EndTransactionRecord"),
    ]  # fmt: skip
    assert dropped_ranges(markers) == [("a", 0, 20, 30), ("a", 0, 40, NEVER)]


def ranged(file: str, start: int, end: int, *, damaged: bool = False, position: int = 0) -> SourceRange:
    return SourceRange(
        COPY, file, position, position + end - start, start, end, None, (Run(start, end, 1),), (), damaged
    )


def lake(*ranges: SourceRange, truncate: tuple[Truncation, ...] = (), troubles: tuple[Trouble, ...] = ()) -> LakeState:
    file = LakeFile("f", "batches", 1, 1, ranges)
    facts = (CopyFacts(COPY, "/x", 1, (1,)),)
    return replay(
        [Commit(0, "ingest", 1, (file,), copies=facts, troubles=troubles), Commit(1, "ingest", 2, truncate=truncate)]
    )


def kinds(state: LakeState) -> list[str]:
    return [it.kind for it in judge(state, clusters(state))]


def name(base: int) -> str:
    return f"{base:020d}.log"


def test_a_whole_disk_has_no_findings() -> None:
    assert kinds(lake(ranged(name(0), 0, 10), ranged(name(10), 10, 20))) == []


def test_a_missing_segment_is_a_gap_unless_a_snapshot_replaced_it() -> None:
    assert "gap" in kinds(lake(ranged(name(0), 0, 10), ranged(name(30), 30, 40)))
    replaced = SourceRange(COPY, "00000000000000000030-0000000001.checkpoint", 0, 9, -1, -1)
    assert "gap" not in kinds(lake(ranged(name(0), 0, 10), ranged(name(30), 30, 40), replaced))


def test_a_file_with_another_files_name_is_found() -> None:
    assert "wrong file" in kinds(lake(ranged(name(0), 0, 10), ranged(name(10), 17, 20)))


def test_a_disk_that_cut_committed_records_and_never_got_them_back_lost_them() -> None:
    whole = ranged(name(0), 0, 10)
    snapshot_after = SourceRange(COPY, "00000000000000000009-0000000001.checkpoint", 0, 9, -1, -1)
    assert "lost suffix" in kinds(lake(whole, snapshot_after, truncate=(Truncation(COPY, 6, ranged(name(0), 0, 6)),)))
    assert "lost suffix" not in kinds(lake(whole, truncate=(Truncation(COPY, 6, ranged(name(0), 0, 6)),)))


def test_committed_records_that_no_disk_has_whole_are_lost() -> None:
    snapshot_after = SourceRange(COPY, "00000000000000000030-0000000001.checkpoint", 0, 9, -1, -1)
    assert kinds(lake(ranged(name(0), 0, 10, damaged=True), ranged(name(0), 15, 30, position=90), snapshot_after)) == [
        "lost records"
    ]


def test_another_epoch_amid_the_committed_log_is_a_conflict() -> None:
    """Node 1 goes on after it with the records that a snapshot proves to be committed."""
    other = CopyKey("c", 2, "d2")
    mine = replace(ranged(name(0), 0, 30), runs=(Run(0, 10, 1), Run(10, 12, 5), Run(12, 30, 1)))
    whole = replace(ranged(name(0), 0, 30), copy=other)
    state = lake(mine, whole, SourceRange(COPY, "00000000000000000030-0000000001.checkpoint", 0, 9, -1, -1))
    state = replay([Commit(2, "ingest", 3, copies=(CopyFacts(COPY, "/x", 9), CopyFacts(other, "/y", 9)))], state)
    (found,) = [it for it in judge(state, clusters(state)) if it.kind != "uncommitted"]
    assert (found.kind, found.node, found.offset) == ("conflict", 1, 10)


@pytest.mark.parametrize(
    ("fault", "kind"), [("identity", "nobody's log"), ("twice", "read twice"), ("length", "unreadable")]
)
def test_what_an_ingest_could_not_use_is_a_finding_of_its_kind(fault: str, kind: str) -> None:
    assert kinds(lake(ranged(name(0), 0, 10), troubles=(Trouble("/x/0.log", fault, "why", 100, 5, COPY),))) == [kind]


def test_what_could_not_be_read_is_a_finding_with_its_place() -> None:
    state = lake(ranged(name(0), 0, 10), troubles=(Trouble("/x/0.log", "torn", "5 bytes", 100, 5, COPY),))
    (finding,) = judge(state, clusters(state))
    assert (finding.kind, finding.node, finding.file, finding.position) == ("torn tail", 1, "/x/0.log", 100)


def test_every_kind_of_finding_has_a_severity_and_a_meaning() -> None:
    assert {severity for severity, _ in KINDS.values()} == {"error", "warning", "note"}
    assert all(meaning for _, meaning in KINDS.values())


def row(node: int, epoch: int, after: int | None, crc: int = 7, *, believed: bool = True) -> dict[str, object]:
    """A batch at offset 27 of a disk, and the epoch of the batch behind it."""
    place = {
        "cluster_id": "c",
        "node_id": node,
        "directory_id": f"d{node}",
        "file": name(0),
        "position": 90,
        "offset": 27,
    }
    return {**place, "epoch": epoch, "crc": crc, "after": after, "believed": believed}


def accused(*rows: dict[str, object]) -> list[tuple[str, int | None]]:
    return [(it.kind, it.node) for it in unequal(rows)]


def test_equal_bytes_with_another_epoch_are_damage_where_the_disk_does_not_go_on_in_it() -> None:
    """Two leaders may begin their epochs at one offset and in one millisecond: each disk then goes on in its own."""
    assert accused(row(1, 3, 3), row(2, 4, 4), row(3, 3, 3)) == []
    assert accused(row(1, 3, 3), row(2, 67, 3), row(3, 3, 3)) == [("damaged epoch", 2)]
    assert accused(row(1, 3, 3), row(2, 67, None)) == [("damaged epoch", 2)]


def test_equal_bytes_at_the_end_of_two_disks_accuse_the_one_whose_number_cannot_be() -> None:
    """A record that no leader began, as the last batch of one disk: the other one's number is that of the batches
    before.
    """
    assert accused(row(1, 3, None), row(2, 67, None, believed=False)) == [("damaged epoch", 2)]


def test_where_nothing_tells_which_of_two_numbers_is_damaged_both_sides_are_named_and_nobody_is_accused() -> None:
    """A leader's record, the last batch of both: two disks, or two against two. A third disk decides."""
    (found,) = unequal([row(1, 3, None), row(2, 67, None)])
    assert (found.kind, found.severity, found.node, found.file) == ("two epochs", "error", None, None)
    assert f"node 1 has 3 ({name(0)} at 90); node 2 has 67 ({name(0)} at 90)" in found.detail
    assert accused(row(1, 3, None), row(2, 67, None), row(3, 3, None), row(4, 67, None)) == [("two epochs", None)]
    assert accused(row(1, 3, None), row(2, 67, None), row(3, 3, None)) == [("damaged epoch", 2)]


def test_what_two_rules_say_of_one_batch_is_one_finding() -> None:
    one, other = (AuditFinding("c", "damaged epoch", 2, "d", "f", 90, 27, detail) for detail in ("first", "second"))
    elsewhere = AuditFinding("c", "damaged epoch", 2, "d", "f", 180, 28, "third")
    late = AuditFinding("c", "uncommitted", 1, "d", None, None, 30, "a note")
    found = merged([late, other, elsewhere, one, one])
    assert [(it.position, it.detail) for it in found] == [(90, "first; second"), (180, "third"), (None, "a note")]
