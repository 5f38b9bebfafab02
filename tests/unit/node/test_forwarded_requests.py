"""A broker forwards what a client sent as it came, rides out a leader that dies, and turns no request into a stream of
them.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from controller_runtime.broker.effects import BrokerEffect, Relay
from controller_runtime.broker.forwarding import CHANNEL, MAX_LOSSES, SUSPECTS, Forwarder
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.parts import envelope
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call, CloseConnection, Log, Respond
from controller_runtime.parts.events import CallFailure, ConnectionId, ConnectionInfo, RequestId, UnreadRequest
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.schema import Message

if TYPE_CHECKING:
    from _typeshed import TraceFunction

pytestmark = pytest.mark.unit

VERSION = 7
LEADERS = [Endpoint(f"controller-{n}", 9093) for n in range(10)]


class Desk:
    """A forwarder, its time, and which controller leads now."""

    def __init__(self) -> None:
        self.faults = FailedRequests()
        self.forwarder = Forwarder("broker-11", CallIds(), self.faults)
        self.now = Instant(100.0)
        self.leader: Endpoint | None = LEADERS[0]
        self.asked = 0
        self.answers: dict[int, Message] = {}
        self.relayed: dict[int, bytes] = {}
        self.closed: list[int] = []
        self.said: list[str] = []

    def ask(self, name: str = "orders", frame: bytes | None = None) -> int:
        self.asked += 1
        if frame is None:
            body = CreateTopicsRequest(topics=(CreatableTopic(name=name),))
            frame = encode_request(body, VERSION, self.asked, "c", with_length=False)
        connection = ConnectionInfo(ConnectionId(self.asked), "PLAINTEXT")
        request = UnreadRequest(RequestId(self.asked), connection, ApiKey.CREATE_TOPICS, VERSION, self.asked, frame)
        self.take(self.forwarder.forward(request, self.now))
        return self.asked

    def take(self, effects: list[BrokerEffect]) -> list[Call]:
        calls = []
        for effect in effects:
            match effect:
                case Respond(request_id, body):
                    self.answers[request_id] = body
                case Relay(request_id, frame):
                    self.relayed[request_id] = frame
                    self.answers[request_id] = decode_response(frame, ApiKey.CREATE_TOPICS, VERSION).body
                case CloseConnection(connection_id):
                    self.closed.append(connection_id)
                case Log(_, text):
                    self.said.append(text)
                case Call():
                    calls.append(effect)
                case _:
                    raise AssertionError(f"unexpected: {effect}")
        return calls

    def poll(self, later: float = 0.0) -> list[Call]:
        self.now = Instant(self.now + later)
        return self.take(self.forwarder.poll(self.leader, self.now))

    def lose(self, *calls: Call) -> None:
        for call in calls:
            self.take(self.forwarder.on_failure(call.call_id, CallFailure.DISCONNECTED, self.now))

    def answer(self, call: Call, body: Message | None = None) -> None:
        self.take(self.forwarder.on_response(call.call_id, body or made(call), self.now))

    def error_of(self, number: int) -> int:
        body = self.answers[number]
        assert isinstance(body, CreateTopicsResponse)
        return body.topics[0].error_code if body.topics else 0


def made(call: Call) -> EnvelopeResponse:
    assert isinstance(call.body, EnvelopeRequest)
    inner = envelope.unwrap(call.body)
    assert isinstance(inner, envelope.Unwrapped)
    return envelope.wrap(CreateTopicsResponse(), inner.request.header)


def test_a_request_is_forwarded_in_the_bytes_that_came() -> None:
    desk = Desk()
    desk.ask(frame=b"whatever the client sent")
    (call,) = desk.poll()
    assert isinstance(call.body, EnvelopeRequest)
    assert call.body.request_data == b"whatever the client sent"


def test_a_request_on_which_two_connections_ended_is_answered_and_goes_to_no_third_controller() -> None:
    desk = Desk()
    poison = desk.ask()
    asked = []
    for leader in LEADERS:
        desk.leader = leader
        calls = desk.poll(0.2)
        asked += [call.endpoint for call in calls]
        desk.lose(*calls)
    assert asked == LEADERS[:MAX_LOSSES]
    assert desk.error_of(poison) == ErrorCode.UNKNOWN_SERVER_ERROR


def test_who_was_on_a_connection_that_somebody_else_ended_is_answered() -> None:
    """Ten requests and a poisoned one share the connection, which ends. Each is then tried alone, on
    another channel.
    """
    desk = Desk()
    numbers = [desk.ask(f"orders-{n}") for n in range(11)]
    poison = numbers[4]
    calls = desk.poll()
    assert {call.channel for call in calls} == {CHANNEL}
    desk.lose(*calls)
    for _ in range(200):
        alone = desk.poll(0.1)
        if not alone:
            break
        (call,) = alone
        assert call.channel == SUSPECTS
        if b"orders-4" in call.body.request_data:  # type: ignore[attr-defined]
            desk.lose(call)
        else:
            desk.answer(call)
    assert [number for number in numbers if desk.error_of(number)] == [poison]


def test_while_one_is_tried_alone_new_ones_are_forwarded_and_nobody_spins() -> None:
    desk = Desk()
    for _ in range(2):
        desk.ask()
    desk.lose(*desk.poll())
    assert len(desk.poll(0.1)) == 1
    assert desk.forwarder.next_deadline(reachable=True) == Instant(160.0), "the other one waits for the one in flight"
    desk.ask()
    (new,) = desk.poll()
    assert new.channel == CHANNEL


def test_a_leader_that_died_is_ridden_out_by_who_was_only_there() -> None:
    """The connection ends, then nobody is reached, then two controllers say that they do not lead."""
    desk = Desk()
    number = desk.ask()
    desk.lose(*desk.poll())
    for _ in range(20):
        (call,) = desk.poll(0.1)
        desk.take(desk.forwarder.on_failure(call.call_id, CallFailure.REFUSED, desk.now))
    for leader in LEADERS[1:3]:
        desk.leader = leader
        (call,) = desk.poll(0.1)
        desk.answer(call, envelope.not_controller())
    desk.leader = LEADERS[3]
    (call,) = desk.poll(0.1)
    desk.answer(call)
    assert desk.error_of(number) == 0


@pytest.mark.parametrize(
    "answer",
    [
        EnvelopeResponse(response_data=b"\x00"),
        EnvelopeResponse(response_data=b"\0\0\0\x63\0the answer to another request"),
        EnvelopeResponse(error_code=999),
        EnvelopeResponse(),
        MetadataResponse(),
    ],
    ids=[
        "bytes that are no answer",
        "somebody else's answer",
        "an error that Kafka does not have",
        "nothing",
        "another message",
    ],
)
def test_an_answer_that_is_none_costs_the_request(answer: Message) -> None:
    """ACL-30: errors of the envelope are no business of the client, who hears -1."""
    desk = Desk()
    number = desk.ask()
    (call,) = desk.poll()
    desk.answer(call, answer)
    assert desk.answers[number] == refusal(
        CreateTopicsRequest(topics=(CreatableTopic(name="orders"),)),
        ErrorCode.UNKNOWN_SERVER_ERROR,
        desk.answers[number].topics[0].error_message,  # type: ignore[attr-defined]
    )


def test_the_answer_reaches_the_client_in_the_bytes_that_the_controller_gave() -> None:
    desk = Desk()
    number = desk.ask()
    (call,) = desk.poll()
    answer = made(call)
    desk.answer(call, answer)
    assert desk.relayed == {number: answer.response_data}


def test_what_the_controller_cannot_read_ends_the_connection_of_who_sent_it() -> None:
    """As by Kafka, whose controllers answer UNSUPPORTED_VERSION too. The others on the channel are answered."""
    desk = Desk()
    good = desk.ask()
    bad = desk.ask(frame=encode_request(CreateTopicsRequest(), VERSION, 2, "c", with_length=False)[:-2])
    calls = desk.poll()
    for call in calls:
        assert isinstance(call.body, EnvelopeRequest)
        read = envelope.unwrap(call.body)
        desk.answer(call, read if isinstance(read, EnvelopeResponse) else None)
    assert (desk.closed, list(desk.answers)) == ([bad], [good])


def test_what_nobody_can_read_ends_its_connection_even_when_no_controller_is_there() -> None:
    desk = Desk()
    desk.leader = None
    bad = desk.ask(frame=encode_request(CreateTopicsRequest(), VERSION, 1, "c", with_length=False)[:-2])
    good = desk.ask()
    assert desk.poll(59.9) == []
    assert desk.answers == {}
    desk.poll(0.1)
    assert desk.closed == [bad]
    assert desk.error_of(good) == ErrorCode.REQUEST_TIMED_OUT


def test_a_poll_looks_at_what_is_due_and_at_nothing_else() -> None:
    """Ten thousand wait for a controller: a poll between two events costs as little as with one."""
    desk = Desk()
    desk.leader = None
    for _ in range(9_999):
        desk.ask()
    lines = 0

    def count(_: FrameType, event: str, __: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        desk.forwarder.poll(None, desk.now)
        desk.forwarder.next_deadline(reachable=False)
    finally:
        sys.settrace(None)
    assert lines < 60
    desk.leader = LEADERS[0]
    assert len(desk.poll()) == 9_999


def test_a_client_whose_request_the_controller_does_not_serve_has_to_learn_anew_what_is_served() -> None:
    """ACL-30, as by Kafka: its connection ends, though the request can be read here."""
    desk = Desk()
    number = desk.ask()
    (call,) = desk.poll()
    desk.answer(call, EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    assert (desk.closed, desk.answers) == ([number], {})
