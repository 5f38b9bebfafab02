"""What a client of SASL sends, frame by frame, and what it reads: to talk to a session, or to a listener."""

from __future__ import annotations

from typing import Final, TypeVar, cast

from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.protocol.schema import Message

M = TypeVar("M", bound=Message)
CORRELATION: Final = 5


def framed(body: Message, version: int) -> bytes:
    """Without its length."""
    return encode_request(body, version, CORRELATION, "tester", with_length=False)


def versions(version: int = 3, name: str = "tester") -> bytes:
    body = ApiVersionsRequest(client_software_name=name, client_software_version="1.0")
    return framed(body if version >= 3 else ApiVersionsRequest(), version)


def handshake(mechanism: str, version: int = 1) -> bytes:
    return framed(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(token: bytes, version: int = 2) -> bytes:
    return framed(SaslAuthenticateRequest(auth_bytes=token), version)


def read_handshake(frame: bytes, version: int = 1) -> SaslHandshakeResponse:
    """`frame`: with its length."""
    return cast(SaslHandshakeResponse, decode_response(frame[4:], 17, version).body)


def read_authenticate(frame: bytes, version: int = 2) -> SaslAuthenticateResponse:
    return cast(SaslAuthenticateResponse, decode_response(frame[4:], 36, version).body)
