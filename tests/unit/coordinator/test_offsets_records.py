"""Records of `__consumer_offsets` are those of Apache Kafka, byte for byte, and its logs are loaded as it would load
them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.coordinator import loading
from controller_runtime.coordinator.consumer.records import ConsumerRecord
from controller_runtime.coordinator.offsets_records import (
    BadGroupRecord,
    Committed,
    GroupRecord,
    OffsetPlace,
    OffsetRecord,
    batch_of,
    key_of,
    read,
    value_of,
)
from controller_runtime.coordinator.share.records import ShareGroupRecord
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.control_records import ControlType, control_record
from controller_runtime.protocol.messages.end_txn_marker import EndTxnMarker
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from support.golden import broker_data
from support.groups.coordinated import Coordinated

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Every log of `__consumer_offsets` that Java's brokers left behind."""
    found: dict[str, bytes] = {}
    for broker in (11, 12, 13):
        home = broker_data(broker, tmp_path_factory.mktemp(f"broker-{broker}"))
        found |= {f"{broker}: {path.parent.name}": path.read_bytes() for path in sorted(logs_in(home))}
    return found


def logs_in(home: Path) -> list[Path]:
    return [path for path in home.rglob("__consumer_offsets-*/*.log") if path.stat().st_size]


def test_what_java_wrote_is_what_we_write(logs: dict[str, bytes]) -> None:
    """GRP-23: keys, values and whole batches."""
    seen = {OffsetRecord: 0, GroupRecord: 0, ConsumerRecord: 0, ShareGroupRecord: 0}
    whole_batches = 0
    for data in logs.values():
        for batch in decode_batches(data):
            if batch.header.is_control:
                continue
            records = [read(each.key, each.value) for each in batch.records]
            for record, line in zip(records, batch.records, strict=True):
                assert record is not None, line
                seen[type(record)] += 1
                assert (key_of(record), value_of(record)) == (line.key, line.value)
            if not batch.header.is_transactional:
                made = batch_of([each for each in records if each], batch.records[0].timestamp, 0)
                assert made[16:] == batch.data[16:], "all but offset and epoch, which the leader sets"
                whole_batches += 1
    assert min(seen.values()) > 5, seen
    assert whole_batches > 10


def test_java_s_groups_and_offsets_are_loaded(logs: dict[str, bytes]) -> None:
    """GRP-26, OFF-06: what a transaction committed counts, groups that were deleted are gone."""
    world = Coordinated()
    loaded: dict[str, dict[tuple[str, int], int]] = {}
    for data in logs.values():
        partition = world.coordinator.lead(0)
        whole(loading.replay(partition, data, 0))
        partition.begin(world.now, world.wall)
        for group_id in partition.groups:
            offsets = partition.offsets.of(group_id)
            loaded[group_id] = {key: each.offset for key, each in offsets.items()}
    assert loaded["s7-console"][("stock-64", 3)] == 50
    assert loaded["s7-txg"] == {("s7-plain", 0): 3}
    assert "s7-g-classic" not in loaded, "it was deleted"


PLACE = OffsetPlace("g", "orders", 0)


def offset(number: int) -> OffsetRecord:
    return OffsetRecord(PLACE, Committed(number))


def plain(base: int, number: int) -> bytes:
    return written(base, offset(number))


def written(base: int, record: OffsetRecord, producer_id: int = -1) -> bytes:
    line = Record(base, 1_000, key_of(record), value_of(record))
    is_open = producer_id >= 0
    return encode_batch([line], is_transactional=is_open, producer_id=producer_id, producer_epoch=0 if is_open else -1)


def ended(base: int, producer_id: int, kind: ControlType) -> bytes:
    line = control_record(EndTxnMarker(), offset=base, timestamp=1_000, marker=kind)
    return encode_batch([line], is_transactional=True, is_control=True, producer_id=producer_id, producer_epoch=0)


COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


@pytest.mark.parametrize(
    ("log", "expected", "is_pending"),
    [
        ([plain(0, 1), written(1, offset(5), 7)], 1, True),
        ([plain(0, 1), written(1, offset(5), 7), ended(2, 7, COMMIT)], 5, False),
        ([plain(0, 1), written(1, offset(5), 7), ended(2, 7, ABORT)], 1, False),
        ([written(0, offset(5), 7), plain(1, 1), ended(2, 7, COMMIT)], 1, False),
        ([written(0, offset(5), 7), plain(3, 1), written(9, offset(6), 8), ended(20, 8, COMMIT)], 6, True),
        ([written(0, offset(5), 7), written(1, OffsetRecord(PLACE, None)), ended(2, 7, COMMIT)], None, False),
    ],
)
def test_the_record_that_is_later_in_the_log_wins(log: list[bytes], expected: int | None, is_pending: bool) -> None:
    """OFF-06, OFF-07, OFF-08, and gaps that compaction left (GRP-26)."""
    partition = Coordinated().coordinator.lead(0)
    end = whole(loading.replay(partition, b"".join(log), 0))
    found = partition.offsets.newest(PLACE)
    assert (None if found is None else found.offset) == expected
    assert partition.offsets.is_pending(PLACE) is is_pending
    assert end == decode_batches(log[-1])[0].header.next_offset


@pytest.mark.parametrize(
    ("key", "value"), [(None, b""), (b"", b""), (b"\0\1", b"x"), (b"\0\2\0\1g", b"\0\x63"), (b"\0\1\0\1g", b"\0\4")]
)
def test_a_damaged_record_is_none(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(BadGroupRecord):
        read(key, value)


@pytest.mark.parametrize("kind", [9, 18, 99, 32767])
def test_a_kind_that_nobody_coordinates_here_is_passed_over(kind: int) -> None:
    """GRP-23"""
    assert read(kind.to_bytes(2, "big") + b"anything", b"at all") is None


def test_a_damaged_log_is_not_served() -> None:
    partition = Coordinated().coordinator.lead(0)
    bad = encode_batch([Record(0, 1_000, b"\0\1", b"")])
    with pytest.raises(loading.Unreadable, match="offset 0"):
        whole(loading.replay(partition, bad, 0))


def test_an_offset_with_a_time_of_its_own_is_written_as_before() -> None:
    """OffsetCommit up to version 4 says how long it is kept: version 1 of the value is the last that has it."""
    record = OffsetRecord(PLACE, Committed(5, metadata="m", commit_timestamp=10, expire_timestamp=20))
    assert value_of(record) == b"\0\1" + (5).to_bytes(8, "big") + b"\0\1m" + (10).to_bytes(8, "big") + (20).to_bytes(
        8, "big"
    )
    assert read(key_of(record), value_of(record)) == record
