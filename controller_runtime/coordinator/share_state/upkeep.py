"""What is due by itself: states of topics that are gone are forgotten, what nobody changes gets a snapshot, so that the
log can begin where the oldest snapshot lies.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from controller_runtime.coordinator.share_state.partition import BeginAt, Effect, SharePartition
from controller_runtime.coordinator.share_state.records import ShareRecord
from controller_runtime.identifiers import Instant, Uuid, WallClock
from controller_runtime.parts.pieces import InPieces
from controller_runtime.values import replace

_AT_ONCE: Final = 100


def forget_topics(partition: SharePartition, gone: Collection[Uuid], wall: WallClock) -> InPieces[Effect, None]:
    for key in list(partition.entries):
        yield None
        if key.topic_id in gone and key in partition.entries:
            # What the log does not take now stays, as in Kafka.
            partition.store([ShareRecord(key, None)], wall)


def snapshot_cold(partition: SharePartition, wall: WallClock) -> InPieces[Effect, None]:
    """Those without a snapshot for `share.coordinator.cold.partition.snapshot.interval.ms`."""
    entries = list(partition.entries.items())
    is_any_warm = False
    for _, entry in entries:
        yield None
        is_any_warm = is_any_warm or entry.state.created_ms == entry.state.written_ms
    if not is_any_warm:
        return
    for begin in range(0, len(entries), _AT_ONCE):
        records: list[ShareRecord] = []
        for key, _ in entries[begin : begin + _AT_ONCE]:
            now = partition.entries.get(key)
            if now is not None and wall - now.state.written_ms >= partition.settings.cold_interval_ms:
                state = replace(now.state, snapshot_epoch=now.state.snapshot_epoch + 1, written_ms=wall)
                records.append(ShareRecord(key, state))
        if records and partition.store(records, wall):
            return
        yield None


def prune(partition: SharePartition, now: Instant) -> InPieces[Effect, None]:
    """When all that is known now is committed, nothing before the oldest snapshot is needed."""
    least = partition.last_snapshot
    for entry in list(partition.entries.values()):
        least = min(least, entry.snapshot_offset)
        yield None
    if least > partition.pruned_to:
        partition.pruned_to = least
        yield from partition.when_committed(BeginAt(partition.index, least), now)
