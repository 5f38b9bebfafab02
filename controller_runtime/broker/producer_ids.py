"""InitProducerId for idempotent producers: ids from blocks that the controller allots.

A block belongs to this broker alone, so an id is handed out once in the cluster's life; what is left of a block at a
stop is lost. Requests wait while a block is being asked for.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.identifiers import Endpoint, Instant, NodeId
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, Respond
from controller_runtime.parts.events import CallId, RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from controller_runtime.protocol.schema import Message

CHANNEL: Final = "producer-ids"
_TIMEOUT_MS: Final = 5_000
_RETRY_S: Final = 0.1
_MAX_WAITING: Final = 10_000


class ProducerIds:
    def __init__(self, node_id: NodeId, calls: CallIds) -> None:
        self._node_id = node_id
        self._calls = calls
        self._next, self._end = 0, 0
        self._waiting: list[RequestId] = []
        self._is_wanted = False
        """By a coordinator, which does not wait."""
        self._in_flight: CallId | None = None
        self._not_before = Instant(0.0)

    @staticmethod
    def is_whole(request: InitProducerIdRequest) -> bool:
        """It names a producer with its epoch, or none."""
        has_id, has_epoch = request.producer_id != NO_PRODUCER_ID, request.producer_epoch != NO_PRODUCER_EPOCH
        return has_id is has_epoch

    def take(self) -> int | None:
        """An id for a transaction; None: a block is being asked for, and who needs one asks again."""
        if self._next == self._end:
            self._is_wanted = True
            return None
        self._next += 1
        return self._next - 1

    def on_request(self, request_id: RequestId, request: InitProducerIdRequest) -> list[BrokerEffect]:
        """Without a transactional id, but for one that is empty."""
        if not self.is_whole(request) or request.transactional_id is not None:
            return [Respond(request_id, _refused(ErrorCode.INVALID_REQUEST))]
        if len(self._waiting) >= _MAX_WAITING:
            return [Respond(request_id, _refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))]
        self._waiting.append(request_id)
        return self._hand_out()

    def owns(self, call_id: CallId) -> bool:
        return call_id == self._in_flight

    def next_deadline(self) -> Instant | None:
        is_due = bool(self._waiting or self._is_wanted)
        return self._not_before if is_due and self._in_flight is None else None

    def poll(self, controller: Endpoint | None, broker_epoch: int, now: Instant) -> list[BrokerEffect]:
        is_due = bool(self._waiting or self._is_wanted)
        if not is_due or self._in_flight is not None or now < self._not_before:
            return []
        if controller is None or broker_epoch < 0:
            self._not_before = Instant(now + _RETRY_S)
            return []
        self._in_flight = self._calls.next()
        request = AllocateProducerIdsRequest(broker_id=self._node_id, broker_epoch=broker_epoch)
        return [Call(self._in_flight, CHANNEL, controller, request, _TIMEOUT_MS)]

    def on_response(self, body: Message, now: Instant) -> list[BrokerEffect]:
        self._in_flight = None
        assert isinstance(body, AllocateProducerIdsResponse), "a block was asked for"
        if body.error_code != ErrorCode.NONE or body.producer_id_len <= 0:
            self._not_before = Instant(now + _RETRY_S)
            return []
        self._is_wanted = False
        self._next, self._end = body.producer_id_start, body.producer_id_start + body.producer_id_len
        return self._hand_out()

    def on_failure(self, now: Instant) -> None:
        self._in_flight = None
        self._not_before = Instant(now + _RETRY_S)

    def _hand_out(self) -> list[BrokerEffect]:
        out: list[BrokerEffect] = []
        while self._waiting and self._next < self._end:
            answer = InitProducerIdResponse(producer_id=self._next, producer_epoch=0)
            self._next += 1
            out.append(Respond(self._waiting.pop(0), answer))
        return out


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)
