"""Partitions that groups share, on a broker: made when the first member of such a group asks. A broker without any has
imported nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from controller_runtime.broker.effects import TimestampFound
from controller_runtime.broker.late_coordinator import Late
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.long_answers import Effects, Handler
from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts.events import CallId, ConnectionId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.schema import Message

if TYPE_CHECKING:
    from controller_runtime.broker.share_partitions.service import SharePartitions

KEYS: Final = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
_NO_TOPIC: Final = ""
"""It is needed for no topic's sake."""


class LateSharePartitions(Late["SharePartitions"]):
    def __init__(self, partitions: LocalPartitions, make: Callable[[Instant], SharePartitions]) -> None:
        super().__init__(_NO_TOPIC, partitions, make)

    @property
    def facts(self) -> ShareFacts:
        return ShareFacts() if self._made is None else self._made.facts

    def handlers(self) -> dict[int, Handler]:
        return dict.fromkeys(KEYS, self._serve)

    def _serve(self, event: RequestReceived, request: Any, now: Instant, wall: WallClock) -> Effects:
        return self.needed(now).handlers()[event.api_key](event, request, now, wall)

    def on_written(self, leader: Leader) -> None:
        if self._made is not None:
            self._made.on_written(leader)

    def on_found(self, event: TimestampFound) -> None:
        assert self._made is not None, "it has asked for what was found"
        self._made.on_found(event)

    def on_closed(self, connection_id: ConnectionId) -> Effects:
        return [] if self._made is None else self._made.on_closed(connection_id)

    # Calls.

    def owns_call(self, call_id: CallId) -> bool:
        return self._made is not None and self._made.owns_call(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> Effects:
        return self.needed(now).on_response(call_id, body, now)

    def on_failure(self, call_id: CallId, now: Instant) -> Effects:
        return self.needed(now).on_failure(call_id, now)
