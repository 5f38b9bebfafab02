"""A broker forwards what a client sent as it came, rides out a leader that dies, and turns no request into a stream of
them.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.refusals import refusal
from controller_runtime.identifiers import Endpoint, Instant
from controller_runtime.node import envelope
from controller_runtime.node.broker_forwarding import CHANNEL, MAX_LOSSES, SUSPECTS, Forwarder
from controller_runtime.node.effects import Call, Log, NodeEffect, Respond
from controller_runtime.node.events import CallFailure, ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.node.faults import FailedRequests
from controller_runtime.node.metadata_replica import CallIds
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.protocol.schema import Message

pytestmark = pytest.mark.unit

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
        self.said: list[str] = []

    def ask(self, name: str = "orders", frame: bytes | None = None) -> int:
        self.asked += 1
        body = CreateTopicsRequest(topics=(CreatableTopic(name=name),))
        event = RequestReceived(
            RequestId(self.asked), ConnectionInfo(ConnectionId(self.asked), "PLAINTEXT"), ApiKey.CREATE_TOPICS, 7,
            "c", body, 3, frame,
        )  # fmt: skip
        self.take(self.forwarder.forward(event, self.now))
        return self.asked

    def take(self, effects: list[NodeEffect]) -> list[Call]:
        calls = []
        for effect in effects:
            match effect:
                case Respond(request_id, body):
                    self.answers[request_id] = body
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
    assert desk.forwarder.next_deadline(reachable=True) == Instant(130.0), "the other one waits for the one in flight"
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
        EnvelopeResponse(error_code=999),
        EnvelopeResponse(),
        MetadataResponse(),
    ],
    ids=["bytes that are no answer", "an error that Kafka does not have", "nothing", "another message"],
)
def test_an_answer_that_is_none_costs_the_request(answer: Message) -> None:
    desk = Desk()
    number = desk.ask()
    (call,) = desk.poll()
    desk.answer(call, answer)
    assert desk.answers[number] == refusal(
        CreateTopicsRequest(topics=(CreatableTopic(name="orders"),)),
        ErrorCode.UNKNOWN_SERVER_ERROR,
        desk.answers[number].topics[0].error_message,  # type: ignore[attr-defined]
    )
