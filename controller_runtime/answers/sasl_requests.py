"""SaslHandshake and SaslAuthenticate where nobody has to say who he is, or has said it: out of turn, as in Kafka."""

from __future__ import annotations

from typing import Final

from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.protocol.schema import Message

SASL_REQUESTS: Final = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
_WORDS: Final = "SaslAuthenticate request received after successful authentication"


def out_of_turn(request: Message) -> Message:
    if isinstance(request, SaslHandshakeRequest):
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=_WORDS)
