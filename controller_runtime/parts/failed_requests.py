"""A request pays for the exception that it provokes: counted, said in one line without its bytes, and answered with
UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.parts import envelope as envelopes
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import CloseConnection, Effect, Log, Respond
from controller_runtime.protocol.api_keys import find_api
from controller_runtime.protocol.error_responses import not_controller_message, refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse

FAILED: Final = "a request failed while it was"
"""Begins what is logged of each."""


def place_of(error: BaseException) -> str:
    """The kind of exception and where it was raised. Its words may repeat what somebody sent."""
    trace = error.__traceback__
    if trace is None:
        return type(error).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"


def name_of(api_key: int | None) -> str:
    found = None if api_key is None else find_api(api_key)
    return "none" if found is None else found.name


class FailedRequests:
    """What went wrong inside, by API and by what was being done; for metrics."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}

    def count(self, api_key: int | None, doing: str, error: BaseException) -> Log:
        """Returns the line that says it."""
        name = name_of(api_key)
        self.counts[name, doing] = self.counts.get((name, doing), 0) + 1
        return Log("error", f"{name}: {FAILED} {doing}: {place_of(error)}")

    def fail(self, asker: Asker, doing: str, error: BaseException) -> tuple[Effect, ...]:
        """Count the failure, and answer who asked."""
        return self.count(asker.request.KEY, doing, error), unknown_error(asker)


def unknown_error(asker: Asker) -> Effect:
    """Where not even that answer can be made, the connection ends."""
    try:
        return envelopes.respond(asker, refusal(asker.request, ErrorCode.UNKNOWN_SERVER_ERROR))
    except Exception:
        if asker.envelope is None:
            return CloseConnection(asker.connection_id)
        answer = EnvelopeResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return Respond(asker.request_id, answer)


def not_controller(asker: Asker, leader_id: int) -> Effect:
    """Who asked has to look for the active controller: 41. A broker does that itself, and reads it on its envelope."""
    if asker.envelope is not None:
        return Respond(asker.request_id, envelopes.not_controller())
    try:
        words = not_controller_message(leader_id)
        request = asker.request if asker.narrowed is None else asker.narrowed.whole
        return Respond(asker.request_id, refusal(request, ErrorCode.NOT_CONTROLLER, words))
    except Exception:
        return unknown_error(asker)
