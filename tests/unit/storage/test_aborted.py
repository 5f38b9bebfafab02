"""Which transactions of a log were aborted: written with the marker, found by readers, right after cuts and crashes."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.protocol.record_batch import Record, claimed_header, encode_batch, restamp
from controller_runtime.protocol.transaction_markers import Marker, encode_marker
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.partition_log import PartitionLog
from support.disks.memory_disk import MemoryDisk

pytestmark = pytest.mark.unit

DIRECTORY, TOPIC = "/data/orders-0", Uuid.of(7, 7)
SMALL = LogConfig(segment_bytes=400)


def opened(disk: MemoryDisk, config: LogConfig = LogConfig(), *, clean: bool = False) -> PartitionLog:
    return PartitionLog.open(disk, DIRECTORY, TOPIC, config, clean=clean)


def put(log: PartitionLog, batch: bytes) -> int:
    data = bytearray(batch)
    restamp(data, log.end_offset, 0)
    log.append(bytes(data))
    return claimed_header(data).base_offset


def write(log: PartitionLog, producer_id: int, sequence: int) -> int:
    return put(
        log,
        encode_batch(
            [Record(0, 1, None, b"x" * 50)],
            is_transactional=True, producer_id=producer_id, producer_epoch=0, base_sequence=sequence,
        ),
    )  # fmt: skip


def end(log: PartitionLog, producer_id: int, *, commit: bool) -> int:
    return put(log, encode_marker(producer_id, 0, Marker(commit, 3), 2))


def aborted(log: PartitionLog, offset: int = 0, size: int = 1 << 20) -> list[tuple[int, int, int, int]]:
    return [(*each,) for each in log.aborted(Offset(offset), size)]


def overlapping(log: PartitionLog) -> None:
    write(log, 1, 0)
    write(log, 2, 0)
    end(log, 1, commit=False)
    end(log, 2, commit=True)
    write(log, 1, 1)
    end(log, 1, commit=False)


def test_an_aborted_transaction_is_written_down_with_its_marker() -> None:
    """LOG-06, LOG-29: with the offset below which nothing was open then."""
    log = opened(MemoryDisk())
    overlapping(log)
    assert aborted(log) == [(1, 0, 2, 1), (1, 4, 5, 6)]
    assert aborted(log, 3) == [(1, 4, 5, 6)]
    assert aborted(log, 6) == []


def test_markers_of_nobody_leave_no_entry() -> None:
    log = opened(MemoryDisk())
    end(log, 9, commit=False)
    assert aborted(log) == []
    assert log.producers[9].coordinator_epoch == 3


def test_a_reader_is_told_across_segments() -> None:
    """FCH-11: data in one segment, its marker in another."""
    log = opened(MemoryDisk(), SMALL)
    first = write(log, 1, 0)
    for number in range(8):
        write(log, 2, number)
    end(log, 2, commit=True)
    marker = end(log, 1, commit=False)
    assert len(log.segments) > 1
    assert aborted(log, 0, 1)[0][:3] == (1, first, marker)


@pytest.mark.parametrize("clean", [True, False])
def test_a_start_knows_what_the_last_run_knew(clean: bool) -> None:
    """LOG-07, LOG-08: from the index after a clean stop, from the batches after any other."""
    disk = MemoryDisk()
    log = opened(disk)
    overlapping(log)
    write(log, 5, 0)
    before = aborted(log)
    if clean:
        log.close()
    again = opened(disk, clean=clean)
    assert aborted(again) == before
    assert again.producers[5].transaction_first_offset == 6
    assert again.producers[1].coordinator_epoch == 3


def test_what_is_cut_was_not_aborted() -> None:
    """LOG-06, LOG-16."""
    log = opened(MemoryDisk())
    overlapping(log)
    log.truncate(Offset(5))
    assert aborted(log) == [(1, 0, 2, 1)]
    assert log.producers[1].transaction_first_offset == 4
    log.truncate(Offset(2))
    assert aborted(log) == []


def test_producers_expire_but_not_while_their_transaction_is_open() -> None:
    """PRD-21."""
    log = opened(MemoryDisk())
    write(log, 1, 0)
    write(log, 2, 0)
    end(log, 2, commit=True)
    assert log.expire_producers(1) == ()
    assert log.expire_producers(2) == (2,)
    assert set(log.producers) == {1}
