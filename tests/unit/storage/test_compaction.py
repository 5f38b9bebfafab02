"""Compaction of one log: which records survive, which batches are kept without any, and what is written how."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.control_records import ControlType
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.storage.compaction.cleanable import grouped
from controller_runtime.storage.compaction.cleaning import CleanerSettings
from controller_runtime.storage.compaction.offset_map import OffsetMap
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.log.config import LogConfig
from support.disks.compacted_logs import DIRECTORY, KeyedLog, batches_in, survivors
from support.disks.memory_disk import POLICIES, Crashed, MemoryDisk, Policy

pytestmark = pytest.mark.unit

NOW = 1_000_000
DAY = 24 * 3600 * 1000
ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


def keyed(**rules: object) -> KeyedLog:
    return KeyedLog(MemoryDisk(), 300, **rules)


def write_values(log: KeyedLog, *values: str) -> None:
    """A batch of one record each: its key is the first letter, the rest its value, without one a tombstone."""
    for each in values:
        log.write((each[0].encode(), each[1:].encode() or None))


def values(log: KeyedLog) -> list[str]:
    return [(key or b"").decode() + (value or b"").decode() for _, _, key, value in survivors(log.log)]


def log_files(log: KeyedLog) -> list[str]:
    return [name for name in log.disk.list_directory(DIRECTORY) if ".log" in name]


def test_the_last_value_of_each_key_stays_in_its_place() -> None:
    """CLN-04."""
    log = keyed()
    write_values(log, "a1", "b1", "a2", "c1", "b2", "a3", "d1", "e1", "f1", "g1", "h1", "i1")
    end, limit = log.log.end_offset, log.limit(NOW)
    assert 6 < limit < end
    before = survivors(log.log)
    log.clean(NOW)
    assert survivors(log.log) == log.expected()
    assert values(log)[:3] == ["c1", "b2", "a3"]
    assert [one for one in survivors(log.log) if one[0] >= limit] == [one for one in before if one[0] >= limit]
    assert (log.log.end_offset, log.clean_to) == (end, limit)
    for offset in range(end):
        data = log.log.read(Offset(offset), 1)
        assert data, "a reader finds the next batch wherever it asks"


def test_the_active_segment_and_what_is_too_young_or_unstable_are_not_cleaned() -> None:
    """CLN-02, KAFKA-9826."""
    log = keyed(min_compaction_lag_ms=NOW - 1_006)
    write_values(log, *["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a0", "a1", "a2", "a3", "a4"])
    old, whole = log.limit(NOW), log.limit(NOW * 9)
    assert 0 < old <= 6 < whole == log.log.segments[-1].base_offset
    assert log.log.dirt(0, 7, NOW * 9).limit <= 7, "the high watermark"
    transactions = keyed()
    write_values(transactions, *["a1", "a2", "a3", "a4", "a5", "a6"])
    transactions.write((b"a", b"t"), producer=9, transactional=True)
    write_values(transactions, *["a1", "a2", "a3", "a4", "a5", "a6"])
    assert transactions.limit(NOW) <= 6
    transactions.end(9, COMMIT)
    assert transactions.limit(NOW) > 6


def test_how_dirty_a_log_is() -> None:
    """CLN-01, CLN-03, CLN-15."""
    log = KeyedLog(MemoryDisk(), segment_bytes=150, max_compaction_lag_ms=NOW)
    write_values(log, *["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a0", "a1", "a2"])
    limit = log.limit(NOW)
    found = log.log.dirt(None, log.log.end_offset, NOW)
    assert (found.first_dirty, found.ratio, found.is_due(log.rules), found.is_overdue) == (0, 1.0, True, False)
    assert log.log.dirt(limit, log.log.end_offset, NOW).dirty_bytes == 0
    assert log.log.dirt(99, log.log.end_offset, NOW).first_dirty == 0, "the log does not reach so far"
    middle = log.log.segments[3].base_offset
    half = log.log.dirt(middle, log.log.end_offset, NOW)
    assert half.clean_bytes == sum(each.size for each in log.log.segments[:3])
    assert half.ratio < 0.9
    assert log.log.dirt(middle, log.log.end_offset, 2 * NOW + 1_100).is_overdue
    assert not log.log.dirt(limit, log.log.end_offset, NOW).is_due(log.rules)


def test_a_tombstone_stays_until_its_horizon_from_the_first_cleaning_that_saw_it() -> None:
    """CLN-05, KIP-534."""
    log = keyed(delete_retention_ms=1_000)
    write_values(log, *["a1", "b1", "a", "b2", "c1", "d1", "e1", "f1", "g1", "h1", "i1", "j1"])
    log.clean(NOW)
    assert values(log)[:2] == ["a", "b2"]
    (batch,) = [batch for batch in batches_in(log.log) if batch.header.has_delete_horizon]
    assert (batch.header.base_offset, batch.header.base_timestamp) == (2, NOW + 1_000)
    assert batch.records[0].timestamp == 1_003, "the horizon is no record's time"
    for now in (NOW + 500, NOW + 999):
        write_values(log, *["k1", "l1", "m1", "n1", "o1", "p1"])
        log.clean(now)
        assert values(log)[0] == "a", now
    write_values(log, *["k1", "l1", "m1", "n1", "o1", "p1"])
    log.clean(NOW + 1_000)
    assert values(log)[0] == "b2"


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.GZIP, Compression.LZ4])
def test_a_batch_keeps_its_ends_its_codec_and_its_sequence(compression: Compression) -> None:
    """CLN-04."""
    log = keyed()
    log.write((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), producer=5, compression=compression)
    log.write((b"c", b"2"), producer=5)
    write_values(log, *["d1", "e1", "f1", "g1", "h1"])
    log.clean(NOW)
    first = batches_in(log.log)[0]
    header = first.header
    assert [(one.offset, one.key, one.value) for one in first.records] == [(1, b"b", b"1"), (2, b"a", b"2")]
    assert (header.base_offset, header.last_offset, header.base_sequence, header.last_sequence) == (0, 3, 0, 3)
    assert header.compression is compression
    assert header.record_count == 2


def test_records_without_a_key_do_not_survive() -> None:
    log = keyed()
    log.write((None, b"lost"), (b"a", b"1"))
    write_values(log, *["b1", "c1", "d1", "e1", "f1", "g1"])
    log.clean(NOW)
    assert values(log)[0] == "a1"


def test_aborted_data_goes_at_once_and_its_marker_when_no_data_was_left_for_long_enough() -> None:
    """CLN-06."""
    log = keyed(delete_retention_ms=1_000)
    log.write((b"a", b"kept"))
    log.write((b"a", b"aborted"), producer=9, transactional=True)
    log.end(9, ABORT)
    log.write((b"x", b"1"), producer=9)
    write_values(log, *["b1", "c1", "d1", "e1", "f1", "g1"])
    log.clean(NOW)
    assert values(log)[0] == "akept", "what was aborted has replaced nothing"
    marker = [batch.header for batch in batches_in(log.log) if batch.header.is_control]
    assert [one.has_delete_horizon for one in marker] == [False], "it was needed while this cleaning began"
    for now, markers in ((NOW + 1, [True]), (NOW + 1_000, [True]), (NOW + 1_001, [])):
        write_values(log, *["h1", "i1", "j1", "k1", "l1", "m1"])
        log.clean(now)
        found = [batch.header.has_delete_horizon for batch in batches_in(log.log) if batch.header.is_control]
        assert found == markers, now


def test_a_commit_marker_stays_while_there_is_data_and_until_its_horizon() -> None:
    """CLN-07."""
    log = keyed(delete_retention_ms=1_000)
    log.write((b"a", b"1"), producer=9, transactional=True)
    log.end(9, COMMIT)
    log.write((b"x", b"1"), producer=9)

    def markers(now: int) -> list[bool]:
        write_values(log, *["h1", "i1", "j1", "k1", "l1", "m1"])
        log.clean(now)
        return [batch.header.has_delete_horizon for batch in batches_in(log.log) if batch.header.is_control]

    assert markers(NOW) == [False]
    assert markers(NOW + DAY) == [False]
    write_values(log, "a2")
    assert markers(NOW + DAY) == [False]
    assert markers(NOW + DAY + 1) == [True]
    assert markers(NOW + DAY + 1_000) == [True]
    assert markers(NOW + DAY + 1_001) == []


def test_the_last_batch_of_a_producer_is_kept_without_records() -> None:
    """CLN-08: else a retry of it would be taken for new after a restart."""
    log = keyed()
    for number in range(3):
        log.write((b"a", b"%d" % number), producer=5)
    write_values(log, *["a1", "b1", "c1", "d1", "e1", "f1", "g1"])
    log.clean(NOW)
    kept = [batch.header for batch in batches_in(log.log) if batch.header.producer_id == 5]
    assert [(one.base_offset, one.record_count, one.base_sequence) for one in kept] == [(2, 0, 2)]
    for name in log.disk.list_directory(DIRECTORY):
        if name.endswith(".snapshot"):
            log.disk.remove(f"{DIRECTORY}/{name}")
    again = log.reopened(log.disk)
    assert again.producers[5].last_sequence == 2


def test_an_empty_batch_goes_when_its_producer_has_a_later_one() -> None:
    """CLN-10, KAFKA-8335: by the offset, not the sequence, which is used again."""
    log = keyed()
    for _ in range(4):
        log.sequences.clear()
        log.write((b"a", b"1"), producer=5)
        write_values(log, *["a1", "b1", "c1", "d1", "e1", "f1", "g1"])
        log.clean(NOW)
        empty = [batch.header for batch in batches_in(log.log) if not batch.header.record_count]
        assert len([one for one in empty if one.producer_id == 5]) == 1


def test_the_last_batch_of_what_is_cleaned_is_kept() -> None:
    """CLN-09: the end of what was written there is not forgotten, though no record of it survives."""
    log = KeyedLog(MemoryDisk(), segment_bytes=75)
    for value in (b"1", b"2", b"3"):
        log.write((None, value))
    write_values(log, "a1")
    assert log.limit(NOW) == 3
    log.clean(NOW)
    kept = [(batch.header.base_offset, batch.header.record_count) for batch in batches_in(log.log)]
    assert kept == [(2, 0), (3, 1)]


def test_a_swap_at_or_above_what_was_not_finished_is_dropped() -> None:
    """LOG-11, KAFKA-6264: of several new segments, as Java makes of one that it splits, not all are there yet."""
    log = keyed()
    write_values(log, *["a1", "b1", "a2", "c1", "b2", "a3"])
    log.log.flush()
    disk = log.disk
    assert isinstance(disk, MemoryDisk)
    before = survivors(log.log)
    disk.open(f"{DIRECTORY}/{0:020}.log.cleaned", create=True).write_at(0, b"half of it")
    disk.open(f"{DIRECTORY}/{4:020}.log.swap", create=True).write_at(0, batches_in(log.log)[4].data)
    again = log.reopened(disk.survivors("everything"), recovery_point=6)
    assert survivors(again) == before


class OrderedDisk(MemoryDisk):
    """Notes which files were set aside while a swap had its name only in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.early: list[str] = []
        self._has_unsynced_swap = False

    def rename(self, source: str, target: str) -> None:
        if target.endswith(".deleted") and self._has_unsynced_swap:
            self.early.append(source)
        self._has_unsynced_swap |= target.endswith(".swap")
        super().rename(source, target)

    def sync_directory(self, path: str) -> None:
        self._has_unsynced_swap = False
        super().sync_directory(path)


def test_no_old_file_goes_before_the_new_ones_are_durable() -> None:
    """CLN-17: renames that no sync has ordered may become durable in any order."""
    disk = OrderedDisk()
    log = KeyedLog(disk)
    write_values(log, *["a1", "b1", "a2", "c1", "b2", "a3", "d1", "e1", "f1", "g1", "h1", "i1"])
    log.clean(NOW)
    assert any(name.endswith(".log.deleted") for name in disk.list_directory(DIRECTORY))
    assert disk.early == []


def test_keys_that_look_like_those_of_markers_are_keys() -> None:
    """CLN-11."""
    log = keyed()
    log.write((b"\0\0\0\0", b"1"), (b"\0\0\0\1", b"1"), producer=9, transactional=True)
    log.end(9, COMMIT)
    write_values(log, *["a1", "b1", "c1", "d1", "e1", "f1", "g1"])
    log.clean(NOW)
    assert [key for _, _, key, _ in survivors(log.log)][:2] == [b"\0\0\0\0", b"\0\0\0\1"]


def test_with_a_full_map_a_part_is_cleaned_and_the_next_time_goes_on_there() -> None:
    """CLN-12."""
    log = keyed()
    write_values(log, *["a1", "b1", "a2", "c1", "d1", "a3", "b2", "e1", "f1", "g1", "h1", "i1", "j1"])
    limit = log.limit(NOW)
    three_keys = CleanerSettings(map_bytes=4 * 24, load_factor=0.9)
    cleaning = log.cleaning(NOW, three_keys)
    assert [*cleaning.pieces()]
    assert cleaning.end_offset == 4, "the map had room for a, b and c"
    assert values(log)[:3] == ["b1", "a2", "c1"]
    log.clean_to, ends = 4, [4]
    while log.clean_to < limit:
        cleaning = log.cleaning(NOW, three_keys)
        assert [*cleaning.pieces()]
        assert cleaning.end_offset > log.clean_to
        log.clean_to = cleaning.end_offset
        ends.append(log.clean_to)
    assert len(ends) > 2
    assert values(log)[:4] == ["c1", "d1", "a3", "b2"]


def test_neighbours_become_one_segment_as_large_as_a_segment_may_be() -> None:
    """CLN-13."""
    log = keyed()
    write_values(log, *(f"{chr(97 + number % 3)}{number}" for number in range(40)))
    assert len(log_files(log)) == 10
    log.clean(NOW)
    write_values(log, *["a1", "b1", "c1", "a2", "b2", "c2"])
    log.clean(NOW)
    names = [name for name in log_files(log) if name.endswith(".log")]
    assert len(names) < 6
    assert all(each.size <= 300 for each in log.log.segments)
    wide = KeyedLog(MemoryDisk(), segment_bytes=100)
    for base in (0, 2**31 - 5, 2**31 - 1, 2**31 + 7, 2**31 + 9):
        wide.log.append(_moved(base))
    first, second, *_ = groups(wide)
    assert first == [0, 2**31 - 5]
    assert second[0] == 2**31 - 1, "KAFKA-6264: an index could not name it"


def _moved(base: int) -> bytes:
    return encode_batch([Record(base, 1_000, b"k%d" % base, b"v")], partition_leader_epoch=1)


def groups(log: KeyedLog) -> list[list[int]]:
    roomy = LogConfig(segment_bytes=1 << 20)
    segments = log.log.segments[:-1]
    found = grouped(segments, roomy, log.log.segments[-1].base_offset)
    return [[each.base_offset for each in group] for group in found]


@pytest.mark.parametrize(
    ("byte", "reason"),
    [(65, "checksum of the batch at offset 4 does not hold"), (7, "offset 0 after 3"), (16, "magic 0, not 2")],
)
def test_a_damaged_batch_ends_the_cleaning_with_its_place_and_nothing_is_changed(byte: int, reason: str) -> None:
    """CLN-14. The offset is under no checksum."""
    log = keyed()
    write_values(log, *["a1", "b1", "a2", "c1", "b2", "a3", "d1", "e1", "f1", "g1", "h1", "i1"])
    disk = log.disk
    assert isinstance(disk, MemoryDisk)
    log.log.segments[1].file.write_at(byte, b"\0")
    before = {name: bytes(node.data) for name, node in disk.names.items()}
    with pytest.raises(CorruptFile, match=f"{4:020}.log at byte 0: {reason}"):
        log.clean(NOW)
    assert {name: bytes(node.data) for name, node in disk.names.items()} == before


@pytest.mark.parametrize("what", ["cut", "begun later", "closed"])
def test_a_log_that_changes_meanwhile_is_left_as_it_is(what: str) -> None:
    """CLN-16."""
    log = keyed()
    write_values(log, *["a1", "b1", "a2", "c1", "b2", "a3", "d1", "e1", "f1", "g1", "h1", "i1"])
    pieces = log.cleaning(NOW, CleanerSettings(piece_bytes=100)).pieces()
    while not any(name.endswith(".cleaned") for name in log_files(log)):
        next(pieces)
    if what == "cut":
        log.log.cut(Offset(2))
    elif what == "begun later":
        log.log.delete_before(Offset(5))
    if what == "closed":
        pieces.close()
    else:
        assert not [*pieces]
    assert not [name for name in log_files(log) if name.endswith(".cleaned")]
    assert (
        values(log)
        == {
            "cut": ["a1", "b1"],
            "begun later": values(log),
            "closed": ["a1", "b1", "a2", "c1", "b2", "a3", "d1", "e1", "f1", "g1", "h1", "i1"],
        }[what]
    )
    assert survivors(log.reopened(log.disk, log_start=int(log.log.start_offset))) == survivors(log.log)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_crash_at_any_step_leaves_the_log_before_or_after(policy: Policy) -> None:
    """CLN-17, LOG-11: also with half of the files renamed."""
    seen, steps = set(), 0
    while True:
        log = KeyedLog(MemoryDisk(), segment_bytes=200)
        write_values(log, *["a1", "b1", "a2", "c1", "b2", "a3"])
        log.config = LogConfig(segment_bytes=10_000, index_interval_bytes=100, cleanup=log.rules)
        log.log.configure(log.config)
        log.log._log.roll()
        write_values(log, "z1")
        log.log.flush()
        before = survivors(log.log)
        disk = log.disk
        assert isinstance(disk, MemoryDisk)
        disk.crash_after(steps)
        try:
            log.clean(NOW)
        except Crashed:
            found = survivors(log.reopened(disk.survivors(policy), recovery_point=int(log.log.recovery_point)))
            log.clean_model(NOW, 6)
            after = log.expected()
            assert found in (before, after), steps
            seen.add(found == after)
            steps += 1
        else:
            assert survivors(log.reopened(disk.survivors(policy), recovery_point=7)) == log.expected()
            break
    assert seen == {True, False}
    assert steps > 20


def test_the_map_is_bounded_and_exact() -> None:
    found = OffsetMap(1000)
    assert all(found.put(b"%d" % (number % 1000), number) for number in range(3000))
    assert not found.put(b"another", 3000)
    assert [found.get(b"%d" % number) for number in range(1000)] == list(range(2000, 3000))
    assert found.get(b"another") == -1
    assert len(found) == 1000
