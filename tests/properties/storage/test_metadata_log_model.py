"""The metadata log against a model, over random lives with crashes: what was reported as durable and not cut since is
never lost, and what recovery finds is always the beginning of a log that existed.

The model is a list of batches. Since the last completed flush it remembers every content that the log had; a crash may
leave a prefix of any of them, but never less than what is durable in all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller_runtime.identifiers import Offset
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.metadata_log import MetadataLog, PendingWrite
from support.disks.memory_disk import Crashed, MemoryDisk, Policy
from support.disks.raw_batches import raw_batch

pytestmark = pytest.mark.properties

DIRECTORY = "/data/__cluster_metadata-0"
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=90, tail_bytes=200)
POLICIES: tuple[Policy, ...] = ("synced only", "everything", "half of unsynced")

Batch = tuple[int, int, int]
"""Base offset, epoch, number of records."""


@dataclass
class Life:
    disk: MemoryDisk
    log: MetadataLog
    batches: list[Batch] = field(default_factory=list)
    epoch: int = 1
    histories: list[list[Batch]] = field(default_factory=lambda: [[]])
    """Contents since the last completed flush, oldest first."""
    durable: int = 0
    """Everything below was reported as flushed and not cut since."""
    in_flight: PendingWrite | None = None

    @property
    def end(self) -> int:
        return self.batches[-1][0] + self.batches[-1][2] if self.batches else 0

    def append(self, count: int) -> None:
        batch = (self.end, self.epoch, count)
        self.log.append(raw_batch(*batch))
        self.batches.append(batch)
        self.histories.append(list(self.batches))

    def truncate(self, back: int) -> None:
        keep = max(0, len(self.batches) - back)
        cut = self.batches[keep][0] if keep < len(self.batches) else self.end
        self.durable = min(self.durable, cut)
        self.log.truncate(Offset(cut))
        del self.batches[keep:]
        self.epoch += 1
        self.histories.append(list(self.batches))

    def take(self) -> None:
        if self.in_flight is None:
            self.in_flight = self.log.take_pending_write()

    def perform(self) -> None:
        if self.in_flight is not None:
            pending, self.in_flight = self.in_flight, None
            pending.perform()
            flushed = self.log.complete(pending).flushed_offset
            assert flushed <= self.end
            assert flushed >= self.durable
            self.durable = flushed

    def flush(self) -> None:
        self.perform()
        self.take()
        self.perform()
        assert self.durable == self.end == self.log.flushed_offset
        self.histories = [list(self.batches)]

    def check(self) -> None:
        assert read_all(self.log) == b"".join(raw_batch(*batch) for batch in self.batches)
        assert self.log.flushed_offset <= self.log.end_offset == self.end
        starts: list[tuple[int, int]] = []
        for base, epoch, _ in self.batches:
            if not starts or starts[-1][0] < epoch:
                starts.append((epoch, base))
        assert self.log.epoch_starts() == tuple(starts)

    def restart(self, policy: Policy) -> Life:
        disk = self.disk.survivors(policy)
        log = MetadataLog.open(disk, DIRECTORY, CONFIG)
        found = [(p.base_offset, p.partition_leader_epoch, p.record_count) for p in split_batches(read_all(log))]
        assert any(found == history[: len(found)] for history in self.histories), "a log that never was"
        assert log.end_offset >= self.durable, f"{self.durable} was durable, {log.end_offset} is left"
        return Life(disk, log, found, self.epoch + 1, [list(found)], log.end_offset)


def read_all(log: MetadataLog) -> bytes:
    data, offset = b"", log.start_offset
    while piece := log.read(offset, 150):
        data += piece
        offset = Offset(list(split_batches(piece))[-1].last_offset + 1)
    return data


STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("truncate"), st.integers(0, 4)),
    st.tuples(st.sampled_from(["take", "perform", "flush"]), st.just(0)),
)


@example([([("append", 1), ("flush", 0)], 1, "everything"), ([("truncate", 1)], 0, "synced only")])
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(STEPS, max_size=12), st.integers(0, 40), st.sampled_from(POLICIES)), max_size=4))
def test_no_life_with_crashes_loses_what_was_durable(
    lives: list[tuple[list[tuple[str, int]], int, Policy]],
) -> None:
    disk = MemoryDisk()
    life = Life(disk, MetadataLog.open(disk, DIRECTORY, CONFIG))
    for steps, operations, policy in lives:
        life.disk.crash_after(operations)
        try:
            for name, number in steps:
                getattr(life, name)(*([number] if name in ("append", "truncate") else []))
                life.check()
        except Crashed:
            pass
        life.disk.limit = None
        life = life.restart(policy)
        life.check()
