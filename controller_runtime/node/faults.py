"""Who pays when handling an event raises: the rule, stated once.

- A request pays for what it provokes while it is decoded, decided, encoded, forwarded or answered, whatever the
  exception: it is counted, said in one line without its bytes, and answered with UNKNOWN_SERVER_ERROR. What was decided
  for it leaves no trace.
- A message of a peer pays with its connection or call, while nothing of raft's state has changed (`Quorum.mark`). A
  message that is lost, or comes twice, is what raft is made for.
- The active controller that fails at its own work (a batch, the fencing of brokers) gives up leading, as Apache Kafka's
  does.
- The node stops, `NodeFault`, for bytes of its log that cannot be replayed, for a disk that fails, and once raft's
  state began to change.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.controller.refusals import not_controller_message, refusal
from controller_runtime.node import envelope as envelopes
from controller_runtime.node.effects import CloseConnection, Log, NodeEffect, Respond
from controller_runtime.node.pending import Asker
from controller_runtime.protocol.api_keys import find_api
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.errors import StorageError


class NodeFault(Exception):
    """Going on could break a promise."""


class UnreadableLog(NodeFault):
    """What is committed, or what this node wrote, cannot be replayed."""


OURS: Final = (NodeFault, StorageError, OSError)
"""What no request has to pay for, even if it is noticed while one is handled."""


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

    def fail(self, asker: Asker, doing: str, error: BaseException) -> list[NodeEffect]:
        """Count the failure, and answer who asked."""
        return [self.count(asker.request.KEY, doing, error), unknown_error(asker)]


_PER_ITEM: Final = frozenset(
    {
        "ProduceRequest",
        "MetadataRequest",
        "ListOffsetsRequest",
        "OffsetForLeaderEpochRequest",
        "DescribeTopicPartitionsRequest",
    }
)
"""Requests to a broker whose answers have no error code at their top."""


def unknown_answer(request: Message) -> Message:
    """UNKNOWN_SERVER_ERROR in the shape of the request's answer."""
    if type(request).__name__ in _PER_ITEM:
        from controller_runtime.node.broker_refusals import broker_refusal

        return broker_refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    return refusal(request, ErrorCode.UNKNOWN_SERVER_ERROR)


def unknown_error(asker: Asker) -> NodeEffect:
    """Where not even that answer can be made, the connection ends."""
    try:
        answer = envelopes.told(asker.envelope, unknown_answer(asker.request))
    except Exception:
        if asker.envelope is None:
            return CloseConnection(asker.connection_id)
        answer = EnvelopeResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    return Respond(asker.request_id, answer)


def not_controller(asker: Asker, leader_id: int) -> NodeEffect:
    """Who asked has to look for the active controller: 41. A broker does that itself, and reads it on its envelope."""
    if asker.envelope is not None:
        return Respond(asker.request_id, envelopes.not_controller())
    try:
        words = not_controller_message(leader_id)
        return Respond(asker.request_id, refusal(asker.request, ErrorCode.NOT_CONTROLLER, words))
    except Exception:
        return unknown_error(asker)
