"""One group of the classic protocol as it is: its state, its members, and what it says of itself.

How it changes is decided in `classic_requests` and `classic_rebalance`. Timers belong to all groups of a partition.
"""

from __future__ import annotations

from controller_runtime.coordinator.classic_members import CONSUMER, Asked, Member, Members
from controller_runtime.coordinator.classic_values import Effects, State, Timer, TimerKind
from controller_runtime.coordinator.group_answers import join_refused, sync_refused
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.timers import Timers
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from controller_runtime.protocol.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from controller_runtime.protocol.messages.sync_group_response import SyncGroupResponse


class ClassicGroup:
    def __init__(self, group_id: str, settings: GroupSettings, timers: Timers[Timer]) -> None:
        self.group_id = group_id
        self.settings = settings
        self.timers = timers
        self.state = State.EMPTY
        self.state_since: int | None = None
        """Milliseconds since 1970."""
        self.members = Members()
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.subscribed: frozenset[str] | None = frozenset()
        self.unsynced: set[str] = set()
        """Members of this generation that have not asked for their assignment."""
        self.initial_left_ms: int | None = None
        """While the first members of a group are waited for: how much longer that may take."""
        self.new_member_added = False

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    def load(self, value: GroupMetadataValue) -> None:
        members = Members(leader=value.leader)
        for each in value.members:
            rebalance = each.rebalance_timeout if each.rebalance_timeout >= 0 else each.session_timeout
            members.add(
                Member(
                    each.member_id,
                    each.group_instance_id,
                    each.client_id,
                    each.client_host,
                    session_timeout_ms=each.session_timeout,
                    rebalance_timeout_ms=rebalance,
                    protocols=((value.protocol or "", each.subscription),),
                    assignment=each.assignment,
                )
            )
        self.members, self.generation = members, value.generation
        self.protocol_type, self.protocol = value.protocol_type or None, value.protocol
        self.state = State.STABLE if value.members else State.EMPTY
        self.state_since = value.current_state_timestamp if value.current_state_timestamp >= 0 else None
        self.note_subscriptions()

    def dismiss_all(self, error: ErrorCode) -> Effects:
        """The group is not coordinated here any more: whoever waits looks for its coordinator."""
        out: Effects = []
        for member in self.members.by_id.values():
            if member.joining is not None:
                out.append(join_refused(member.joining, error, member.member_id))
            if member.syncing is not None:
                out.append(sync_refused(member.syncing, error))
            member.joining = member.syncing = None
        return out

    def stop_timers(self) -> None:
        """Nothing happens to it any more."""
        for member_id in (*self.members.by_id, *self.members.pending):
            self.timers.cancel(self.session(member_id))
        for kind in (TimerKind.JOIN, TimerKind.SYNC):
            self.timers.cancel(self.timer(kind))

    def judge(self, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
        error = self.members.judge(member_id, instance_id)
        return error or (ErrorCode.NONE if generation == self.generation else ErrorCode.ILLEGAL_GENERATION)

    def dismiss(self, member_id: str) -> Effects:
        """It is no member any more; what it waits for is answered."""
        member = self.members.by_id.get(member_id)
        out: Effects = []
        if member is not None and member.joining is not None:
            out.append(join_refused(member.joining, ErrorCode.UNKNOWN_MEMBER_ID))
        if member is not None and member.syncing is not None:
            out.append(sync_refused(member.syncing, ErrorCode.UNKNOWN_MEMBER_ID))
        self.forget(member_id)
        return out

    def forget(self, member_id: str) -> None:
        self.members.remove(member_id)
        self.unsynced.discard(member_id)
        self.timers.cancel(self.session(member_id))

    def enter(self, state: State, wall: WallClock) -> None:
        self.state, self.state_since = state, wall

    def note_subscriptions(self) -> None:
        is_known = self.protocol_type == CONSUMER and self.protocol is not None and bool(self.members.by_id)
        self.subscribed = self.members.subscribed_topics(self.protocol) if is_known else frozenset()

    def timer(self, kind: TimerKind) -> Timer:
        return Timer(kind, self.group_id)

    def session(self, member_id: str) -> Timer:
        return Timer(TimerKind.SESSION, self.group_id, member_id)

    def renew(self, member: Member, now: Instant) -> None:
        self.schedule_session(member.member_id, member.session_timeout_ms, now)

    def schedule_session(self, member_id: str, timeout_ms: int, now: Instant) -> None:
        self.timers.schedule(self.session(member_id), Instant(now + timeout_ms / 1000))

    def assignments(self) -> dict[str, bytes]:
        return {member_id: member.assignment for member_id, member in self.members.by_id.items()}

    def joined(self, asked: Asked, member: Member, *, skip: bool = False, leader: str | None = None) -> Respond:
        """Only the leader is told who the others are. `leader`: to be named instead of the one there is."""
        leader_id = self.members.leader if leader is None else leader
        is_told = leader is None and member.member_id == leader_id
        answer = JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=leader_id or "",
            skip_assignment=skip,
            member_id=member.member_id,
            members=tuple(
                JoinGroupResponseMember(
                    member_id=each.member_id,
                    group_instance_id=each.instance_id,
                    metadata=each.metadata(self.protocol),
                )
                for each in self.members.by_id.values()
            )
            if is_told
            else (),
        )
        return Respond(asked.request_id, answer)

    def synced(self, asked: Asked, member: Member) -> Respond:
        answer = SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol, assignment=member.assignment
        )
        return Respond(asked.request_id, answer)

    def written(self, assignments: dict[str, bytes]) -> GroupMetadataValue:
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.members.leader,
            current_state_timestamp=-1 if self.state_since is None else self.state_since,
            members=tuple(
                MemberMetadata(
                    member_id=each.member_id,
                    group_instance_id=each.instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    rebalance_timeout=each.rebalance_timeout_ms,
                    session_timeout=each.session_timeout_ms,
                    subscription=each.metadata(self.protocol),
                    assignment=assignments.get(each.member_id, b""),
                )
                for each in self.members.by_id.values()
            ),
        )
