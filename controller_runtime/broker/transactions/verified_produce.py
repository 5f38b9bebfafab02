"""Produce requests with transactional batches: verified where they begin a transaction, then produced as all others.

While one is verified, later requests of its connection wait behind it, so that the producer's batches stay in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.batch_checks import frame_size, is_transactional
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.produce import ProduceHandler
from controller_runtime.broker.produce_requests import Brought
from controller_runtime.broker.sequences import Verification, has_open_transaction
from controller_runtime.broker.transactions.verification import Question, Verifier, translated
from controller_runtime.coordinator.transactions.states import Place
from controller_runtime.identifiers import Instant, PartitionId, Uuid, WallClock
from controller_runtime.parts.events import ConnectionId, RequestReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.record_batch import HEADER_BYTES, BatchHeader, claimed_header
from controller_runtime.values import dataclass, field

FIRST_ADDING: Final = 12
"""Version of Produce from which on partitions are added by it."""
_FIRST_WITH_ABORTABLE: Final = 11
_MOST_HELD: Final = 1_000
_WORDS: Final = {
    ErrorCode.NOT_ENOUGH_REPLICAS: "Unable to verify the partition has been added to the transaction.",
}


@dataclass(slots=True, eq=False)
class _Held:
    event: RequestReceived
    request: ProduceRequest
    verifications: dict[PartitionId, Verification] = field(default_factory=dict)
    codes: dict[Place, ErrorCode] | None = None


class VerifiedProduce:
    def __init__(
        self,
        partitions: LocalPartitions,
        produce: ProduceHandler,
        verifier: Verifier,
        verifies: Callable[[], bool],
    ) -> None:
        """`verifies`: whether what old clients write is verified."""
        self._partitions = partitions
        self._produce = produce
        self._verifier = verifier
        self._verifies = verifies
        self._held: dict[ConnectionId, deque[_Held]] = {}

    def holds(self, connection_id: ConnectionId) -> bool:
        return connection_id in self._held

    def on_request(
        self, event: RequestReceived, request: ProduceRequest, now: Instant, wall: WallClock
    ) -> list[BrokerEffect]:
        connection_id = event.connection.connection_id
        held = self._held.get(connection_id)
        if held is not None and len(held) < _MOST_HELD:
            held.append(_Held(event, request))
            return []
        return self._begin(_Held(event, request), now, wall)

    def _begin(self, one: _Held, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        batches = _transactional(one.request)
        name = one.request.transactional_id
        if not batches or name is None:
            return self._produce.on_request(one.event, one.request, now, wall)
        producer_id, epoch = batches[0][1].producer_id, batches[0][1].producer_epoch
        if any(header.producer_id != producer_id for _, header in batches):
            why = "Transactional records contained more than one producer ID"
            refused = BatchRefusal(ErrorCode.INVALID_PRODUCER_ID_MAPPING, why)
            return self._produce.refuse(one.event, one.request, refused)
        adds = one.event.api_version >= FIRST_ADDING
        places: list[Place] = []
        if adds or self._verifies():
            for place, header in batches:
                found = self._partitions.find(*place)
                if isinstance(found, Leader) and self._needs(one, found, header, adds=adds):
                    places.append((found.log.topic, place[2]))
        if not places:
            return self._produce.on_request(one.event, one.request, now, wall)
        self._held.setdefault(one.event.connection.connection_id, deque()).appendleft(one)

        def told(codes: dict[Place, ErrorCode]) -> None:
            one.codes = codes

        question = Question(name, producer_id, epoch, tuple(dict.fromkeys(places)), adds=adds, told=told)
        asked = self._verifier.ask(self._partitions.image, question)
        return [*asked, *self.go_on(now, wall)]

    def _needs(self, one: _Held, leader: Leader, header: BatchHeader, *, adds: bool) -> bool:
        if has_open_transaction(leader.log.producers.get(header.producer_id), header.producer_epoch):
            return False
        one.verifications[leader.log.key] = leader.verifications.begin(
            header.producer_id, header.producer_epoch, header.base_sequence, begins_at_zero=adds
        )
        return True

    def go_on(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        """Produce what is verified by now, and what waits behind it."""
        out: list[BrokerEffect] = []
        for connection_id, held in list(self._held.items()):
            if held and held[0].codes is None:
                continue
            if held:
                out += self._verified(held.popleft(), now, wall)
            # What comes next may have to be verified in turn, and is at the head again then.
            waiting = self._held.pop(connection_id, deque())
            while waiting:
                following = waiting.popleft()
                out += self._begin(following, now, wall)
                if connection_id in self._held:
                    self._held[connection_id].extend(waiting)
                    break
        return out

    def _verified(self, one: _Held, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        version = one.event.api_version
        refused: dict[PartitionId, BatchRefusal] = {}
        for key in one.verifications:
            topic = self._partitions.image.topics.get(key.topic_id)
            code = ErrorCode.NONE if topic is None else (one.codes or {}).get((topic.name, key.index), ErrorCode.NONE)
            if code:
                told = translated(
                    code, knows_concurrent=version >= FIRST_ADDING, knows_abortable=version >= _FIRST_WITH_ABORTABLE
                )
                refused[key] = BatchRefusal(told, _WORDS.get(told), before_log=True)
        brought = Brought(refused, one.verifications)
        return self._produce.on_request(one.event, one.request, now, wall, brought)

    def on_closed(self, connection_id: ConnectionId) -> None:
        """Nobody waits any more; what wants no answer is produced nevertheless when it is verified."""
        held = self._held.get(connection_id)
        if held is not None and all(each.request.acks for each in held):
            del self._held[connection_id]


def _transactional(request: ProduceRequest) -> list[tuple[tuple[str, Uuid, int], BatchHeader]]:
    """The first batch of each partition that has a transactional one."""
    found = []
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records and isinstance(frame_size(records), int) and len(records) >= HEADER_BYTES:
                if is_transactional(records):
                    found.append(((topic.name, topic.topic_id, data.index), claimed_header(records)))
    return found
