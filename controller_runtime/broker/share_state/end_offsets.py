"""Where partitions end for consumers: asked of their leaders, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.offsets import CONSUMER, LATEST
from controller_runtime.broker.peers import Peers
from controller_runtime.identifiers import NodeId, PartitionId, Uuid
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

Place = tuple[Uuid, int]
Ends = Mapping[Place, "int | ErrorCode"]
Found = Callable[[Ends], "list[BrokerEffect]"]
_CHANNEL: Final = "end-offsets"


@dataclass(slots=True, eq=False)
class _Question:
    found: Found
    ends: dict[Place, int | ErrorCode] = field(default_factory=dict)
    in_flight: int = 0


@dataclass(frozen=True, slots=True)
class _Sent:
    question: _Question
    ids: Mapping[str, Uuid]


class EndOffsets:
    def __init__(self, peers: Peers, partitions: LocalPartitions) -> None:
        self._peers = peers
        self._partitions = partitions
        self._sent: dict[CallId, _Sent] = {}

    def ask(self, places: Sequence[Place], found: Found) -> list[BrokerEffect]:
        """`found` is called when all leaders have answered, or cannot; at once, if they are here."""
        question, by_leader = _Question(found), dict[int, list[Place]]()
        for place in places:
            topic = self._partitions.image.topics.get(place[0])
            led = self._partitions.led(PartitionId(*place))
            leader = None if topic is None or place[1] >= topic.partition_count else topic.leader(place[1])
            question.ends[place] = ErrorCode.NOT_LEADER_OR_FOLLOWER
            if led is not None:
                question.ends[place] = led.log.high_watermark
            elif leader is not None and leader >= 0:
                by_leader.setdefault(leader, []).append(place)
        out: list[BrokerEffect] = []
        for leader, some in by_leader.items():
            out += self._call(question, leader, some)
        return out if question.in_flight else [*out, *found(question.ends)]

    def _call(self, question: _Question, leader: int, places: Sequence[Place]) -> list[BrokerEffect]:
        topics, by_topic = self._partitions.image.topics, dict[Uuid, list[int]]()
        for topic_id, index in places:
            by_topic.setdefault(topic_id, []).append(index)
        ids = {topic.name: each for each in by_topic if (topic := topics.get(each)) is not None}
        asked = tuple(
            ListOffsetsTopic(
                name=name,
                partitions=tuple(
                    ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in by_topic[each]
                ),
            )
            for name, each in ids.items()
        )
        body = ListOffsetsRequest(replica_id=CONSUMER, topics=asked)
        call = self._peers.call(NodeId(leader), _CHANNEL, body, lambda _: None)
        if call is None or call[0] is None:
            return []
        self._sent[call[0]] = _Sent(question, ids)
        question.in_flight += 1
        return call[1]

    # Calls.

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._sent

    def on_response(self, call_id: CallId, body: Message) -> list[BrokerEffect]:
        sent = self._sent.pop(call_id)
        ends = sent.question.ends
        if isinstance(body, ListOffsetsResponse):
            for topic in body.topics:
                for each in topic.partitions:
                    place = (sent.ids[topic.name], each.partition_index) if topic.name in sent.ids else None
                    if place in ends:
                        ends[place] = ErrorCode(each.error_code) if each.error_code else each.offset
        return self._landed(sent.question)

    def on_failure(self, call_id: CallId) -> list[BrokerEffect]:
        return self._landed(self._sent.pop(call_id).question)

    def _landed(self, question: _Question) -> list[BrokerEffect]:
        question.in_flight -= 1
        return [] if question.in_flight else question.found(question.ends)
