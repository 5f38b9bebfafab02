"""Members of a share group over the wire, and the account of what they were given: each record is accepted, and none is
given to anybody after that.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state.values import ShareKey
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages import describe_share_group_offsets_request as describes
from controller_runtime.protocol.messages import produce_request as produces
from controller_runtime.protocol.messages import share_acknowledge_request as acknowledges
from controller_runtime.protocol.messages import share_fetch_request as fetches
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from support.nodes.processes import eventually

ACCEPT: Final = 1
STATES: Final = "__share_group_state"
SECONDS: Final = 180.0
Spans = list[tuple[int, int]]


class Broker(Protocol):
    """Where it listens."""

    @property
    def node_id(self) -> int: ...

    @property
    def port(self) -> int: ...


class Line:
    """A connection that is kept: a share session ends with it."""

    def __init__(self, node: Broker) -> None:
        self._socket = socket.create_connection(("127.0.0.1", node.port), timeout=60)
        self._stream = self._socket.makefile("rb")

    def ask(self, body: Message, version: int) -> Any:
        assert body.KEY is not None
        self._socket.sendall(encode_request(body, version, 7, "a member"))
        head = self._stream.read(4)
        if len(head) < 4:
            raise ConnectionError("it is closed")
        (size,) = struct.unpack(">i", head)
        data = self._stream.read(size)
        if len(data) < size:
            raise ConnectionError("it is closed")
        return decode_response(data, body.KEY, version).body

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def ask_once(node: Broker, body: Message, version: int) -> Any:
    line = Line(node)
    try:
        return line.ask(body, version)
    finally:
        line.close()


@dataclass(slots=True)
class _Session:
    line: Line
    partitions: tuple[int, ...]
    epoch: int = 0


@dataclass(slots=True)
class Shared:
    """A topic that a group shares, at whatever brokers live."""

    nodes: Mapping[int, Broker]
    topic: str
    topic_id: Uuid
    group: str
    away: set[int] = field(default_factory=set)
    accepted: set[tuple[int, int]] = field(default_factory=set)
    """Partition and offset: their acceptance was acknowledged."""
    uncertain: set[tuple[int, int]] = field(default_factory=set)
    """Nobody has answered whether they are accepted."""

    @property
    def living(self) -> list[Broker]:
        return [node for node_id, node in self.nodes.items() if node_id not in self.away]

    def leaders(self, topic: str = "") -> dict[int, int]:
        """By partition; as every living broker says it."""

        def agreed() -> dict[int, int] | None:
            asked = MetadataRequest(topics=(MetadataRequestTopic(name=topic or self.topic),))
            seen = [ask_once(node, asked, 12).topics[0].partitions for node in self.living]
            found = [{each.partition_index: each.leader_id for each in parts} for parts in seen]
            led = found[0] and all(leader in self.nodes and leader not in self.away for leader in found[0].values())
            return found[0] if led and all(each == found[0] for each in found) else None

        return eventually(f"leaders of {topic or self.topic}", agreed, SECONDS)

    def coordinator(self, partition: int) -> int:
        """The broker that keeps the state of a partition."""
        led = self.leaders(STATES)
        return led[partition_for(str(ShareKey(self.group, self.topic_id, partition)), len(led))]

    def group_coordinator(self) -> Broker:
        def found() -> Broker | None:
            asked = FindCoordinatorRequest(key_type=0, coordinator_keys=(self.group,))
            one = ask_once(self.living[0], asked, 4).coordinators[0]
            return self.nodes[one.node_id] if one.error_code == 0 and one.node_id not in self.away else None

        return eventually("the coordinator of the group", found, SECONDS)

    def write(self, partition: int, count: int) -> None:
        records = [Record(offset=n, timestamp=-1, key=None, value=b"v") for n in range(count)]
        data = encode_batch(records, base_offset=0, partition_leader_epoch=-1)
        part = produces.PartitionProduceData(index=partition, records=data)
        topic = produces.TopicProduceData(name=self.topic, partition_data=(part,))
        asked = produces.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(topic,))

        def taken() -> bool:
            answer = ask_once(self.nodes[self.leaders()[partition]], asked, 9)
            return bool(answer.responses[0].partition_responses[0].error_code == 0)

        eventually(f"partition {partition} takes records", taken, SECONDS)

    def lags(self) -> dict[int, int]:
        """By partition: how much is not accepted."""
        topic = describes.DescribeShareGroupOffsetsRequestTopic(topic_name=self.topic, partitions=tuple(self.leaders()))
        group = describes.DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=(topic,))
        asked = describes.DescribeShareGroupOffsetsRequest(groups=(group,))

        def described() -> dict[int, int] | None:
            answer = ask_once(self.group_coordinator(), asked, 1).groups[0]
            parts = [each for topic in answer.topics for each in topic.partitions]
            if answer.error_code or not parts or any(each.error_code for each in parts):
                return None
            return {each.partition_index: each.lag for each in parts}

        return eventually("the group's offsets", described, SECONDS)


class ShareMember:
    def __init__(self, shared: Shared, name: str) -> None:
        self.shared = shared
        self.name = name
        self.epoch = 0
        self.assigned: set[int] = set()
        self._sessions: dict[int, _Session] = {}

    def close(self) -> None:
        for broker in list(self._sessions):
            self._leave(broker)

    # At the group's coordinator.

    def beat(self) -> Any:
        """Until it is answered without an error."""

        def beaten() -> Any:
            told: dict[str, Any] = {"subscribed_topic_names": (self.shared.topic,)} if self.epoch == 0 else {}
            asked = ShareGroupHeartbeatRequest(
                group_id=self.shared.group, member_id=self.name, member_epoch=self.epoch, **told
            )
            answer = ask_once(self.shared.group_coordinator(), asked, 1)
            assert answer.error_code in (0, *_MOVED), (ErrorCode(answer.error_code), answer.error_message)
            return answer if answer.error_code == 0 else None

        answer = eventually(f"{self.name} is in its group", beaten, SECONDS)
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.assigned = {index for topic in answer.assignment.topic_partitions for index in topic.partitions}
        return answer

    def leave(self) -> None:
        self.close()
        asked = ShareGroupHeartbeatRequest(group_id=self.shared.group, member_id=self.name, member_epoch=-1)
        answer = ask_once(self.shared.group_coordinator(), asked, 1)
        assert answer.error_code == 0, (ErrorCode(answer.error_code), answer.error_message)

    # At the leaders.

    def fetch(self) -> dict[int, dict[int, Spans]]:
        """What it is given, by broker and partition; nothing that was accepted."""
        by_leader: dict[int, list[int]] = {}
        for partition, leader in self.shared.leaders().items():
            by_leader.setdefault(leader, []).append(partition)
        for broker in set(self._sessions) - set(by_leader):
            self._leave(broker)
        return {broker: self._fetch(broker, tuple(parts)) for broker, parts in sorted(by_leader.items())}

    def _fetch(self, broker: int, partitions: tuple[int, ...]) -> dict[int, Spans]:
        session = self._sessions.get(broker)
        if session is not None and session.partitions != partitions:
            self._leave(broker)
            session = None
        try:
            if session is None:
                session = self._sessions[broker] = _Session(Line(self.shared.nodes[broker]), partitions)
            answer = session.line.ask(self._fetch_request(session), 2)
        except OSError:
            self._leave(broker)
            return {}
        if answer.error_code:
            assert answer.error_code in _SESSION_GONE, ErrorCode(answer.error_code)
            self._leave(broker)
            return {}
        session.epoch += 1
        found: dict[int, Spans] = {}
        for topic in answer.responses:
            for each in topic.partitions:
                assert each.error_code in (0, *_MOVED), (ErrorCode(each.error_code), each.error_message)
                spans = [(one.first_offset, one.last_offset) for one in each.acquired_records]
                again = [place for place in _places(each.partition_index, spans) if place in self.shared.accepted]
                assert again == [], f"{self.name} is given what was accepted: {again}"
                if spans:
                    found[each.partition_index] = spans
        return found

    def _fetch_request(self, session: _Session) -> fetches.ShareFetchRequest:
        parts = tuple(fetches.FetchPartition(partition_index=index) for index in session.partitions)
        return fetches.ShareFetchRequest(
            group_id=self.shared.group, member_id=self.name, share_session_epoch=session.epoch,
            max_wait_ms=100, min_bytes=1, max_records=500, batch_size=500,
            topics=(fetches.FetchTopic(topic_id=self.shared.topic_id, partitions=parts),) if not session.epoch else (),
        )  # fmt: skip

    def accept(self, given: Mapping[int, Mapping[int, Spans]]) -> None:
        """Of every leader what it gave; where nobody keeps it just now, it is said again."""
        for broker, partitions in given.items():
            left = {partition: spans for partition, spans in partitions.items() if spans}
            if left:
                eventually(
                    f"broker {broker} has it kept",
                    lambda broker=broker, left=left: self._accepted(broker, left),  # type: ignore[misc]
                    SECONDS,
                )

    def _accepted(self, broker: int, left: dict[int, Spans]) -> bool:
        """Whether nothing of this is to be said again."""
        session = self._sessions.get(broker)
        every = {place for partition, spans in left.items() for place in _places(partition, spans)}
        if session is None:
            self.shared.uncertain |= every
            return True
        try:
            answer = session.line.ask(self._acknowledge_request(session, left), 2)
        except OSError:
            answer = None
        if answer is None or answer.error_code:
            assert answer is None or answer.error_code in _SESSION_GONE, ErrorCode(answer.error_code)
            self.shared.uncertain |= every
            self._leave(broker)
            return True
        session.epoch += 1
        for topic in answer.responses:
            for each in topic.partitions:
                code, index = ErrorCode(each.error_code), each.partition_index
                if code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
                    self.shared.uncertain |= set(_places(index, left[index]))
                    continue
                places = set(_places(index, left.pop(index)))
                if code == ErrorCode.NONE:
                    self.shared.accepted |= places
                    self.shared.uncertain -= places
                else:
                    assert code in (*_MOVED, ErrorCode.INVALID_RECORD_STATE), (code, each.error_message)
                    self.shared.uncertain |= places
        return not left

    def _acknowledge_request(
        self, session: _Session, said: Mapping[int, Spans]
    ) -> acknowledges.ShareAcknowledgeRequest:
        parts = tuple(
            acknowledges.AcknowledgePartition(
                partition_index=index,
                acknowledgement_batches=tuple(
                    acknowledges.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(ACCEPT,))
                    for first, last in spans
                ),
            )
            for index, spans in said.items()
        )
        topic = acknowledges.AcknowledgeTopic(topic_id=self.shared.topic_id, partitions=parts)
        return acknowledges.ShareAcknowledgeRequest(
            group_id=self.shared.group, member_id=self.name, share_session_epoch=session.epoch, topics=(topic,)
        )

    def _leave(self, broker: int) -> None:
        if session := self._sessions.pop(broker, None):
            session.line.close()


def join(members: Sequence[ShareMember], partitions: int) -> None:
    """Until all of these are assigned to somebody: then they have a state."""

    def joined() -> bool:
        for member in members:
            member.beat()
        return set(range(partitions)) == {index for member in members for index in member.assigned}

    eventually("every partition is assigned", joined, SECONDS)


_MOVED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.REQUEST_TIMED_OUT,
)
"""What ends when leaders and coordinators are found again."""
_SESSION_GONE: Final = (
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
)


def _places(partition: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for first, last in spans:
        for offset in range(first, last + 1):
            yield partition, offset


def group_coordinated_elsewhere(
    topic_id: Uuid, leaders: Mapping[int, int], state_leaders: Mapping[int, int], prefix: str = "group"
) -> str:
    """The name of a group each of whose partitions is led by one broker, and kept by another one."""
    for number in range(10_000):
        name = f"{prefix}-{number}"
        places = {index: partition_for(str(ShareKey(name, topic_id, index)), len(state_leaders)) for index in leaders}
        if all(state_leaders[place] != leaders[index] for index, place in places.items()):
            return name
    raise AssertionError("no such name")
