"""Why something is asked of the active controller in an Envelope, and what becomes of the answer.

- A client's request travels in the bytes that came, and the answer's bytes go back to him: neither is decoded here.
- Of a request that the broker has judged in part, the rest travels; both answers become one.
- The broker asks for topics that a client named and nobody made; nobody waits for the answer.

What a controller cannot read it answers with UNSUPPORTED_VERSION: then the client's connection ends, as by Kafka, and
he learns anew what is served.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from controller_runtime.broker.effects import BrokerEffect, Relay
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import CloseConnection, Log, Respond
from controller_runtime.parts.events import RequestReceived, UnreadRequest
from controller_runtime.parts.failed_requests import FailedRequests, unknown_error
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import correlation_id_of, decode_request, decode_response
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

_NAMES_TOLD: Final = 10
"""In a line of the log: clients choose how many there are."""


class Errand(Protocol):
    """One thing that is asked of the controller."""

    @property
    def api_key(self) -> int: ...

    def answered(self, frame: bytes) -> list[BrokerEffect]:
        """`frame` is the controller's answer, with its header. Raises ProtocolError if it is none to what was asked."""
        ...

    def refused(self, code: ErrorCode, words: str) -> list[BrokerEffect]:
        """There is no answer."""
        ...

    def unreadable(self) -> list[BrokerEffect]:
        """The controller cannot read what was asked."""
        ...

    def failed(self) -> list[BrokerEffect]:
        """Not even a refusal can be made."""
        ...


@dataclass(frozen=True, slots=True)
class ClientsRequest:
    """A request as it came."""

    request: UnreadRequest

    @property
    def api_key(self) -> int:
        return self.request.api_key

    def answered(self, frame: bytes) -> list[BrokerEffect]:
        if correlation_id_of(frame) != self.request.correlation_id:
            raise ProtocolError("the controller answered another request")
        return [Relay(self.request.request_id, frame)]

    def refused(self, code: ErrorCode, words: str) -> list[BrokerEffect]:
        try:
            body = decode_request(self.request.frame).body
        except ProtocolError:
            return self.unreadable()
        return [Respond(self.request.request_id, refusal(body, code, words))]

    def unreadable(self) -> list[BrokerEffect]:
        return [CloseConnection(self.request.connection.connection_id)]

    def failed(self) -> list[BrokerEffect]:
        return self.unreadable()


@dataclass(frozen=True, slots=True)
class RestOfRequest:
    """What the broker has not answered itself; `complete` makes the client's answer of the controller's."""

    event: RequestReceived
    rest: Message
    complete: Callable[[Message], Message]

    @property
    def api_key(self) -> int:
        return self.event.api_key

    def answered(self, frame: bytes) -> list[BrokerEffect]:
        answer = decode_response(frame, self.event.api_key, self.event.api_version).body
        return [Respond(self.event.request_id, self.complete(answer))]

    def refused(self, code: ErrorCode, words: str) -> list[BrokerEffect]:
        return [Respond(self.event.request_id, self.complete(refusal(self.rest, code, words)))]

    def unreadable(self) -> list[BrokerEffect]:
        return [CloseConnection(self.event.connection.connection_id)]

    def failed(self) -> list[BrokerEffect]:
        return [unknown_error(Asker(self.event.request_id, self.rest, None, self.event.connection.connection_id))]


@dataclass(frozen=True, slots=True)
class TopicsToBeMade:
    """The broker's own. Whatever the answer, a client that still wants them asks again."""

    names: tuple[str, ...]
    creating: set[str]
    """Of all that are being asked for."""

    @property
    def api_key(self) -> int:
        return ApiKey.CREATE_TOPICS

    def answered(self, _: bytes) -> list[BrokerEffect]:
        return self._over()

    def refused(self, _: ErrorCode, __: str) -> list[BrokerEffect]:
        return self._over()

    def unreadable(self) -> list[BrokerEffect]:
        return self._over()

    def failed(self) -> list[BrokerEffect]:
        return self._over()

    def _over(self) -> list[BrokerEffect]:
        self.creating.difference_update(self.names)
        more = f" and {len(self.names) - _NAMES_TOLD} more" if len(self.names) > _NAMES_TOLD else ""
        return [Log("info", f"asked for topics {', '.join(self.names[:_NAMES_TOLD])}{more}")]


def refuse(errand: Errand, code: ErrorCode, words: str, faults: FailedRequests) -> list[BrokerEffect]:
    """There is no answer; whatever goes wrong in saying so costs this errand alone."""
    try:
        return errand.refused(code, words)
    except Exception as error:
        return [faults.count(errand.api_key, "answered", error), *errand.failed()]
