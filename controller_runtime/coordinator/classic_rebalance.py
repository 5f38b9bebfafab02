"""How a round of a classic group goes: everybody joins again, a generation begins, everybody is told its assignment.

Members join until all have, or until the largest rebalance timeout is over; the first ones of a group are waited for a
little longer (`group.initial.rebalance.delay.ms`). Who has not joined is no member any more, unless it is static; who
does not ask for its assignment in time, neither.
"""

from __future__ import annotations

from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_values import Effects, State, Store, TimerKind
from controller_runtime.coordinator.group_answers import sync_refused
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.protocol.errors import ErrorCode


def prepare(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    """Everybody is to join again."""
    out = refuse_sync(group, ErrorCode.REBALANCE_IN_PROGRESS, now) if group.state is State.COMPLETING else []
    group.timers.cancel(group.timer(TimerKind.SYNC))
    is_first = group.state is State.EMPTY
    group.enter(State.PREPARING, wall)
    if is_first:
        delay = group.settings.initial_rebalance_delay_ms
        group.initial_left_ms, group.new_member_added = max(0, group.members.rebalance_timeout_ms - delay), False
        group.timers.schedule(group.timer(TimerKind.JOIN), Instant(now + delay / 1000))
        return out
    if group.members.all_joined:
        return out + _complete(group, now, wall)
    _wait_for_joins(group, now)
    return out


def _wait_for_joins(group: ClassicGroup, now: Instant) -> None:
    at = Instant(now + group.members.rebalance_timeout_ms / 1000)
    group.timers.schedule(group.timer(TimerKind.JOIN), at)


def complete_if_joined(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    waits = group.state is not State.PREPARING or group.initial_left_ms is not None
    return [] if waits or not group.members.all_joined else _complete(group, now, wall)


def _complete(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    """The generation begins with those who have joined, and with static members that have not."""
    group.timers.cancel(group.timer(TimerKind.JOIN))
    group.initial_left_ms = None
    late = [each for each in group.members.by_id.values() if each.joining is None and each.instance_id is None]
    for member in late:
        group.forget(member.member_id)
    if not group.members.elect_joined_leader() and group.members.by_id:
        _wait_for_joins(group, now)  # Nobody is here: sessions end, or somebody comes.
        return []
    group.generation += 1
    group.unsynced.clear()
    if not group.members.by_id:
        group.protocol = None
        group.enter(State.EMPTY, wall)
        group.note_subscriptions()
        return [Store(group.written({}))]
    group.protocol = group.members.elect_protocol()
    group.enter(State.COMPLETING, wall)
    group.note_subscriptions()
    sync_until = Instant(now + group.members.rebalance_timeout_ms / 1000)
    group.timers.schedule(group.timer(TimerKind.SYNC), sync_until)
    out: Effects = []
    for member in group.members.by_id.values():
        group.unsynced.add(member.member_id)
        if member.joining is not None:
            out.append(group.joined(member.joining, member))
        member.joining, member.is_new = None, False
        group.renew(member, now)
    return out


def has_synced(group: ClassicGroup, member_id: str) -> None:
    group.unsynced.discard(member_id)
    if not group.unsynced:
        group.timers.cancel(group.timer(TimerKind.SYNC))


def refuse_sync(group: ClassicGroup, error: ErrorCode, now: Instant) -> Effects:
    """Nobody has an assignment any more."""
    out: Effects = []
    for member in group.members.by_id.values():
        member.assignment = b""
        if member.syncing is not None:
            out.append(sync_refused(member.syncing, error))
            member.syncing = None
            group.renew(member, now)
    return out


def propagate(group: ClassicGroup, now: Instant) -> Effects:
    out: Effects = []
    for member in group.members.by_id.values():
        if member.syncing is not None:
            out.append(group.synced(member.syncing, member))
            member.syncing = None
            group.renew(member, now)
    return out


def go_on(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    return complete_if_joined(group, now, wall) if group.state is State.PREPARING else prepare(group, now, wall)


def after_loss(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    return [] if group.state is State.EMPTY else go_on(group, now, wall)


def join_time_over(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    left = group.initial_left_ms
    if left is not None and group.new_member_added and left > 0:
        delay = min(group.settings.initial_rebalance_delay_ms, left)
        group.new_member_added, group.initial_left_ms = False, left - delay
        group.timers.schedule(group.timer(TimerKind.JOIN), Instant(now + delay / 1000))
        return []
    return _complete(group, now, wall)
