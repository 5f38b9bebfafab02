"""Requests that a broker forwards in an Envelope (KIP-590): unwrap, judge, wrap the answer.

The payload is the original request with its header. Whatever cannot be read inside is an error of the envelope. An
answer that says that this node is not the controller must be the envelope's own error 41, so that the broker looks for
the controller itself.
"""

from __future__ import annotations

from controller_runtime.parts.api_table import served
from controller_runtime.parts.asker import Asker
from controller_runtime.parts.effects import Inside, Respond
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.api_keys import ListenerType, api
from controller_runtime.protocol.codec import decode_prefix
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import (
    Request,
    UnsupportedApiVersion,
    decode_request,
    decode_request_header,
    encode_response,
)
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Unwrapped:
    request: Request[Message]
    principal: str
    token_authenticated: bool
    """He came with a delegation token."""
    address: bytes
    """Of the client."""


def unwrap(envelope: EnvelopeRequest) -> Unwrapped | EnvelopeResponse:
    """The request inside, or the answer that refuses the envelope."""
    try:
        principal = _principal(envelope.request_principal)
    except ProtocolError:
        return EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    if len(envelope.client_host_address) not in (4, 16):
        return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
    try:
        key = _key(envelope.request_data)
        if not api(key).is_forwardable:
            return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        request = decode_request(envelope.request_data)
    except ProtocolError:
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if key not in served(ListenerType.CONTROLLER):
        # The broker then closes its client's connection, which learns anew what is served. Closing ours would make it
        # retry for ever.
        return EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return Unwrapped(
        request, f"{principal.type}:{principal.name}", principal.token_authenticated, envelope.client_host_address
    )


def _key(frame: bytes) -> int:
    """Read before the version is looked at, as by Kafka."""
    try:
        header, _ = decode_request_header(frame)
    except UnsupportedApiVersion as error:
        header = error.header
    return header.request_api_key


def _principal(data: bytes | None) -> DefaultPrincipalData:
    if data is None or len(data) < 2:
        raise ProtocolError("an envelope names a principal")
    version = int.from_bytes(data[:2], "big", signed=True)
    if version not in DefaultPrincipalData.VERSIONS:
        raise ProtocolError(f"principal version {version}")
    principal, _ = decode_prefix(DefaultPrincipalData, data, version, 2)
    return principal


def wrap(response: Message, header: RequestHeader) -> EnvelopeResponse:
    """The answer to the request inside."""
    return EnvelopeResponse(response_data=encode_response(response, header, with_length=False))


def respond(asker: Asker, answer: Message) -> Respond:
    """The answer as it leaves: whole, if only a part of the request was served; wrapped, if the request came in an
    Envelope. Raises what encoding it raises.
    """
    if asker.narrowed is not None:
        answer = whole(asker.narrowed.completed(answer))
    header = asker.envelope
    if header is None:
        return Respond(asker.request_id, answer)
    return Respond(asker.request_id, wrap(answer, header), Inside(header, answer))


def not_controller() -> EnvelopeResponse:
    return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
