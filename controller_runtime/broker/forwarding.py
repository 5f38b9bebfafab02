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

from controller_runtime.answers.topic_names import MAX_PARTITIONS_PER_REQUEST
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.errands import ClientsRequest, Errand, RestOfRequest, TopicsToBeMade, refuse
from controller_runtime.broker.forwarding_queue import Forwarded, ForwardingQueue
from controller_runtime.broker.offsets_topic import InternalTopicToBeMade
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import (
    CallFailure,
    CallId,
    ConnectionInfo,
    RequestReceived,
    UnreadRequest,
)
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.schema import Message

CHANNEL: Final = "forwarding"
SUSPECTS: Final = "forwarding-again"
"""For a request that was on a connection that ended: nothing else is on this one."""
MAX_LOSSES: Final = 2
"""Connections that one request may be on when they end."""
REQUEST_TIMEOUT_S: Final = 60.0
"""Between a request and the last attempt to have it decided, whatever comes in between (Kafka's `retryTimeoutMs`)."""
_RETRY_S: Final = 0.1
_CALL_TIMEOUT_MS: Final = 30_000
CREATE_TOPICS_VERSION: Final = 7
_PRINCIPAL_VERSION: Final = 0
_MAX_WAITING: Final = 10_000


class Forwarder:
    def __init__(self, client_id: str, calls: CallIds, faults: FailedRequests) -> None:
        self._client_id = client_id
        self._calls = calls
        self._faults = faults
        self._waiting = ForwardingQueue()
        self._in_flight: dict[CallId, Forwarded] = {}
        self._tried_alone: CallId | None = None
        self._creating: set[str] = set()

    def forward(self, request: UnreadRequest, now: Instant) -> list[BrokerEffect]:
        """A client's request, as it came."""
        return self._accept(ClientsRequest(request), request.frame, request.connection, now)

    def forward_rest(
        self, event: RequestReceived, rest: Message, complete: Callable[[Message], Message], now: Instant
    ) -> list[BrokerEffect]:
        """What the broker has not answered itself of a request."""
        frame = encode_request(rest, event.api_version, event.correlation_id, event.client_id, with_length=False)
        return self._accept(RestOfRequest(event, rest, complete), frame, event.connection, now)

    def create_topics(self, names: tuple[str, ...], client: ConnectionInfo, now: Instant) -> None:
        """Ask for topics that a client named and nobody made, in its name; their size is the controller's default. Not
        for more than it makes for one request: it would refuse all of them, as Kafka's does; and a client that still
        wants some of them asks again."""
        new = tuple(name for name in dict.fromkeys(names) if name not in self._creating)
        if not new or len(self._creating) + len(new) > MAX_PARTITIONS_PER_REQUEST:
            return
        self._creating.update(new)
        topics = tuple(CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in new)
        self.create_for(TopicsToBeMade(new, self._creating), CreateTopicsRequest(topics=topics), client, now)

    def create_for(self, errand: Errand, body: CreateTopicsRequest, client: ConnectionInfo, now: Instant) -> None:
        """In the name of a client."""
        frame = encode_request(body, CREATE_TOPICS_VERSION, 0, self._client_id, with_length=False)
        self._wait(errand, _envelope(frame, client), now)

    def create_internal_topic(self, topic: CreatableTopic, now: Instant) -> None:
        """One that this broker needs for its clients, as it wants it: in its own name, so in no envelope."""
        if topic.name in self._creating:
            return
        self._creating.add(topic.name)
        errand = InternalTopicToBeMade(topic.name, self._creating)
        self._wait(errand, CreateTopicsRequest(topics=(topic,), timeout_ms=_CALL_TIMEOUT_MS), now)

    def _accept(self, errand: Errand, frame: bytes, connection: ConnectionInfo, now: Instant) -> list[BrokerEffect]:
        if len(self._waiting) + len(self._in_flight) >= _MAX_WAITING:
            return self._refuse(errand, ErrorCode.REQUEST_TIMED_OUT, "too many requests wait for the controller")
        self._wait(errand, _envelope(frame, connection), now)
        return []

    def _wait(self, errand: Errand, request: Message, now: Instant) -> None:
        self._waiting.add(Forwarded(errand, request, Instant(now + REQUEST_TIMEOUT_S), now))

    def owns(self, call_id: CallId) -> bool:
        return call_id in self._in_flight

    def next_deadline(self, *, reachable: bool) -> Instant | None:
        return self._waiting.next_deadline(reachable=reachable, is_one_tried=self._tried_alone is not None)

    def poll(self, controller: Endpoint | None, now: Instant) -> list[BrokerEffect]:
        """Send what waits; give up what waited too long."""
        out: list[BrokerEffect] = []
        self._waiting.wake(now)
        for each in self._waiting.take_expired(now):
            out += self._refuse(each.errand, ErrorCode.REQUEST_TIMED_OUT, "no controller answered")
        if controller is None:
            return out
        out += [self._send(each, CHANNEL, controller) for each in self._waiting.take_ready()]
        if self._tried_alone is None and (suspect := self._waiting.take_suspect()) is not None:
            call = self._send(suspect, SUSPECTS, controller)
            self._tried_alone = call.call_id
            out.append(call)
        return out

    def _send(self, each: Forwarded, channel: str, controller: Endpoint) -> Call:
        call_id = self._calls.next()
        self._in_flight[call_id] = each
        return Call(call_id, channel, controller, each.request, _CALL_TIMEOUT_MS)

    def _take(self, call_id: CallId) -> Forwarded:
        if call_id == self._tried_alone:
            self._tried_alone = None
        return self._in_flight.pop(call_id)

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> list[BrokerEffect]:
        each = self._take(call_id)
        try:
            return self._on_answer(each, body, now)
        except ProtocolError as error:
            return self._refuse(each.errand, ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
        except Exception as error:
            said = self._faults.count(each.errand.api_key, "forwarded", error)
            words = "its answer cannot be encoded"
            return [said, *self._refuse(each.errand, ErrorCode.UNKNOWN_SERVER_ERROR, words)]

    def _on_answer(self, each: Forwarded, body: Message, now: Instant) -> list[BrokerEffect]:
        if isinstance(body, CreateTopicsResponse):
            return self._on_made(each, body, now)
        assert isinstance(body, EnvelopeResponse), "an envelope is answered by one"
        if body.error_code == ErrorCode.NOT_CONTROLLER:
            self._again(each, now)
            return []
        if body.error_code == ErrorCode.UNSUPPORTED_VERSION:
            return each.errand.unreadable()
        if body.error_code != ErrorCode.NONE or body.response_data is None:
            words = f"the controller refused the envelope with error {body.error_code}"
            return self._refuse(each.errand, ErrorCode.UNKNOWN_SERVER_ERROR, words)
        return each.errand.answered(body.response_data)

    def _on_made(self, each: Forwarded, body: CreateTopicsResponse, now: Instant) -> list[BrokerEffect]:
        assert isinstance(each.errand, InternalTopicToBeMade), "the others travel in envelopes"
        if any(topic.error_code == ErrorCode.NOT_CONTROLLER for topic in body.topics):
            self._again(each, now)
            return []
        return each.errand.made(body)

    def on_failure(self, call_id: CallId, why: CallFailure, now: Instant) -> list[BrokerEffect]:
        each = self._take(call_id)
        each.losses += why is CallFailure.DISCONNECTED
        if why in (CallFailure.UNSUPPORTED_VERSION, CallFailure.MALFORMED):
            words = f"the controller could not be asked: {why.value}"
            return self._refuse(each.errand, ErrorCode.UNKNOWN_SERVER_ERROR, words)
        if each.losses >= MAX_LOSSES:
            words = f"{each.losses} connections to the controller ended while it was asked"
            return self._refuse(each.errand, ErrorCode.UNKNOWN_SERVER_ERROR, words)
        self._again(each, now)
        return []

    def _again(self, each: Forwarded, now: Instant) -> None:
        self._waiting.rest(each, Instant(now + _RETRY_S))

    def _refuse(self, errand: Errand, code: ErrorCode, words: str) -> list[BrokerEffect]:
        return refuse(errand, code, words, self._faults)


def _envelope(request: bytes, client: ConnectionInfo) -> EnvelopeRequest:
    kind, _, name = client.principal.partition(":")
    who = DefaultPrincipalData(type=kind, name=name, token_authenticated=client.token_authenticated)
    principal = encode(who, _PRINCIPAL_VERSION)
    return EnvelopeRequest(
        request_data=request,
        request_principal=_PRINCIPAL_VERSION.to_bytes(2, "big") + principal,
        client_host_address=client.peer_address,
    )
