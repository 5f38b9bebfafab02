"""What a classic group does when it is asked, and when time passes: members join, one assigns, all are told.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable
               ^_______________________|________________|

Members join until all have, or until the largest rebalance timeout is over; the generation grows; the leader sends the
assignment, which is written down before anybody is told. Everything but that is only in memory: a coordinator that
takes the group over knows it as it was written last, and members that it does not know join again (KIP-62, KIP-345,
KIP-394). The decisions, their order and their codes are those of Apache Kafka's group coordinator.

What a group wants is in its effects: answers, and what is to be written (`Store`). Whoever performs them tells the
group what became of what it stored. Timers belong to all groups of a partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_members import Asked, Joining, Member
from controller_runtime.coordinator.classic_rebalance import (
    after_loss,
    complete_if_joined,
    go_on,
    has_synced,
    join_time_over,
    prepare,
    propagate,
    refuse_sync,
)
from controller_runtime.coordinator.classic_values import (
    AssignmentStored,
    Effects,
    ReplacementStored,
    State,
    Store,
    Stored,
    Timer,
    TimerKind,
)
from controller_runtime.coordinator.group_answers import heartbeat, join_refused, sync_refused
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest

NEW_MEMBER_TIMEOUT_S: Final = 300.0
"""How long a member that joins for the first time is waited for: it sends no heartbeats, and its connection may be
gone.
"""
_FIRST_JOIN_WITH_KNOWN_ID: Final = 4
_FIRST_JOIN_THAT_SKIPS: Final = 9


def begin(group: ClassicGroup, now: Instant, wall: WallClock) -> Effects:
    """Its partition was loaded: every member has a whole session before it."""
    for member in group.members.by_id.values():
        group.renew(member, now)
    if len(group.members.by_id) > group.settings.max_size:
        return prepare(group, now, wall)
    return []


def join(group: ClassicGroup, joining: Joining, now: Instant, wall: WallClock) -> Effects:
    if not _has_room(group, joining.member_id):
        group.forget(joining.member_id)
        return [join_refused(joining.asked, ErrorCode.GROUP_MAX_SIZE_REACHED)]
    if not _supports(group, joining):
        return [join_refused(joining.asked, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, joining.member_id)]
    if joining.member_id:
        return _join_known(group, joining, now, wall)
    if joining.instance_id is not None:
        old_id = group.members.static_ids.get(joining.instance_id)
        if old_id is not None:
            return _replace(group, joining, old_id, now, wall)
    elif joining.asked.version >= _FIRST_JOIN_WITH_KNOWN_ID:
        group.members.pending.add(joining.new_member_id)
        group.schedule_session(joining.new_member_id, joining.session_timeout_ms, now)
        return [join_refused(joining.asked, ErrorCode.MEMBER_ID_REQUIRED, joining.new_member_id)]
    return _add(group, joining, joining.new_member_id, now, wall)


def _has_room(group: ClassicGroup, member_id: str) -> bool:
    known = group.members.by_id.get(member_id)
    match group.state:
        case State.EMPTY:
            return True
        case State.PREPARING:
            is_waiting = known is not None and known.joining is not None
            return is_waiting or group.members.joining_count < group.settings.max_size
        case State.COMPLETING | State.STABLE:
            return known is not None or len(group.members.by_id) < group.settings.max_size
        case _ as unknown:
            assert_never(unknown)


def _supports(group: ClassicGroup, joining: Joining) -> bool:
    if not joining.protocol_type or not joining.protocols:
        return False
    if group.state is State.EMPTY or not group.members.by_id:
        return True
    return joining.protocol_type == group.protocol_type and group.members.supports(joining.protocols)


def _join_known(group: ClassicGroup, joining: Joining, now: Instant, wall: WallClock) -> Effects:
    member_id = joining.member_id
    if member_id in group.members.pending:
        return _add(group, joining, member_id, now, wall)
    error = group.members.judge(member_id, joining.instance_id)
    if error:
        return [join_refused(joining.asked, error, member_id)]
    member = group.members.by_id[member_id]
    is_same, is_leader = member.protocols == joining.protocols, group.members.leader == member_id
    if group.state is State.EMPTY:
        return [join_refused(joining.asked, ErrorCode.UNKNOWN_MEMBER_ID, member_id)]
    if group.state is State.COMPLETING and is_same:
        return [group.joined(joining.asked, member)]
    if group.state is State.STABLE and is_same and not is_leader:
        return [group.joined(joining.asked, member)]
    out = _update(member, joining)
    return out + go_on(group, now, wall)


def _add(group: ClassicGroup, joining: Joining, member_id: str, now: Instant, wall: WallClock) -> Effects:
    if group.initial_left_ms is not None:
        group.new_member_added = True
    member = Member(
        member_id,
        joining.instance_id,
        joining.client_id,
        joining.client_host,
        session_timeout_ms=joining.session_timeout_ms,
        rebalance_timeout_ms=joining.rebalance_timeout_ms,
        protocols=joining.protocols,
        joining=joining.asked,
        is_new=True,
    )
    if not group.members.by_id:
        group.protocol_type = joining.protocol_type
    group.members.add(member)
    group.timers.schedule(group.session(member_id), Instant(now + NEW_MEMBER_TIMEOUT_S))
    return go_on(group, now, wall)


def _update(member: Member, joining: Joining) -> Effects:
    """What it said before does not count any more; nor does a request of it that still waits."""
    out: Effects = []
    if member.joining is not None and member.joining != joining.asked:
        out.append(join_refused(member.joining, ErrorCode.UNKNOWN_MEMBER_ID))
    member.protocols, member.joining = joining.protocols, joining.asked
    member.session_timeout_ms = joining.session_timeout_ms
    member.rebalance_timeout_ms = joining.rebalance_timeout_ms
    return out


def _replace(group: ClassicGroup, joining: Joining, old_id: str, now: Instant, wall: WallClock) -> Effects:
    """KIP-345: a static member is back, in another process."""
    member, old_leader = group.members.by_id[old_id], group.members.leader or ""
    before = _copy(member)
    out: Effects = []
    if member.joining is not None:
        out.append(join_refused(member.joining, ErrorCode.FENCED_INSTANCE_ID, old_id))
    if member.syncing is not None:
        out.append(sync_refused(member.syncing, ErrorCode.FENCED_INSTANCE_ID))
    member.joining = member.syncing = None
    new_id = joining.new_member_id
    group.members.rename(old_id, new_id)
    group.timers.cancel(group.session(old_id))
    group.renew(member, now)
    _update(member, joining)
    match group.state:
        case State.STABLE if group.members.elect_protocol() == group.protocol:
            stored = ReplacementStored(joining.asked, before, new_id, old_leader)
            return [*out, Store(group.written(group.assignments()), stored)]
        case State.STABLE | State.COMPLETING:
            return out + prepare(group, now, wall)
        case State.PREPARING:
            return out + complete_if_joined(group, now, wall)
        case State.EMPTY:
            raise AssertionError("a group with members is not empty")
        case _ as unknown:
            assert_never(unknown)


def sync(group: ClassicGroup, asked: Asked, request: SyncGroupRequest, now: Instant) -> Effects:
    error = group.judge(request.member_id, request.group_instance_id, request.generation_id)
    if not error:
        named = ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol))
        if any(said is not None and said != known for said, known in named):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not error and group.state is State.PREPARING:
        error = ErrorCode.REBALANCE_IN_PROGRESS
    if error:
        return [sync_refused(asked, error)]
    member = group.members.by_id[request.member_id]
    has_synced(group, member.member_id)
    if group.state is State.STABLE:
        group.renew(member, now)
        return [group.synced(asked, member)]
    out: Effects = []
    if member.syncing is not None:
        out.append(sync_refused(member.syncing, ErrorCode.UNKNOWN_MEMBER_ID))
    member.syncing = asked
    if member.member_id != group.members.leader:
        return out
    given = {each.member_id: each.assignment for each in request.assignments}
    assignments = tuple((each, given.get(each, b"")) for each in group.members.by_id)
    return [*out, Store(group.written(dict(assignments)), AssignmentStored(group.generation, assignments))]


def beat(group: ClassicGroup, asked: Asked, request: HeartbeatRequest, now: Instant) -> Effects:
    error = group.judge(request.member_id, request.group_instance_id, request.generation_id)
    if not error:
        group.renew(group.members.by_id[request.member_id], now)
        if group.state is State.PREPARING:
            error = ErrorCode.REBALANCE_IN_PROGRESS
    return [heartbeat(asked, error)]


def leave(
    group: ClassicGroup, leaving: Sequence[tuple[str, str | None]], now: Instant, wall: WallClock
) -> tuple[list[ErrorCode], Effects]:
    """Member and instance ids; an administrator names an instance alone. What each is told, and what follows."""
    codes, out, has_gone = [], [], False
    for named_id, instance_id in leaving:
        member_id, error = named_id, ErrorCode.NONE
        if not named_id:
            member_id = group.members.static_ids.get(instance_id or "", "")
            error = ErrorCode.NONE if member_id else ErrorCode.UNKNOWN_MEMBER_ID
        elif named_id not in group.members.pending:
            error = group.members.judge(named_id, instance_id)
        if not error:
            out += group.dismiss(member_id)
            has_gone = True
        codes.append(error)
    return codes, out + (after_loss(group, now, wall) if has_gone else [])


def judge_commit(
    group: ClassicGroup, member_id: str, instance_id: str | None, generation: int, *, in_transaction: bool = False
) -> ErrorCode:
    """Who may commit offsets: members of this generation; nobody's offsets only while the group is empty. A transaction
    may commit while the group is rebalanced, and as nobody, as old producers do.
    """
    if generation < 0 and group.state is State.EMPTY:
        return ErrorCode.NONE
    if generation >= 0 or member_id or instance_id is not None:
        error = group.judge(member_id, instance_id, generation)
        if error:
            return error
    elif group.state is not State.EMPTY and not in_transaction:
        return ErrorCode.UNKNOWN_MEMBER_ID
    is_closed = group.state is State.COMPLETING and not in_transaction
    return ErrorCode.REBALANCE_IN_PROGRESS if is_closed else ErrorCode.NONE


def has_committed(group: ClassicGroup, member_id: str, now: Instant) -> None:
    """Commits keep a session alive as heartbeats do."""
    member = group.members.by_id.get(member_id)
    if member is not None and group.state in (State.STABLE, State.PREPARING):
        group.renew(member, now)


def on_stored(group: ClassicGroup, stored: Stored, error: ErrorCode, now: Instant, wall: WallClock) -> Effects:
    match stored:
        case AssignmentStored(generation, assignments):
            if group.state is not State.COMPLETING or generation != group.generation:
                return []  # Somebody has joined meanwhile.
            if error:
                return refuse_sync(group, error, now) + go_on(group, now, wall)
            for member_id, assignment in assignments:
                if member_id in group.members.by_id:
                    group.members.by_id[member_id].assignment = assignment
            group.enter(State.STABLE, wall)
            return propagate(group, now)
        case ReplacementStored():
            return _on_replaced(group, stored, error, now)
        case _ as unknown:
            assert_never(unknown)


def _on_replaced(group: ClassicGroup, stored: ReplacementStored, error: ErrorCode, now: Instant) -> Effects:
    member = group.members.by_id.get(stored.new_id)
    if member is None or member.joining != stored.asked:
        return []  # It was answered meanwhile: it has left, or another rebalance began.
    member.joining = None
    if error:
        group.timers.cancel(group.session(stored.new_id))
        old = group.members.rename(stored.new_id, stored.old.member_id)
        old.protocols = stored.old.protocols
        old.session_timeout_ms, old.rebalance_timeout_ms = (
            stored.old.session_timeout_ms,
            stored.old.rebalance_timeout_ms,
        )
        group.renew(old, now)
        return [join_refused(stored.asked, error)]
    group.renew(member, now)
    if stored.asked.version >= _FIRST_JOIN_THAT_SKIPS:
        return [group.joined(stored.asked, member, skip=group.members.leader == member.member_id)]
    return [group.joined(stored.asked, member, leader=stored.old_leader)]


def on_timer(group: ClassicGroup, timer: Timer, now: Instant, wall: WallClock) -> Effects:
    match timer.kind:
        case TimerKind.SESSION:
            return _session_over(group, timer.member_id, now, wall)
        case TimerKind.JOIN:
            return join_time_over(group, now, wall)
        case TimerKind.SYNC:
            late = [each for each in group.members.by_id if each in group.unsynced]
            out = [effect for member_id in late for effect in group.dismiss(member_id)]
            return out + prepare(group, now, wall) if late else out
        case TimerKind.REBALANCE | TimerKind.FIRST_REBALANCE:
            return []  # It was of the group before, which was of another protocol.
        case _ as unknown:
            assert_never(unknown)


def _session_over(group: ClassicGroup, member_id: str, now: Instant, wall: WallClock) -> Effects:
    member = group.members.by_id.get(member_id)
    if member is None:
        was_pending = member_id in group.members.pending
        group.members.pending.discard(member_id)
        return complete_if_joined(group, now, wall) if was_pending else []
    if not member.is_new and (member.joining is not None or member.syncing is not None):
        return []  # It waits for us.
    return group.dismiss(member_id) + after_loss(group, now, wall)


def _copy(member: Member) -> Member:
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=member.protocols,
    )
