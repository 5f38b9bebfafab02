"""Members of a streams group that go: by themselves, or because they are too late; and the group's own clocks."""

from __future__ import annotations

from controller_runtime.coordinator.consumer.values import REBALANCE, SESSION
from controller_runtime.coordinator.streams import records
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.members import MemberState, StreamsMember
from controller_runtime.coordinator.streams.values import FIRST_REBALANCE, StreamsChange, StreamsWorld


def gone(group: StreamsGroup, member: StreamsMember) -> StreamsChange:
    """It is a member no more; the next heartbeat of another one assigns anew."""
    change = StreamsChange(group, list(records.member_gone(group.group_id, member.member_id)))
    change.records.append(
        records.epoch(group.group_id, group.epoch + 1, group.metadata_hash, group.validated_epoch, dict(group.configs))
    )
    _stop(change, member.member_id)
    return change


def is_late(group: StreamsGroup, member_id: str, kind: str) -> StreamsMember | None:
    """Whose clock has run out; None: it does not matter any more."""
    member = group.members.get(member_id)
    if member is None or (kind == REBALANCE and member.state is not MemberState.UNREVOKED):
        return None
    return member


def begun(group: StreamsGroup, world: StreamsWorld) -> StreamsChange:
    """It is coordinated here from now on: every member has a whole session before it."""
    change, timeout_ms = StreamsChange(group), world.pace(group.group_id).times.session_timeout_ms
    for member in group.members.values():
        change.set_clock(SESSION, member.member_id, timeout_ms)
        if member.state is MemberState.UNREVOKED:
            change.set_clock(REBALANCE, member.member_id, member.rebalance_timeout_ms)
    return change


def stopped(group: StreamsGroup) -> StreamsChange:
    """Nothing happens to it here any more."""
    change = StreamsChange(group)
    change.stop_clock(FIRST_REBALANCE, "")
    for member_id in group.members:
        _stop(change, member_id)
    return change


def _stop(change: StreamsChange, member_id: str) -> None:
    change.stop_clock(SESSION, member_id)
    change.stop_clock(REBALANCE, member_id)
