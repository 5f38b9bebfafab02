"""Whatever was written, in whatever order and however often it is cleaned: a model says what survives.

Shrinks to a short history; what a reader, a restart and a producer need is there, too.
"""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.disks.compacted_logs import DIRECTORY, KeyedLog, batches_in, survivors
from support.disks.memory_disk import MemoryDisk
from support.disks.random_keyed_logs import write_at_random

pytestmark = pytest.mark.properties

NOW = 1_000_000


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 1 << 32),
    rounds=st.lists(st.tuples(st.integers(1, 25), st.sampled_from((0, 1, 999, 1_000, 5_000))), min_size=1, max_size=4),
    segment_bytes=st.sampled_from((200, 400, 1_000)),
    lag_ms=st.sampled_from((0, NOW - 1_020)),
)
def test_what_survives_is_what_the_model_says(
    seed: int, rounds: list[tuple[int, int]], segment_bytes: int, lag_ms: int
) -> None:
    """CLN-04 to CLN-11."""
    disk, rng, now = MemoryDisk(), Random(seed), NOW
    log = KeyedLog(disk, segment_bytes, delete_retention_ms=1_000, min_compaction_lag_ms=lag_ms)
    for count, later_ms in rounds:
        now += later_ms
        write_at_random(log, rng, count)
        if not log.batches:
            continue
        end, stable = log.log.end_offset, log.limit(now)
        kept = [batch.data for batch in batches_in(log.log) if batch.header.base_offset >= stable]
        before, clean_to = log.clean_to, log.clean(now)
        assert survivors(log.log) == log.expected()
        assert log.log.end_offset == end
        assert clean_to >= stable or clean_to == before
        headers = [batch.header for batch in batches_in(log.log)]
        assert all(one.next_offset <= after.base_offset for one, after in pairwise(headers))
        assert kept == [batch.data for batch in batches_in(log.log) if batch.header.base_offset >= stable]
    _check_restart(log, disk)


def _check_restart(log: KeyedLog, disk: MemoryDisk) -> None:
    """Without any snapshot the batches that are left say the last sequence of every producer."""
    for name in disk.list_directory(DIRECTORY):
        if name.endswith(".snapshot"):
            disk.remove(f"{DIRECTORY}/{name}")
    again = log.reopened(disk.survivors("everything"))
    assert (again.end_offset, survivors(again)) == (log.log.end_offset, survivors(log.log))
    for producer, entry in log.log.producers.items():
        assert again.producers[producer].last_sequence == entry.last_sequence
        assert again.producers[producer].transaction_first_offset == entry.transaction_first_offset
