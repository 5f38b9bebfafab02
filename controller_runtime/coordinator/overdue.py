"""Clocks of share groups and streams groups: those that begin and end with the coordinator, and what comes of one that
has run out.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.coordinator.classic_values import Timer, TimerKind
from controller_runtime.coordinator.consumer.values import Change
from controller_runtime.coordinator.share import heartbeats as sharing
from controller_runtime.coordinator.share.group import ShareGroup, ShareGroups
from controller_runtime.coordinator.share.values import ShareChange, ShareWorld
from controller_runtime.coordinator.streams import departures as streaming
from controller_runtime.coordinator.streams import targets
from controller_runtime.coordinator.streams.group import StreamsGroup, StreamsGroups
from controller_runtime.coordinator.streams.values import StreamsChange, StreamsWorld

GroupChange = Change | ShareChange | StreamsChange
"""Of a group of another protocol than the classic one."""


def begun(
    shares: ShareGroups, streams: StreamsGroups, share_world: ShareWorld, streams_world: StreamsWorld
) -> Iterator[GroupChange]:
    """They are coordinated here from now on."""
    yield from (sharing.begun(each, share_world) for each in shares.by_id.values())
    yield from (streaming.begun(each, streams_world) for each in streams.by_id.values())


def stopped(shares: ShareGroups, streams: StreamsGroups) -> Iterator[GroupChange]:
    """Nothing happens to them here any more."""
    yield from (sharing.stopped(each) for each in shares.by_id.values())
    yield from (streaming.stopped(each) for each in streams.by_id.values())


def of_sharers(group: ShareGroup, timer: Timer, world: ShareWorld) -> ShareChange | None:
    late = group.members.get(timer.member_id)
    return None if late is None else sharing.gone(group, late, world)


def of_streams(group: StreamsGroup, timer: Timer, world: StreamsWorld) -> StreamsChange | None:
    if timer.kind is TimerKind.FIRST_REBALANCE:
        return targets.first(group, world)
    late = streaming.is_late(group, timer.member_id, timer.kind)
    return None if late is None else streaming.gone(group, late)
