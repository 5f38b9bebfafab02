"""Requests that a broker sends to itself: they go to its own handlers, and their answers come back here.

Their numbers are negative, so no client's is taken for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.long_answers import Answering
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.schema import Message

_ITSELF: Final = ConnectionInfo(ConnectionId(0), "")
Then = Callable[[Message], None]


def is_local(request_id: RequestId) -> bool:
    return request_id < 0


class LocalRequests:
    def __init__(self) -> None:
        self._last = 0
        self._waiting: dict[RequestId, Then] = {}

    def begin(self, body: Message, version: int, then: Then) -> RequestReceived:
        """The request as a handler gets it; `then` gets the answer."""
        self._last -= 1
        request_id = RequestId(self._last)
        self._waiting[request_id] = then
        assert body.KEY is not None, "requests have one"
        return RequestReceived(request_id, _ITSELF, body.KEY, version, client_id=None, body=body)

    def deliver(self, effects: Iterable[BrokerEffect]) -> list[BrokerEffect]:
        """What is for others."""
        out: list[BrokerEffect] = []
        for each in effects:
            then = self._waiting.pop(each.request_id, None) if isinstance(each, Respond) else None
            if then is None or not isinstance(each, Respond):
                out.append(each)
            else:
                then(each.body)
        return out


def drained(work: Answering) -> list[BrokerEffect]:
    """All of it at once: what a broker asks of itself is bounded where it is asked."""
    out: list[BrokerEffect] = []
    while True:
        try:
            unit = next(work)
        except StopIteration as end:
            return [*out, *end.value]
        if unit is not None:
            out.append(unit)
