"""What a broker does with requests about delegation tokens: who may ask for any, asks the controller through it; which
there are, it answers from its image.
"""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived, unread
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.schema import Message

DECIDED_BY_CONTROLLER: Final = (
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
)


def changed(
    forwarder: Forwarder, event: RequestReceived, request: Message, now: Instant, _: WallClock
) -> list[BrokerEffect]:
    """What is not allowed is not forwarded."""
    if event.connection.may_use_tokens:
        return forwarder.forward(unread(event), now)
    from controller_runtime.answers.token_requests import not_allowed

    return [Respond(event.request_id, not_allowed(request, event.connection.principal, event.api_version))]


def described(
    image: MetadataImage, event: RequestReceived, request: Any, rules: SecurityRules
) -> InPieces[BrokerEffect, Message]:
    from controller_runtime.answers.token_requests import describe_tokens, not_allowed

    if not event.connection.may_use_tokens:
        return not_allowed(request, event.connection.principal, event.api_version)
    return (yield from describe_tokens(image, request, rules))
