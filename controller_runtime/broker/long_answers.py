"""What a broker answers in pieces, in turns (`parts.long_answers`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.parts import long_answers
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.schema import Message

Effects = list[BrokerEffect]
Answering = InPieces[BrokerEffect, Effects]
"""A request's effects as they are decided, and the last of them."""
LongAnswers = long_answers.LongAnswers[BrokerEffect]
Handler = Callable[[RequestReceived, Any, Instant, WallClock], Effects]
"""Each takes the request of its own API, beside the event that brought it."""


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
