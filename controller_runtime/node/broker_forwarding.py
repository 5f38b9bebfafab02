"""Requests that only the active controller can decide, carried there in an Envelope (KIP-590).

The controller may change while a request is on its way: an answer of 41, a controller that is not reached, or one that
is lost make the broker ask again, until the request's time is up. So a change may be asked for twice; the controller
finds the second one already done, as in Kafka.

A connection that ends while requests are on it may have ended because of one of them. Which one is found out: each is
tried once more, one at a time, on a connection of its own. Who was only there when a leader died is answered then; a
request that ends that connection too is answered with an error, and goes to no third controller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.controller.refusals import refusal
from controller_runtime.controller.topics import MAX_PARTITIONS_PER_REQUEST
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.node.effects import Call, Log, NodeEffect, Respond
from controller_runtime.node.events import CallFailure, CallId, ConnectionId, RequestId, RequestReceived
from controller_runtime.node.faults import FailedRequests, unknown_error
from controller_runtime.node.metadata_replica import CallIds
from controller_runtime.node.pending import Asker
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

CHANNEL: Final = "forwarding"
SUSPECTS: Final = "forwarding-again"
"""For a request that was on a connection that ended: nothing else is on this one."""
MAX_LOSSES: Final = 2
"""Connections that one request may be on when they end."""
REQUEST_TIMEOUT_S: Final = 30.0
_RETRY_S: Final = 0.1
_CALL_TIMEOUT_MS: Final = 30_000
_CREATE_TOPICS_VERSION: Final = 7
_PRINCIPAL_VERSION: Final = 0
_MAX_WAITING: Final = 10_000
_NAMES_TOLD: Final = 10
"""In a line of the log: clients choose how many there are."""


@dataclass(slots=True)
class _Forwarded:
    """A request that waits for the controller. Without `request_id` it is the broker's own."""

    request_id: RequestId | None
    connection_id: ConnectionId
    body: Message
    version: int
    envelope: EnvelopeRequest
    deadline: Instant
    not_before: Instant
    losses: int = 0
    complete: Callable[[Message], Message] | None = None
    """Makes the client's answer of the controller's, when the broker has answered a part of the request itself."""


class Forwarder:
    def __init__(self, client_id: str, calls: CallIds, faults: FailedRequests) -> None:
        self._client_id = client_id
        self._calls = calls
        self._faults = faults
        self._waiting: list[_Forwarded] = []
        self._in_flight: dict[CallId, _Forwarded] = {}
        self._creating: set[str] = set()

    def forward(
        self, event: RequestReceived, now: Instant, complete: Callable[[Message], Message] | None = None
    ) -> list[NodeEffect]:
        if len(self._waiting) + len(self._in_flight) >= _MAX_WAITING:
            busy = refusal(event.body, ErrorCode.REQUEST_TIMED_OUT, "too many requests wait for the controller")
            return [Respond(event.request_id, busy if complete is None else complete(busy))]
        data = event.frame
        if data is None:
            body, version = event.body, event.api_version
            data = encode_request(body, version, event.correlation_id, event.client_id, with_length=False)
        sender = event.connection.connection_id
        kind, _, name = event.connection.principal.partition(":")
        envelope = _envelope(data, kind, name, event.connection.peer_address)
        deadline = Instant(now + REQUEST_TIMEOUT_S)
        self._waiting.append(
            _Forwarded(
                event.request_id, sender, event.body, event.api_version, envelope, deadline, now, complete=complete
            )
        )
        return []

    def create_topics(self, names: tuple[str, ...], now: Instant) -> None:
        """Ask for topics that a client named and nobody made; their size is the controller's default. Not for more than
        it makes for one request: it would refuse all of them, as Kafka's does; and a client that still wants some of
        them asks again."""
        new = [name for name in dict.fromkeys(names) if name not in self._creating]
        if not new or len(self._creating) + len(new) > MAX_PARTITIONS_PER_REQUEST:
            return
        self._creating.update(new)
        topics = tuple(CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in new)
        body = CreateTopicsRequest(topics=topics)
        data = encode_request(body, _CREATE_TOPICS_VERSION, 0, self._client_id, with_length=False)
        envelope = _envelope(data, "User", "ANONYMOUS", b"\x7f\x00\x00\x01")
        deadline = Instant(now + REQUEST_TIMEOUT_S)
        self._waiting.append(_Forwarded(None, ConnectionId(0), body, _CREATE_TOPICS_VERSION, envelope, deadline, now))

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._in_flight

    def next_deadline(self, *, reachable: bool) -> Instant | None:
        """Without a controller only running out of time is left."""
        if reachable:
            suspected = any(each.losses for each in self._in_flight.values())
            return min(
                (each.deadline if each.losses and suspected else each.not_before for each in self._waiting),
                default=None,
            )
        return min((each.deadline for each in self._waiting), default=None)

    def poll(self, controller: Endpoint | None, now: Instant) -> list[NodeEffect]:
        """Send what waits; give up what waited too long."""
        out: list[NodeEffect] = []
        suspected = any(each.losses for each in self._in_flight.values())
        for each in list(self._waiting):
            if now >= each.deadline:
                self._waiting.remove(each)
                out += self._refuse(each, ErrorCode.REQUEST_TIMED_OUT, "no controller answered")
            elif controller is not None and now >= each.not_before and not (each.losses and suspected):
                self._waiting.remove(each)
                suspected = suspected or each.losses > 0
                call_id = self._calls.next()
                self._in_flight[call_id] = each
                channel = SUSPECTS if each.losses else CHANNEL
                out.append(Call(call_id, channel, controller, each.envelope, _CALL_TIMEOUT_MS))
        return out

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> list[NodeEffect]:
        each = self._in_flight.pop(call_id)
        try:
            return self._on_answer(each, body, now)
        except ProtocolError as error:
            return self._refuse(each, ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
        except Exception as error:
            said = self._faults.count(each.body.KEY, "forwarded", error)
            return [said, *self._refuse(each, ErrorCode.UNKNOWN_SERVER_ERROR, "its answer cannot be told")]

    def _on_answer(self, each: _Forwarded, body: Message, now: Instant) -> list[NodeEffect]:
        assert isinstance(body, EnvelopeResponse), "an envelope is answered by one"
        if body.error_code == ErrorCode.NOT_CONTROLLER:
            self._again(each, now)
            return []
        if body.error_code != ErrorCode.NONE or body.response_data is None:
            words = f"the controller refused the envelope with error {body.error_code}"
            return self._refuse(each, ErrorCode.UNKNOWN_SERVER_ERROR, words)
        key = each.body.KEY
        assert key is not None, "only requests are forwarded"
        return self._answer(each, decode_response(body.response_data, key, each.version).body)

    def on_failure(self, call_id: CallId, why: CallFailure, now: Instant) -> list[NodeEffect]:
        each = self._in_flight.pop(call_id)
        each.losses += why is CallFailure.DISCONNECTED
        if why in (CallFailure.UNSUPPORTED_VERSION, CallFailure.MALFORMED):
            return self._refuse(each, ErrorCode.UNKNOWN_SERVER_ERROR, f"the controller could not be asked: {why.value}")
        if each.losses >= MAX_LOSSES:
            words = f"{each.losses} connections to the controller ended while it was asked"
            return self._refuse(each, ErrorCode.UNKNOWN_SERVER_ERROR, words)
        self._again(each, now)
        return []

    def _again(self, each: _Forwarded, now: Instant) -> None:
        each.not_before = Instant(now + _RETRY_S)
        self._waiting.append(each)

    def _refuse(self, each: _Forwarded, code: ErrorCode, words: str) -> list[NodeEffect]:
        try:
            return self._answer(each, refusal(each.body, code, words))
        except Exception as error:
            said = self._faults.count(each.body.KEY, "answered", error)
            if each.request_id is None:
                return [said]
            return [said, unknown_error(Asker(each.request_id, each.body, None, each.connection_id))]

    def _answer(self, each: _Forwarded, answer: Message) -> list[NodeEffect]:
        if each.request_id is not None:
            return [Respond(each.request_id, answer if each.complete is None else each.complete(answer))]
        assert isinstance(each.body, CreateTopicsRequest), "the broker itself asks for topics only"
        self._creating.difference_update(topic.name for topic in each.body.topics)
        names = [topic.name for topic in each.body.topics]
        more = f" and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else ""
        return [Log("info", f"asked for topics {', '.join(names[:_NAMES_TOLD])}{more}")]


def _envelope(request: bytes, kind: str, name: str, address: bytes) -> EnvelopeRequest:
    principal = encode(DefaultPrincipalData(type=kind, name=name), _PRINCIPAL_VERSION)
    return EnvelopeRequest(
        request_data=request,
        request_principal=_PRINCIPAL_VERSION.to_bytes(2, "big") + principal,
        client_host_address=address,
    )
