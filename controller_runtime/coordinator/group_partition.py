"""One partition of `__consumer_offsets` that is led here: its groups, their offsets, and who waits for the log.

What is decided is appended first, and counts as soon as the log has taken it; it is told when it is committed. So a
write that the log refuses has changed nothing, and one that waits too long is answered as such, whatever becomes of it
later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any, Final, assert_never

from controller_runtime.coordinator import classic_requests as classic
from controller_runtime.coordinator import overdue
from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_rebalance import prepare
from controller_runtime.coordinator.classic_values import GroupEffect, Store, Timer, TimerKind
from controller_runtime.coordinator.committed_offsets import CommittedOffsets
from controller_runtime.coordinator.consumer import departures, targets
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.consumer.members import ConsumerMember
from controller_runtime.coordinator.consumer.metadata_hash import TopicHashes
from controller_runtime.coordinator.consumer.record_shapes import EpochKey
from controller_runtime.coordinator.consumer.values import Change, World
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.log_waits import (
    Answer,
    Gathering,
    GroupStored,
    PartStored,
    StatesGone,
    Then,
    Waiting,
    told_of,
)
from controller_runtime.coordinator.member_exits import gone
from controller_runtime.coordinator.offsets_records import (
    GroupLogRecord,
    GroupRecord,
    OffsetRecord,
    OtherRecord,
    batch_of,
)
from controller_runtime.coordinator.overdue import GroupChange
from controller_runtime.coordinator.ports import OffsetsTopic
from controller_runtime.coordinator.share.group import ShareGroups
from controller_runtime.coordinator.share.records import ShareGroupRecord
from controller_runtime.coordinator.share.values import AnswerLater, ShareChange, ShareWorld, StatesWanted
from controller_runtime.coordinator.streams.group import StreamsGroups
from controller_runtime.coordinator.streams.records import StreamsRecord
from controller_runtime.coordinator.streams.values import StreamsChange, StreamsWorld
from controller_runtime.coordinator.timers import Timers
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass, field

Responds = list[Respond]

_AGAIN_S: Final = 1.0
"""Until a member that is late is looked at again, when the log has not taken that it is gone."""


@dataclass(slots=True)
class GroupPartition:
    index: int
    settings: GroupSettings
    topic: OffsetsTopic
    timers: Timers[Timer]
    """Of all partitions."""
    hashes: TopicHashes
    """Of all partitions."""
    groups: dict[str, ClassicGroup] = field(default_factory=dict)
    """Of the classic protocol, and those that only commit."""
    consumers: dict[str, ConsumerGroup] = field(default_factory=dict)
    """Of the consumer protocol: a group is here or there."""
    shares: ShareGroups = field(default_factory=ShareGroups)
    """Of the share protocol."""
    streams: StreamsGroups = field(default_factory=StreamsGroups)
    """Of Kafka Streams."""
    offsets: CommittedOffsets = field(default_factory=CommittedOffsets)
    end_offset: int = 0
    """Of what was written here."""
    committed_offset: int = 0
    """How far the log was committed when that was said last."""
    is_loaded: bool = False
    has_resigned: bool = False
    """Another one may have its place: it writes nothing any more."""
    fault: str = ""
    """Why its records cannot be read; it serves nothing then."""
    works: list[InPieces[Respond, None]] = field(default_factory=list)
    """What takes long."""
    gathered: list[Gathering] = field(default_factory=list)
    """Whose last part is there."""
    wanted: list[StatesWanted | StatesGone] = field(default_factory=list)
    """Of the share coordinator."""
    _waiting: deque[Waiting] = field(default_factory=deque)

    # From the log.

    def replay(self, record: GroupLogRecord, at: int) -> None:
        """While it is loaded."""
        if isinstance(record, OffsetRecord):
            self.offsets.replay(record, at)
        elif not isinstance(record, GroupRecord):
            self._replay_other(record)
        elif record.value is None:
            self.groups.pop(record.group_id, None)
        else:
            group = self.groups[record.group_id] = self.new_group(record.group_id)
            group.load(record.value)

    def begin(self, now: Instant, wall: WallClock) -> Responds:
        """Everything is replayed: groups live from now on."""
        for group_id in self.offsets.groups():
            if group_id not in self.consumers and group_id not in self.streams.by_id:
                self.group_of(group_id)
        self.is_loaded = True
        out: Responds = []
        for group in list(self.groups.values()):
            out += self.perform(group, classic.begin(group, now, wall), now, wall)
        for consumers in self.consumers.values():
            self._set_clocks(departures.begun(consumers, self.world(wall)), now)
        worlds = self.share_world(wall), self.streams_world("", wall)
        for change in overdue.begun(self.shares, self.streams, *worlds):
            self._set_clocks(change, now)
        return out

    def _replay_other(self, record: OtherRecord, wall: WallClock = WallClock(0)) -> None:
        """Of a group of another protocol than the classic one. A tombstone makes no group."""
        if isinstance(record, ShareGroupRecord):
            self.shares.replay(record, wall)
        elif isinstance(record, StreamsRecord):
            self.streams.replay(record)
        elif (group := self.consumers.get(record.group_id)) is None and record.value is None:
            pass
        elif record.value is None and isinstance(record.key, EpochKey):
            del self.consumers[record.group_id]
        else:
            if group is None:
                group = self.consumers[record.group_id] = ConsumerGroup(record.group_id)
            group.replay(record)

    def world(self, wall: WallClock) -> World:
        topic = self.topic
        return World(
            topic.image,
            self.settings.consumer,
            self.hashes,
            wall,
            version=topic.version,
            topics_made_at=topic.topics_made_at,
        )

    def share_world(self, wall: WallClock) -> ShareWorld:
        return ShareWorld(self.topic.image, self.settings.share, self.hashes, wall)

    def streams_world(self, group_id: str, wall: WallClock) -> StreamsWorld:
        is_delayed = Timer(TimerKind.FIRST_REBALANCE, group_id) in self.timers
        return StreamsWorld(self.topic.image, self.settings.streams, self.hashes, wall, is_delayed)

    def group_of(self, group_id: str) -> ClassicGroup:
        """It is made if it is not there: a simple group, until somebody joins."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = self.new_group(group_id)
        return group

    def new_group(self, group_id: str) -> ClassicGroup:
        return ClassicGroup(group_id, self.settings, self.timers)

    def forget(self, group_id: str) -> None:
        """It is deleted."""
        self.timers.cancel(Timer(TimerKind.FIRST_REBALANCE, group_id))
        group = self.groups.pop(group_id, None)
        if group is not None:
            group.stop_timers()

    # To the log.

    def perform(self, group: ClassicGroup, effects: Sequence[GroupEffect], now: Instant, wall: WallClock) -> Responds:
        """What the group wants to be done, and what follows from that."""
        out: Responds = []
        for effect in effects:
            match effect:
                case Respond():
                    out.append(effect)
                case Store(value, stored):
                    then = None if stored is None else GroupStored(group.group_id, stored)
                    out += self.write([GroupRecord(group.group_id, value)], then, now, wall)
                case _ as unknown:
                    assert_never(unknown)
        return out

    def write(self, records: Sequence[GroupLogRecord], then: Then | None, now: Instant, wall: WallClock) -> Responds:
        """Append them as one batch; `then` is told when it is committed, or at once that it is refused."""
        error = self.append(records, wall)
        if error:
            return [] if then is None else self._tell(then, error, now, wall)
        return self.wait(then, now)

    def append(self, records: Sequence[GroupLogRecord], wall: WallClock) -> ErrorCode:
        """One batch, or why the log does not take it."""
        if self.has_resigned:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        found = self.topic.append(self.index, batch_of(records, wall, self.settings.topic_codec), wall)
        if isinstance(found, ErrorCode):
            return found
        first, self.end_offset = found - len(records), found
        for place, record in enumerate(records):
            if isinstance(record, OffsetRecord):
                self.offsets.replay(record, first + place, end_offset=found)
            elif not isinstance(record, GroupRecord):
                self._replay_other(record, wall)
        return ErrorCode.NONE

    def act(self, change: GroupChange, now: Instant, wall: WallClock, before: Sequence[GroupRecord] = ()) -> ErrorCode:
        """What was decided, or why the log does not take it. `before`: of the classic group that it was."""
        records: list[GroupLogRecord] = [*before, *change.records]
        error = self.append(records, wall) if records else ErrorCode.NONE
        if error:
            return error
        if before:
            self.forget(change.group_id)
        self._set_clocks(change, now)
        if isinstance(change, StreamsChange):
            change.noted()
            return ErrorCode.NONE
        group = self.consumers.get(change.group_id)
        seen = group or self.shares.by_id.get(change.group_id)
        if seen is not None and change.has_seen_topics:
            seen.is_stale = False
        if group is not None and isinstance(change, Change) and change.wants_target:
            group.is_assigning = True
            self.works.append(self._retarget(group, now, wall))
        return ErrorCode.NONE

    def _retarget(self, group: ConsumerGroup, now: Instant, wall: WallClock) -> InPieces[Respond, None]:
        def act(change: Change) -> None:
            if self.consumers.get(group.group_id) is group:
                self.act(change, now, wall)

        for _ in targets.in_pieces(group, self.world(wall), act):
            yield None

    def become_classic(
        self, group: ClassicGroup, records: Sequence[GroupLogRecord], now: Instant, wall: WallClock, *, rebalances: bool
    ) -> Responds | ErrorCode:
        """The group of the consumer protocol that has its name is this one from now on, if the log takes it."""
        stopped = departures.stopped(self.consumers[group.group_id])
        error = self.append(records, wall)
        if error:
            return error
        self._set_clocks(stopped, now)
        self.groups[group.group_id] = group
        for member in group.members.by_id.values():
            group.renew(member, now)
        return self.perform(group, prepare(group, now, wall), now, wall) if rebalances else []

    def exit(
        self, group: ConsumerGroup, members: Collection[ConsumerMember], now: Instant, wall: WallClock
    ) -> Responds | ErrorCode:
        """They are members of it no more, if the log takes it."""
        change, becomes = gone(group, members, self.world(wall), self.new_group(group.group_id), wall)
        if becomes is None:
            return self.act(change, now, wall) or []
        written = GroupRecord(group.group_id, becomes.written(becomes.assignments()))
        return self.become_classic(becomes, [*change.records, written], now, wall, rebalances=True)

    def _set_clocks(self, change: GroupChange, now: Instant) -> None:
        for clock in change.clocks:
            timer = Timer(TimerKind(clock.kind), change.group_id, clock.member_id)
            if clock.delay_ms is None:
                self.timers.cancel(timer)
            elif not clock.unless_set or timer not in self.timers:
                self.timers.schedule(timer, Instant(now + clock.delay_ms / 1000))

    def answered(self, answer: Answer, now: Instant) -> Responds:
        """When all that it may rest on is committed."""
        if self.committed_offset >= self.end_offset:
            return [Respond(answer.request_id, answer.body)]
        return self.wait(answer, now)

    def append_pending(
        self, records: Sequence[OffsetRecord], producer_id: int, epoch: int, wall: WallClock, verification: Any
    ) -> ErrorCode:
        """Offsets of a transaction: they count when it is committed."""
        if self.has_resigned:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        batch = batch_of(records, wall, self.settings.topic_codec, producer_id, epoch)
        found = self.topic.append(self.index, batch, wall, verification)
        if isinstance(found, ErrorCode):
            return found
        first, self.end_offset = found - len(records), found
        for place, record in enumerate(records):
            self.offsets.replay_pending(producer_id, record, first + place)
        return ErrorCode.NONE

    def wait(self, then: Then | None, now: Instant) -> Responds:
        """For all that was written until now."""
        if then is not None:
            deadline = Instant(now + self.settings.commit_timeout_ms / 1000)
            self._waiting.append(Waiting(self.end_offset, deadline, then))
        return []

    def committed_to(self, high_watermark: int, now: Instant, wall: WallClock) -> Responds:
        """All replicas in sync have what lies below."""
        self.offsets.committed_to(high_watermark)
        self.committed_offset = max(self.committed_offset, high_watermark)
        out: Responds = []
        while self._waiting and self._waiting[0].end_offset <= high_watermark:
            out += self._tell(self._waiting.popleft().then, ErrorCode.NONE, now, wall)
        return out

    def _tell(self, then: Then, error: ErrorCode, now: Instant, wall: WallClock) -> Responds:
        told = told_of(error)
        match then:
            case Answer(request_id, request, body):
                return [Respond(request_id, refusal(request, told) if told else body)]
            case GroupStored(group_id, stored):
                group = self.groups.get(group_id)
                if group is None:
                    return []
                return self.perform(group, classic.on_stored(group, stored, told, now, wall), now, wall)
            case PartStored(gathering, place):
                if gathering.tell(place, told):
                    self.gathered.append(gathering)
                return []
            case StatesGone(_, _, PartStored() as part) if told:
                return self._tell(part, error, now, wall)
            case StatesGone(_, _, AnswerLater() as later) | StatesWanted(_, _, _, AnswerLater() as later) if told:
                return [Respond(later.request_id, refusal(later.request, told))]
            case StatesWanted() | StatesGone():
                if not told:
                    self.wanted.append(then)
                return []
            case _ as unknown:
                assert_never(unknown)

    # Time.

    @property
    def waits(self) -> bool:
        """Somebody waits for the log."""
        return bool(self._waiting)

    def next_deadline(self) -> Instant | None:
        """Of who waits for the log."""
        return self._waiting[0].deadline if self._waiting else None

    def give_up(self, now: Instant, wall: WallClock) -> Responds:
        """On those that have waited too long for the log."""
        out: Responds = []
        while self._waiting and self._waiting[0].deadline <= now:
            out += self._tell(self._waiting.popleft().then, ErrorCode.REQUEST_TIMED_OUT, now, wall)
        return out

    def on_timer(self, timer: Timer, now: Instant, wall: WallClock) -> Responds:
        group = self.groups.get(timer.group_id)
        if group is not None:
            return self.perform(group, classic.on_timer(group, timer, now, wall), now, wall)
        consumers = self.consumers.get(timer.group_id)
        if consumers is None:
            change = self._overdue(timer, wall)
            is_written = change is None or not self.act(change, now, wall)
        elif (late := departures.is_late(consumers, timer.member_id, timer.kind)) is not None:
            found = self.exit(consumers, [late], now, wall)
            if not isinstance(found, ErrorCode):
                return found
            is_written = False
        else:
            is_written = True
        if not is_written:
            self.timers.schedule(timer, Instant(now + _AGAIN_S))  # Once more, when the log takes it.
        return []

    def _overdue(self, timer: Timer, wall: WallClock) -> ShareChange | StreamsChange | None:
        if (shared := self.shares.by_id.get(timer.group_id)) is not None:
            return overdue.of_sharers(shared, timer, self.share_world(wall))
        streams, world = self.streams.by_id.get(timer.group_id), self.streams_world(timer.group_id, wall)
        return None if streams is None else overdue.of_streams(streams, timer, world)

    def resign(self, now: Instant, wall: WallClock) -> Responds:
        """Another broker leads the partition, or none: whoever waits looks for the coordinator."""
        self.has_resigned = True
        out: Responds = []
        while self._waiting:
            out += self._tell(self._waiting.popleft().then, ErrorCode.NOT_LEADER_OR_FOLLOWER, now, wall)
        for group in self.groups.values():
            group.stop_timers()
            out += [each for each in group.dismiss_all(ErrorCode.NOT_COORDINATOR) if isinstance(each, Respond)]
        for consumers in self.consumers.values():
            self._set_clocks(departures.stopped(consumers), now)
        for change in overdue.stopped(self.shares, self.streams):
            self._set_clocks(change, now)
        return out
