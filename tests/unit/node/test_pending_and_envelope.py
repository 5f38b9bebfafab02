"""Replies wait for their commit; forwarded requests are unwrapped and their answers wrapped."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.node.active.pending import PendingReplies
from controller_runtime.parts import envelope
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.envelope import Unwrapped
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.schema import Message

pytestmark = pytest.mark.unit

ANNA = b"\0\0" + encode(DefaultPrincipalData(type="User", name="anna"), 0)


def asker(number: int) -> Asker:
    return Asker(RequestId(number), CreateTopicsRequest())


def test_replies_leave_in_order_when_their_offset_is_committed() -> None:
    pending = PendingReplies()
    for number, offset in ((1, 10), (2, 10), (3, 12)):
        pending.add(Offset(offset), asker(number), Respond(RequestId(number), CreateTopicsResponse()))
    assert pending.release(Offset(9)) == []
    assert [reply.asker.request_id for reply in pending.release(Offset(11))] == [1, 2]
    assert [reply.asker.request_id for reply in pending.take_all()] == [3]
    assert len(pending) == 0


def wrapped(
    body: Message, version: int, principal: bytes | None = ANNA, address: bytes = b"\x7f\0\0\1"
) -> EnvelopeRequest:
    inner = encode_request(body, version, 17, "client-1", with_length=False)
    return EnvelopeRequest(request_data=inner, request_principal=principal, client_host_address=address)


def test_a_forwarded_request_is_unwrapped_with_its_principal() -> None:
    found = envelope.unwrap(wrapped(CreateTopicsRequest(timeout_ms=5), 7))
    assert isinstance(found, Unwrapped)
    assert found.principal == "User:anna"
    assert found.request.body == CreateTopicsRequest(timeout_ms=5)


def test_the_answer_is_wrapped_with_the_correlation_of_the_inner_request() -> None:
    found = envelope.unwrap(wrapped(CreateTopicsRequest(), 7))
    assert isinstance(found, Unwrapped)
    answer = envelope.wrap(CreateTopicsResponse(throttle_time_ms=3), found.request.header)
    assert answer.response_data is not None
    inner = decode_response(answer.response_data, ApiKey.CREATE_TOPICS, 7)
    assert inner.header.correlation_id == 17
    assert inner.body == CreateTopicsResponse(throttle_time_ms=3)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (wrapped(CreateTopicsRequest(), 7, principal=b"\0\7garbage"), 97),
        (wrapped(CreateTopicsRequest(), 7, principal=None), 97),
        (wrapped(CreateTopicsRequest(), 7, address=b"\1\2\3"), 42),
        (wrapped(FetchRequest(), 17), 42),
        (
            EnvelopeRequest(
                request_data=b"\0\x13\0\x63garbage", request_principal=ANNA, client_host_address=b"\0\0\0\0"
            ),
            35,
        ),
        (EnvelopeRequest(request_data=b"", request_principal=ANNA, client_host_address=b"\0\0\0\0"), 35),
    ],
    ids=["bad principal", "no principal", "bad address", "not forwardable", "unknown version", "empty"],
)
def test_what_cannot_be_unwrapped_is_an_error_of_the_envelope(request_: EnvelopeRequest, code: int) -> None:
    answer = envelope.unwrap(request_)
    assert isinstance(answer, EnvelopeResponse)
    assert answer.error_code == code
