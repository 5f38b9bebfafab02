"""The state of one partition for one share group, as its leader has last said it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.coordinator.share_state.combining import StateBatch, combined
from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass, replace

UNKNOWN_OFFSET: Final = -1
NO_EPOCH: Final = -1
NO_COUNT: Final = -1


@dataclass(frozen=True, slots=True)
class ShareKey:
    group_id: str
    topic_id: Uuid
    partition: int

    def __str__(self) -> str:
        """What its place in the topic is reckoned from."""
        return f"{self.group_id}:{self.topic_id}:{self.partition}"

    @classmethod
    def parse(cls, text: str) -> ShareKey:
        """`group:topic id:partition`. Raises ValueError."""
        group_id, topic, partition = text.rstrip(":").rsplit(":", 2)
        if not group_id.strip() or not partition.removeprefix("-").removeprefix("+").isdecimal():
            raise ValueError(f"not group:topicId:partition: {text!r}")
        index = int(partition)
        if not -(1 << 31) <= index < 1 << 31:
            raise ValueError(f"the partition does not fit: {text!r}")
        return cls(group_id, Uuid.parse(topic), index)


@dataclass(frozen=True, slots=True)
class ShareState:
    snapshot_epoch: int
    """How many snapshots there were before."""
    state_epoch: int
    leader_epoch: int
    start_offset: int
    complete_count: int
    """Of records at or after the start that need no delivery any more."""
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...] = ()


@dataclass(frozen=True, slots=True)
class ShareUpdate:
    """What has changed since the snapshot of this epoch."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    complete_count: int
    batches: tuple[StateBatch, ...] = ()


def first_of(update: ShareUpdate) -> ShareState:
    """An update without a snapshot before it."""
    return ShareState(
        snapshot_epoch=update.snapshot_epoch,
        state_epoch=NO_EPOCH,
        leader_epoch=update.leader_epoch,
        start_offset=update.start_offset,
        complete_count=update.complete_count,
        created_ms=0,
        written_ms=0,
        batches=update.batches,
    )


def updated(state: ShareState, update: ShareUpdate) -> ShareState:
    start = state.start_offset if update.start_offset == UNKNOWN_OFFSET else update.start_offset
    return replace(
        state,
        leader_epoch=state.leader_epoch if update.leader_epoch == NO_EPOCH else update.leader_epoch,
        start_offset=start,
        complete_count=update.complete_count,
        batches=merged(state.batches, update.batches, start),
    )


def merged(so_far: Iterable[StateBatch], new: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """From the start on; -1: everything."""
    both = [*so_far, *new]
    if start_offset != UNKNOWN_OFFSET:
        both = [replace(each, first=max(each.first, start_offset)) for each in both if each.last >= start_offset]
    return combined(both)
