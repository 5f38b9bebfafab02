"""A group coordinator over logs in memory, driven by requests as they come from the wire: time passes, and the logs are
committed, when the test says so.

The log is the outside world of the coordinator; everything else is production code.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller_runtime.coordinator import (
    admin_requests,
    consumer_describing,
    consumer_requests,
    loading,
    membership_requests,
    offset_fetch,
    offset_requests,
    share_describing,
    share_offsets,
    share_requests,
    streams_describing,
    streams_requests,
)
from controller_runtime.coordinator.coordinator import GroupCoordinator, partition_for
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.group_settings import GroupSettings
from controller_runtime.coordinator.ports import TOPIC
from controller_runtime.identifiers import Instant, PartitionId, Uuid, WallClock
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic
from controller_runtime.protocol.messages.delete_groups_request import DeleteGroupsRequest
from controller_runtime.protocol.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from controller_runtime.protocol.messages.describe_groups_request import DescribeGroupsRequest
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.heartbeat_request import HeartbeatRequest
from controller_runtime.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from controller_runtime.protocol.messages.leave_group_request import LeaveGroupRequest
from controller_runtime.protocol.messages.list_groups_request import ListGroupsRequest
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from controller_runtime.protocol.messages.offset_delete_request import OffsetDeleteRequest
from controller_runtime.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from controller_runtime.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import decode_batches, restamp
from controller_runtime.protocol.schema import Message

_HANDLERS: dict[type[Message], Any] = {
    JoinGroupRequest: membership_requests.join_group,
    SyncGroupRequest: membership_requests.sync_group,
    HeartbeatRequest: membership_requests.beat,
    LeaveGroupRequest: membership_requests.leave_group,
    OffsetCommitRequest: offset_requests.commit_offsets,
    OffsetFetchRequest: offset_fetch.fetch_offsets,
    OffsetDeleteRequest: offset_requests.delete_offsets,
    ListGroupsRequest: admin_requests.list_groups,
    DescribeGroupsRequest: admin_requests.describe_groups,
    DeleteGroupsRequest: admin_requests.delete_groups,
    ConsumerGroupHeartbeatRequest: consumer_requests.beat,
    ConsumerGroupDescribeRequest: consumer_describing.describe_consumer_groups,
    ShareGroupHeartbeatRequest: share_requests.beat,
    AlterShareGroupOffsetsRequest: share_offsets.alter_offsets,
    DeleteShareGroupOffsetsRequest: share_offsets.delete_offsets,
    ShareGroupDescribeRequest: share_describing.describe_share_groups,
    StreamsGroupHeartbeatRequest: streams_requests.beat,
    StreamsGroupDescribeRequest: streams_describing.describe_streams_groups,
}
READ = "orders"
"""A topic of eight partitions."""


def _image(partitions: int) -> MetadataImage:
    builder = MetadataBuilder(MetadataImage.empty())
    replay(builder, FeatureLevelRecord(name="group.version", feature_level=1))
    for number, (name, count) in enumerate(((TOPIC, partitions), (READ, 8)), 1):
        for record in topic_records(name, number, count):
            replay(builder, record)
    return builder.freeze()


def topic_records(name: str, number: int, count: int, first: int = 0) -> list[Message]:
    """A topic, or its partitions from `first` on."""
    directories = (Uuid(bytes(15) + b"\x64"),)
    partitions: list[Message] = [
        PartitionRecord(
            topic_id=topic_id(number), partition_id=index, replicas=(1,), isr=(1,), leader=1,
            leader_epoch=0, partition_epoch=0, directories=directories,
        )
        for index in range(first, count)
    ]  # fmt: skip
    return partitions if first else [TopicRecord(name=name, topic_id=topic_id(number)), *partitions]


def topic_id(number: int) -> Uuid:
    return Uuid(bytes(15) + bytes([200 + number]))


@dataclass
class MemoryLogs:
    """Implements `ports.OffsetsTopic`."""

    image: MetadataImage
    logs: dict[int, bytes] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    refusal: ErrorCode | None = None
    """What the next appends are answered."""
    version: int = 10
    topics_made_at: int = 10
    hidden: set[str] = field(default_factory=set)
    """Topics that nobody may describe."""
    to_make: dict[str, CreatableTopic] = field(default_factory=dict)
    """Topics that streams groups have asked for."""
    against: str = ""
    """Why they are not made."""

    def may_describe(self, connection: ConnectionInfo, topic: str) -> bool:
        return topic not in self.hidden

    def make_topics(
        self, connection: ConnectionInfo, topics: Mapping[str, CreatableTopic], kept_ms: int, now: Instant
    ) -> str:
        self.to_make |= topics
        return self.against

    def append(self, index: int, batch: bytes, wall: WallClock, verification: object = None) -> int | ErrorCode:
        if self.refusal is not None:
            return self.refusal
        data = bytearray(batch)
        base = self.ends.get(index, 0)
        restamp(data, base, 0)
        count = decode_batches(bytes(data))[0].header.record_count
        self.logs[index] = self.logs.get(index, b"") + bytes(data)
        self.ends[index] = base + count
        return base + count


class Coordinated:
    """`holds`: what is written is committed only when `commit` is called."""

    def __init__(
        self, *, partitions: int = 1, holds: bool = False, logs: MemoryLogs | None = None, **more: Any
    ) -> None:
        self.logs = logs or MemoryLogs(_image(partitions))
        self.holds, self.holds_works = holds, False
        self.now, self.wall = Instant(100.0), WallClock(1_800_000_000_000)
        self.answers: dict[int, Message] = {}
        self._last, self._uuids = 0, 0
        settings = {"initial_rebalance_delay_ms": 0, "commit_timeout_ms": 5_000} | more
        self.coordinator = GroupCoordinator(GroupSettings(**settings), self.logs, self._new_uuid)
        for index in range(partitions):
            self.load(index)

    def replay(self, *records: Message) -> None:
        """The metadata of the cluster changes."""
        builder, before = self.logs.image.builder(), self.logs.image.topics
        for record in records:
            replay(builder, record)
        self.logs.image = builder.freeze()
        self.logs.version += len(records)
        changes = list(self.logs.image.topics.changes_since(before))
        if any(old is None for old, _ in changes):
            self.logs.topics_made_at = self.logs.version
        self.coordinator.see_topics({each.name for change in changes for each in change if each is not None})

    def _new_uuid(self) -> Uuid:
        self._uuids += 1
        return Uuid(self._uuids.to_bytes(16, "big"))

    def load(self, index: int = 0) -> GroupPartition:
        partition = self.coordinator.lead(index)
        end = self.read(partition)
        assert end == self.logs.ends.get(index, 0)
        partition.end_offset = partition.committed_offset = end
        self.take(partition.begin(self.now, self.wall))
        return partition

    def read(self, partition: GroupPartition) -> int:
        return whole(loading.replay(partition, self.logs.logs.get(partition.index, b""), 0))

    def moved(self) -> Coordinated:
        """Another broker leads all partitions now, with the same logs."""
        for index in list(self.coordinator.partitions):
            self.take(self.coordinator.resign(index, self.now, self.wall))
        count = len({PartitionId(topic_id(1), index) for index, _ in self._partitions()})
        other = Coordinated(partitions=count, logs=self.logs)
        other.now, other.wall = self.now, self.wall
        return other

    def _partitions(self) -> Any:
        found = self.logs.image.topics.named(TOPIC)
        assert found is not None
        return found.partitions()

    def partition(self, group_id: str) -> GroupPartition:
        return self.coordinator.partitions[partition_for(group_id, len(list(self._partitions())))]

    # Requests.

    def send(self, body: Message, version: int | None = None) -> int:
        """Send it; the answer may come later."""
        self._last += 1
        wanted = body.VERSIONS.highest if version is None else version
        assert body.KEY is not None
        connection = ConnectionInfo(ConnectionId(1), "PLAINTEXT")
        event = RequestReceived(RequestId(self._last), connection, body.KEY, wanted, "client", body)
        found = _HANDLERS[type(body)](self.coordinator, event, body, self.now, self.wall)
        asked = self._last
        self.take(whole(found) if isinstance(found, Generator) else found)
        if not self.holds:
            self.commit()
        if not self.holds_works:
            self.work()
        return asked

    def work(self) -> None:
        """What takes long is done."""
        for partition in self.coordinator.partitions.values():
            while partition.works:
                whole(partition.works.pop())
        if not self.holds:
            self.commit()

    def ask(self, body: Message, version: int | None = None) -> Any:
        return self.answers[self.send(body, version)]

    def answer(self, asked: int) -> Any:
        """None as long as there is none."""
        return self.answers.get(asked)

    def take(self, responds: Sequence[Respond]) -> None:
        for each in responds:
            assert each.request_id not in self.answers, f"answered twice: {each}"
            self.answers[each.request_id] = each.body

    def commit(self) -> None:
        """Everything that is written, and what is written because of that."""
        before = None
        while before != (before := dict(self.logs.ends)):
            for index, partition in self.coordinator.partitions.items():
                self.take(partition.committed_to(self.logs.ends.get(index, 0), self.now, self.wall))
                self.take([admin_requests.deletion_answer(each) for each in partition.gathered])
                partition.gathered.clear()

    def wait(self, seconds: float) -> None:
        end = Instant(self.now + seconds)
        while (at := self._next()) is not None and at <= end:
            self._pass(max(at, self.now))
            self.take(self.coordinator.on_time(self.now, self.wall))
            for partition in list(self.coordinator.partitions.values()):
                self.take(partition.give_up(self.now, self.wall))
            if not self.holds:
                self.commit()
        self._pass(end)

    def _pass(self, to: Instant) -> None:
        self.wall = WallClock(self.wall + round((to - self.now) * 1000))
        self.now = to

    def _next(self) -> Instant | None:
        waits = [each.next_deadline() for each in self.coordinator.partitions.values()]
        return min((at for at in (self.coordinator.next_deadline(), *waits) if at is not None), default=None)

    # What members say.

    def join(self, member_id: str = "", version: int = 9, group_id: str = "g", **more: Any) -> int:
        return self.send(join(member_id, group_id=group_id, **more), version)

    def joined(self, *count: str, group_id: str = "g", **more: Any) -> list[Any]:
        """Members of a new group, each by its client's name, when all are there: their answers."""
        asked = []
        for _ in count:
            first = self.answers[self.join(group_id=group_id, **more)]
            assert isinstance(first, Message)
            asked.append(self.join(first.member_id, group_id=group_id, **more))  # type: ignore[attr-defined]
        self.wait(0.001)
        return [self.answers[each] for each in asked]

    def beat(self, member_id: str, generation: int, group_id: str = "g", instance: str | None = None) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=group_id, member_id=member_id, generation_id=generation, group_instance_id=instance
        )
        return ErrorCode(self.ask(request).error_code)

    def sync(self, member_id: str, generation: int, given: dict[str, bytes] | None = None) -> int:
        """At a version that need not name the protocol."""
        return self.send(sync(member_id, generation, "g", given or {}), 4)

    def state(self, group_id: str = "g") -> str:
        return str(self.ask(DescribeGroupsRequest(groups=(group_id,))).groups[0].group_state)

    def committed(self, group_id: str = "g", topic: str = READ, *indexes: int) -> dict[int, int]:
        wanted = (OffsetFetchRequestTopics(name=topic, partition_indexes=indexes or tuple(range(8))),)
        groups = (OffsetFetchRequestGroup(group_id=group_id, topics=wanted),)
        found = self.ask(OffsetFetchRequest(groups=groups), 9).groups[0]
        assert found.error_code == 0, found
        parts = (each for shown in found.topics for each in shown.partitions)
        return {each.partition_index: each.committed_offset for each in parts if each.committed_offset >= 0}


def join(member_id: str = "", **more: Any) -> JoinGroupRequest:
    told: dict[str, Any] = {
        "group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000, "protocol_type": "consumer",
        "protocols": protocols("range"),
    }  # fmt: skip
    return JoinGroupRequest(member_id=member_id, **told | more)


def protocols(*names: str, metadata: bytes = b"") -> tuple[JoinGroupRequestProtocol, ...]:
    return tuple(JoinGroupRequestProtocol(name=name, metadata=metadata) for name in names)


def sync(member_id: str, generation: int, group_id: str, given: dict[str, bytes], **more: Any) -> SyncGroupRequest:
    assignments = tuple(SyncGroupRequestAssignment(member_id=key, assignment=each) for key, each in given.items())
    return SyncGroupRequest(
        group_id=group_id, member_id=member_id, generation_id=generation, assignments=assignments, **more
    )


def commit(
    offsets: dict[int, int], member_id: str = "", generation: int = -1, group_id: str = "g", **more: Any
) -> OffsetCommitRequest:
    parts = tuple(
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index, offset in offsets.items()
    )
    return OffsetCommitRequest(
        group_id=group_id,
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        topics=(OffsetCommitRequestTopic(name=READ, partitions=parts),),
        **more,
    )


def codes(answer: Any) -> set[ErrorCode]:
    return {ErrorCode(each.error_code) for topic in answer.topics for each in topic.partitions}
