"""What a broker does for transactions, made when it is first needed: when it comes to lead a partition of
`__transaction_state`, or when the first request of a transaction comes. A broker without any has imported nothing of
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from controller_runtime.broker.late_coordinator import Late
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Effects, Handler
from controller_runtime.broker.produce import ProduceHandler
from controller_runtime.broker.producer_ids import ProducerIds
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.events import CallId, ConnectionId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.schema import Message

if TYPE_CHECKING:
    from controller_runtime.broker.transactions.service import Transactions

TOPIC: Final = "__transaction_state"
KEYS: Final = (
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.LIST_TRANSACTIONS,
)
"""Of the requests that it answers, beside Produce and InitProducerId with a transactional id."""


class LateTransactions(Late["Transactions"]):
    def __init__(
        self,
        partitions: LocalPartitions,
        produce: ProduceHandler,
        producer_ids: ProducerIds,
        make: Callable[[Instant], Transactions],
    ) -> None:
        super().__init__(TOPIC, partitions, make)
        self._produce = produce
        self._producer_ids = producer_ids

    # Requests.

    def handlers(self) -> dict[int, Handler]:
        return {
            ApiKey.PRODUCE: self._on_produce,
            ApiKey.INIT_PRODUCER_ID: self._on_init_producer_id,
            **dict.fromkeys(KEYS, self._serve),
        }

    def _serve(self, event: RequestReceived, request: Any, now: Instant, wall: WallClock) -> Effects:
        return self.needed(now).handlers()[event.api_key](event, request, now, wall)

    def _on_produce(self, event: RequestReceived, request: ProduceRequest, now: Instant, wall: WallClock) -> Effects:
        made = self._made
        is_held = made is not None and made.holds(event.connection.connection_id)
        if request.transactional_id is None and not is_held:
            return self._produce.on_request(event, request, now, wall)
        return self.needed(now).produce(event, request, now, wall)

    def _on_init_producer_id(
        self, event: RequestReceived, request: InitProducerIdRequest, now: Instant, wall: WallClock
    ) -> Effects:
        if not request.transactional_id or not ProducerIds.is_whole(request):
            return self._producer_ids.on_request(event.request_id, request)
        return self.needed(now).init_producer(event, request, now, wall)

    def on_closed(self, connection_id: ConnectionId) -> None:
        if self._made is not None:
            self._made.on_closed(connection_id)

    # Calls.

    def owns_call(self, call_id: CallId) -> bool:
        return self._made is not None and self._made.owns_call(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        return self.needed(now).on_response(call_id, body, now)

    def on_failure(self, call_id: CallId, now: Instant) -> Effects:
        return self.needed(now).on_failure(call_id, now)
