"""Markers for the partitions of transactions that end: to the leader of each, wherever it is, until it has taken it.

One request at a time is with each broker. What fails is asked for again, of whoever leads the partition then; a
partition that is gone needs no marker. A coordinator that another one has followed, or a producer that has moved on,
ends the work on that transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.peers import Peers
from controller_runtime.coordinator.transactions.partition import SendMarkers, TransactionPartition
from controller_runtime.coordinator.transactions.states import PREPARED, Place, State, TransactionalId
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Log
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from controller_runtime.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

_RETRY_S: Final = 0.1
_MOST_PARTITIONS: Final = 500
"""Of one request."""
_GIVE_UP: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
_NEEDS_NONE: Final = (ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION)

Marked = Callable[[TransactionPartition, str, "list[Place]"], None]


@dataclass(slots=True, eq=False)
class _Ending:
    partition: TransactionPartition
    entry: TransactionalId
    in_flight: set[Place] = field(default_factory=set)
    not_before: Instant = Instant(0.0)
    is_blocked: bool = False
    """What is left is for brokers that have not answered yet."""

    @property
    def is_over(self) -> bool:
        known = self.partition.known.get(self.entry.name)
        return self.partition.has_resigned or known is not self.entry or self.entry.now.state not in PREPARED


@dataclass(slots=True)
class _Sent:
    node: NodeId
    endings: list[tuple[_Ending, list[Place]]]


class MarkerSender:
    def __init__(self, peers: Peers, marked: Marked) -> None:
        self._peers = peers
        self._marked = marked
        self._endings: dict[tuple[int, str], _Ending] = {}
        self._sent: dict[CallId, _Sent] = {}
        self._busy: set[NodeId] = set()
        self._image = MetadataImage.empty()
        self._said: list[BrokerEffect] = []

    def add(self, effect: SendMarkers, partition: TransactionPartition, now: Instant) -> None:
        entry = partition.known.get(effect.name)
        if entry is not None:
            ending = self._endings[effect.index, effect.name] = _Ending(partition, entry)
            if effect.again:
                ending.not_before = Instant(now + _RETRY_S)

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._sent

    def next_deadline(self) -> Instant | None:
        due = (
            each.not_before
            for each in self._endings.values()
            if not each.is_blocked and (not each.entry.unended or each.entry.unended != each.in_flight)
        )
        return min(due, default=None)

    def poll(self, image: MetadataImage, now: Instant) -> list[BrokerEffect]:
        self._image = image
        said, self._said = self._said, []
        if not self._endings:
            return said
        to_send: dict[NodeId, list[tuple[_Ending, list[Place]]]] = {}
        for key, ending in list(self._endings.items()):
            if ending.is_over:
                del self._endings[key]
            elif ending.not_before <= now and not ending.is_blocked:
                self._sort(ending, to_send, now)
        sent = [effect for node, endings in to_send.items() for effect in self._send(node, endings, now)]
        return [*said, *sent]

    def _sort(self, ending: _Ending, to_send: dict[NodeId, list[tuple[_Ending, list[Place]]]], now: Instant) -> None:
        by_node: dict[NodeId, list[Place]] = {}
        gone: list[Place] = []
        for place in ending.entry.unended - ending.in_flight:
            topic = self._image.topics.named(place[0])
            leader = None if topic is None or place[1] >= topic.partition_count else topic.leader(place[1])
            if leader is None:
                gone.append(place)
            elif leader < 0:
                ending.not_before = Instant(now + _RETRY_S)
            elif NodeId(leader) in self._busy:
                ending.is_blocked = True
            else:
                by_node.setdefault(NodeId(leader), []).append(place)
        if gone or not ending.entry.unended:
            del self._endings[ending.partition.index, ending.entry.name]
            if ending.entry.unended.difference(gone):
                self._endings[ending.partition.index, ending.entry.name] = ending
            self._marked(ending.partition, ending.entry.name, gone)
        for node, places in by_node.items():
            to_send.setdefault(node, []).append((ending, places))

    def _send(self, node: NodeId, endings: list[tuple[_Ending, list[Place]]], now: Instant) -> list[BrokerEffect]:
        taken: list[tuple[_Ending, list[Place]]] = []
        count = 0
        for ending, places in endings:
            if count < _MOST_PARTITIONS:
                some = sorted(places)[: _MOST_PARTITIONS - count]
                taken.append((ending, some))
                count += len(some)
                ending.in_flight.update(some)
        body = WriteTxnMarkersRequest(markers=tuple(_marker(ending, places) for ending, places in taken))
        self._busy.add(node)
        sent = _Sent(node, taken)
        call = self._peers.call(node, "transaction-markers", body, lambda answer: self._answered(sent, answer, now))
        if call is None:
            self._later(sent, now)
            return []
        call_id, effects = call
        if call_id is not None:
            self._sent[call_id] = sent
        return effects

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        self._answered(self._sent.pop(call_id), body, now)

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        self._later(self._sent.pop(call_id), now)

    def _free(self, node: NodeId) -> None:
        self._busy.discard(node)
        for ending in self._endings.values():
            ending.is_blocked = False

    def _later(self, sent: _Sent, now: Instant) -> None:
        self._free(sent.node)
        for ending, places in sent.endings:
            ending.in_flight.difference_update(places)
            ending.not_before = Instant(now + _RETRY_S)

    def _answered(self, sent: _Sent, answer: Message, now: Instant) -> None:
        assert isinstance(answer, WriteTxnMarkersResponse), "markers were sent"
        self._free(sent.node)
        for number, (ending, places) in enumerate(sent.endings):
            ending.in_flight.difference_update(places)
            codes = dict.fromkeys(places, ErrorCode.UNKNOWN_SERVER_ERROR)
            for topic in answer.markers[number].topics if number < len(answer.markers) else ():
                for each in topic.partitions:
                    if (topic.name, each.partition_index) in codes:
                        codes[topic.name, each.partition_index] = ErrorCode(each.error_code)
            if not ending.is_over:
                self._judge(ending, codes, now)

    def _judge(self, ending: _Ending, codes: dict[Place, ErrorCode], now: Instant) -> None:
        done = [place for place, code in codes.items() if code in _NEEDS_NONE]
        stop = next((code for code in codes.values() if code in _GIVE_UP), None)
        if stop is not None:
            self._endings.pop((ending.partition.index, ending.entry.name), None)
            who = f"{ending.entry.name!r}, producer {ending.entry.now.producer_id}"
            self._said.append(Log("warning", f"does not end the transaction of {who}: a partition says {stop.name}"))
            return
        if len(done) < len(codes):
            ending.not_before = Instant(now + _RETRY_S)
        if done:
            if not ending.entry.unended.difference(done):
                # Its completion is on its way to the log, and is written once.
                self._endings.pop((ending.partition.index, ending.entry.name), None)
            self._marked(ending.partition, ending.entry.name, done)


def _marker(ending: _Ending, places: list[Place]) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in places:
        topics.setdefault(topic, []).append(index)
    one = ending.entry.now
    return WritableTxnMarker(
        producer_id=one.producer_id,
        producer_epoch=one.epoch,
        transaction_result=one.state is State.PREPARE_COMMIT,
        topics=tuple(WritableTxnMarkerTopic(name=topic, partition_indexes=tuple(ids)) for topic, ids in topics.items()),
        coordinator_epoch=ending.partition.epoch,
        transaction_version=one.version,
    )
