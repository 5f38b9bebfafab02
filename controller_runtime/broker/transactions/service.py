"""All that a broker does for transactions: one object, made when it is first needed (`broker.late_transactions`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from controller_runtime.broker.effects import BrokerEffect, RecordsRead, WorkId
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Answering, Effects, Handler, LongAnswers
from controller_runtime.broker.peers import Peers
from controller_runtime.broker.produce import ProduceHandler
from controller_runtime.broker.transactions.local_requests import LocalRequests, drained, is_local
from controller_runtime.broker.transactions.marker_sender import MarkerSender
from controller_runtime.broker.transactions.marker_writes import MarkerWrites, OffsetsMarker
from controller_runtime.broker.transactions.offsets import VerifiedOffsets, WriteOffsets
from controller_runtime.broker.transactions.producers import describe_producers
from controller_runtime.broker.transactions.state_log import StateLog
from controller_runtime.broker.transactions.verification import Verifier
from controller_runtime.broker.transactions.verified_produce import VerifiedProduce
from controller_runtime.coordinator.transactions import adding, describing, ending, init_requests
from controller_runtime.coordinator.transactions import partition as of_partition
from controller_runtime.coordinator.transactions.partition import Gathered, Gathering, Say, SendMarkers
from controller_runtime.coordinator.transactions.settings import TransactionSettings
from controller_runtime.coordinator.transactions.states import Place
from controller_runtime.identifiers import Instant, NodeId, PartitionId, WallClock
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Log, Respond
from controller_runtime.parts.events import CallId, ConnectionId, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.write_txn_markers_request import WriteTxnMarkersRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Outside:
    """What transactions use of the rest of the broker."""

    node_id: NodeId
    partitions: LocalPartitions
    produce: ProduceHandler
    long: LongAnswers
    faults: FailedRequests
    calls: CallIds
    listener: str
    next_producer_id: Callable[[], int | None]
    end_offsets: OffsetsMarker
    """What the group coordinator does with a marker."""
    write_offsets: WriteOffsets
    """What it does with offsets of a transaction."""


class Transactions:
    def __init__(self, outside: Outside, settings: TransactionSettings, now: Instant) -> None:
        self._outside = outside
        partitions = outside.partitions
        self._long, self._faults = outside.long, outside.faults
        self._state = StateLog(partitions, settings, outside.next_producer_id, outside.faults, now)
        self._local = LocalRequests()
        peers = Peers(outside.node_id, outside.calls, outside.listener, lambda: partitions.image, self._to_itself)
        self._verifier = Verifier(peers, self._state.put)
        self._sender = MarkerSender(peers, self._marked)
        self._writes = MarkerWrites(partitions, outside.end_offsets)
        self._produce = VerifiedProduce(
            partitions, outside.produce, self._verifier, lambda: partitions.rules("").verifies_transactions
        )
        self._offsets = VerifiedOffsets(partitions, self._verifier, outside.write_offsets)
        self._batched: dict[Gathering, adding.Batched] = {}
        self._more: list[of_partition.Effect] = []
        """That follows from what was asked of itself."""
        self._now, self._wall = now, WallClock(0)

    # Requests.

    def handlers(self) -> Mapping[int, Handler]:
        coordinator, long = self._state.coordinator, self._long
        at_once: dict[int, Callable[..., of_partition.Effects]] = {
            ApiKey.ADD_OFFSETS_TO_TXN: adding.add_offsets,
            ApiKey.END_TXN: ending.end_transaction,
        }
        in_pieces: dict[int, Callable[..., Any]] = {
            ApiKey.ADD_PARTITIONS_TO_TXN: self._add_partitions,
            ApiKey.DESCRIBE_TRANSACTIONS: lambda *rest: describing.describe_transactions(coordinator, *rest),
            ApiKey.LIST_TRANSACTIONS: lambda *rest: describing.list_transactions(coordinator, *rest),
        }
        return {
            **{key: self._at_once(answer) for key, answer in at_once.items()},
            **{key: long.handler(self._in_pieces(answer)) for key, answer in in_pieces.items()},
            ApiKey.WRITE_TXN_MARKERS: long.handler(self._writes.on_request),
            ApiKey.TXN_OFFSET_COMMIT: lambda *rest: self._settled(self._offsets.on_request(*rest), *rest[2:]),
            ApiKey.DESCRIBE_PRODUCERS: long.handler(self._describe_producers),
        }

    def _at_once(self, answer: Callable[..., of_partition.Effects]) -> Handler:
        def handler(event: RequestReceived, request: Any, now: Instant, wall: WallClock) -> Effects:
            return self._perform(answer(self._state.coordinator, event, request, now, wall), now, wall)

        return handler

    def _in_pieces(self, answer: Callable[..., Any]) -> Callable[..., Answering]:
        def handler(event: RequestReceived, request: Any, now: Instant, wall: WallClock) -> Answering:
            work = answer(event, request, now, wall)
            while True:
                try:
                    unit = next(work)
                except StopIteration as end:
                    return self._perform(end.value, now, wall)
                yield from self._perform([] if unit is None else [unit], now, wall)
                yield None

        return handler

    def _add_partitions(
        self, event: RequestReceived, request: AddPartitionsToTxnRequest, now: Instant, wall: WallClock
    ) -> Any:
        def keep(batched: adding.Batched) -> None:
            self._batched[batched.gathering] = batched

        return adding.add_partitions(self._state.coordinator, event, request, now=now, wall=wall, keep=keep)

    def _describe_producers(self, event: RequestReceived, request: Any, *_: object) -> Answering:
        answer = yield from describe_producers(self._outside.partitions, request)
        return [Respond(event.request_id, answer)]

    def init_producer(
        self, event: RequestReceived, request: InitProducerIdRequest, now: Instant, wall: WallClock
    ) -> Effects:
        return self._at_once(init_requests.init_producer)(event, request, now, wall)

    def produce(self, event: RequestReceived, request: ProduceRequest, now: Instant, wall: WallClock) -> Effects:
        return self._settled(self._produce.on_request(event, request, now, wall), now, wall)

    def holds(self, connection_id: ConnectionId) -> bool:
        """Its produce requests wait for one that is verified."""
        return self._produce.holds(connection_id)

    def on_closed(self, connection_id: ConnectionId) -> None:
        self._produce.on_closed(connection_id)

    # Itself.

    def _to_itself(self, body: Message, answered: Callable[[Message], None]) -> list[BrokerEffect]:
        now, wall = self._now, self._wall
        if isinstance(body, WriteTxnMarkersRequest):
            event = self._local.begin(body, body.VERSIONS.highest, answered)
            work = self._writes.on_request(event, body, now, wall)
        else:
            event = self._local.begin(body, body.VERSIONS.highest, answered)
            work = self._in_pieces(self._add_partitions)(event, body, now, wall)
        return self._local.deliver(drained(work))

    def _marked(self, partition: of_partition.TransactionPartition, name: str, places: list[Place]) -> None:
        self._more += partition.marked(name, places, self._now, self._wall)

    def _perform(self, effects: list[of_partition.Effect], now: Instant, wall: WallClock) -> Effects:
        """What the coordinator wants to be done, after what it has appended."""
        self._now, self._wall = now, wall
        out: Effects = self._state.taken()
        for effect in effects:
            match effect:
                case Respond():
                    out.append(effect)
                case SendMarkers(index):
                    partition = self._state.coordinator.partitions.get(index)
                    if partition is not None:
                        self._sender.add(effect, partition, now)
                case Gathered(_, gathering):
                    out += self._gathered(self._batched.pop(gathering), now, wall)
                case Say(level, text):
                    out.append(Log(level, text))
                case _ as unknown:
                    assert_never(unknown)
        return self._local.deliver(out)

    def _gathered(self, batched: adding.Batched, now: Instant, wall: WallClock) -> Effects:
        work = self._in_pieces(lambda *_: adding.answer_of(batched))(batched.event, None, now, wall)
        if is_local(batched.event.request_id):
            return drained(work)
        return self._long.begin(batched.event, work)

    def _settled(self, effects: Effects, now: Instant, wall: WallClock) -> Effects:
        """With all that follows at once."""
        self._now, self._wall = now, wall
        out = self._local.deliver(effects)
        out += self._sender.poll(self._state.image, now)
        out += self._local.deliver(self._writes.poll(now))
        while self._more:
            more, self._more = self._more, []
            out += self._perform(more, now, wall)
        out += self._produce.go_on(now, wall)
        out += self._offsets.go_on(now, wall)
        return [*out, *self._state.taken()]

    # Calls.

    def owns_call(self, call_id: CallId) -> bool:
        return self._sender.owns(call_id) or self._verifier.owns(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        """What follows from it comes with the next poll, which has the time."""
        if self._sender.owns(call_id):
            self._sender.on_response(call_id, body, now)
            return []
        return self._verifier.on_response(call_id, body)

    def on_failure(self, call_id: CallId, now: Instant) -> Effects:
        if self._sender.owns(call_id):
            self._sender.on_failure(call_id, now)
            return []
        return self._verifier.on_failure(call_id)

    # Implements `late_coordinator.Coordinating`.

    @property
    def has_more_to_do(self) -> bool:
        return self._state.has_more_to_do

    def next_deadline(self) -> Instant | None:
        wanted = (self._state.next_deadline(), self._sender.next_deadline(), self._writes.next_deadline())
        return min((at for at in wanted if at is not None), default=None)

    def poll(self, now: Instant, wall: WallClock) -> Effects:
        self._now, self._wall = now, wall
        try:
            out = self._perform(self._state.poll(now, wall), now, wall)
            return [*out, *self._settled([], now, wall)]
        except Exception as error:
            return [self._faults.count(ApiKey.END_TXN, "coordinated", error)]

    def on_changed(self, key: PartitionId, now: Instant, wall: WallClock) -> Effects:
        return self._perform(self._state.on_changed(key), now, wall)

    def owns(self, work_id: WorkId) -> bool:
        return self._state.owns(work_id)

    def on_read(self, event: RecordsRead) -> Effects:
        return self._perform(self._state.on_read(event), self._now, self._wall)
