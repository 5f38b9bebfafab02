"""What is wrong with a forwarded request is told in its envelope, in a way that a broker knows what to do with."""

from __future__ import annotations

import pytest

from controller_runtime.parts.envelope import Unwrapped, unwrap
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.schema import Message

pytestmark = pytest.mark.unit

ANNA = bytes(2) + encode(DefaultPrincipalData(type="User", name="anna"), 0)
LOOPBACK = bytes((127, 0, 0, 1))


def envelope(body: Message, version: int, principal: bytes = ANNA, address: bytes = LOOPBACK) -> EnvelopeRequest:
    frame = encode_request(body, version, 7, "client")[4:]
    return EnvelopeRequest(request_data=frame, request_principal=principal, client_host_address=address)


def test_a_request_that_is_served_comes_out_with_its_principal() -> None:
    found = unwrap(envelope(CreateTopicsRequest(), 7))
    assert isinstance(found, Unwrapped)
    assert (found.request.body, found.principal) == (CreateTopicsRequest(), "User:anna")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (envelope(CreateTopicsRequest(), 7, principal=b""), 97),
        (envelope(CreateTopicsRequest(), 7, principal=ANNA[:-1]), 97),
        (envelope(CreateTopicsRequest(), 7, address=bytes(5)), 42),
        (EnvelopeRequest(request_data=b"\x00", request_principal=ANNA, client_host_address=LOOPBACK), 35),
        (envelope(MetadataRequest(), 12), 42),
    ],
    ids=["no principal", "half a principal", "no address", "half a request", "not forwardable"],
)
def test_what_is_refused(sent: EnvelopeRequest, code: int) -> None:
    """API-03."""
    assert unwrap(sent) == EnvelopeResponse(error_code=code)
