"""The response that says one error for a whole request, per API, as Kafka's `getErrorResponse` does.

Used for 41 NOT_CONTROLLER on a node that does not lead, and for errors that no single topic or resource caused.
"""

from __future__ import annotations

from controller_runtime.protocol.schema import Message


def refusal(request: Message, error: int, message: str | None = None) -> Message:
    """Answer `request` (of any API that `ControllerService` serves) with this error everywhere an error can stand."""
    raise NotImplementedError


def not_controller_message(leader_id: int) -> str:
    """Kafka's words for 41; the leader is -1 while unknown."""
    if leader_id < 0:
        return "No controller appears to be active."
    return f"The active controller appears to be node {leader_id}."
