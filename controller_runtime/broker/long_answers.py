"""Requests that touch many partitions, topics or resources: answered in pieces, in turns.

A step does so much of all of them together and no more. Most are over in the step that brought them. Meanwhile other
requests are served, so a long answer says of each partition what was so when it was reached. The image that it looks at
is the one that it began with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.parts import pieces
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, RequestReceived
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.parts.pieces import InPieces, LongWork
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

Effects = list[BrokerEffect]
Answering = InPieces[BrokerEffect, Effects]
"""A request's effects as they are decided, and the last of them."""


@dataclass(frozen=True, slots=True)
class _Long:
    asker: Asker
    work: LongWork[BrokerEffect, Effects]
    connection_id: ConnectionId | None
    """With it goes who asked."""


class LongAnswers:
    def __init__(self, faults: FailedRequests) -> None:
        self._faults = faults
        self._waiting: deque[_Long] = deque()
        self._left = pieces.PIECE_UNITS
        """Of this step."""

    def __len__(self) -> int:
        return len(self._waiting)

    def begin(self, event: RequestReceived, work: Answering, *, outlives: bool = False) -> Effects:
        """As much of it as this step may do still. `outlives`: also when the connection has ended meanwhile."""
        asker = Asker(event.request_id, event.body, None, event.connection.connection_id)
        return self._advance(_Long(asker, LongWork(work), None if outlives else event.connection.connection_id))

    def fail(self, event: RequestReceived, error: BaseException) -> Effects:
        """What failed before it could be begun costs who asked for it, and nobody else."""
        asker = Asker(event.request_id, event.body, None, event.connection.connection_id)
        return [*self._faults.fail(asker, "served", error)]

    def handler(self, work: Callable[..., Answering]) -> Callable[..., Effects]:
        """Of requests that need nothing else."""
        return lambda event, *rest: self.begin(event, work(event, *rest))

    def go_on(self) -> Effects:
        """At the end of a step: one by one, those who have waited longest."""
        out: Effects = []
        while self._left and self._waiting:
            out += self._advance(self._waiting.popleft())
        return out

    def begin_step(self) -> None:
        self._left = pieces.PIECE_UNITS

    def closed(self, connection_id: ConnectionId) -> None:
        """Nobody waits any more: what is not decided yet never is."""
        if self._waiting:
            self._waiting = deque(long for long in self._waiting if long.connection_id != connection_id)

    def _advance(self, long: _Long) -> Effects:
        out: Effects = []
        try:
            self._left = long.work.go_on(out, self._left)
        except Exception as error:
            return [*out, *self._faults.fail(long.asker, "served", error)]
        if long.work.is_over:
            return out + long.work.results[0]
        self._waiting.append(long)
        return out


def answering(
    answer: Callable[[RequestReceived, Any], InPieces[BrokerEffect, Message]],
) -> Callable[..., Answering]:
    """Work whose only effect is an answer."""

    def handler(event: RequestReceived, request: Message, *_: object) -> Answering:
        message = yield from answer(event, request)
        return [Respond(event.request_id, message)]

    return handler


def answering_at_once(answer: Callable[[RequestReceived, Any], Message]) -> Callable[..., Effects]:
    """A handler that has nothing long to do."""
    return lambda event, request, *_: [Respond(event.request_id, answer(event, request))]
