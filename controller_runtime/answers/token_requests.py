"""What brokers and controllers answer alike to requests about delegation tokens (KIP-48): the shape of an answer, that
they are not allowed to who has not shown who he is, or came with a token himself, as Apache Kafka says before it looks
at anything; and which tokens there are, which a broker answers from its image.
"""

from __future__ import annotations

from typing import Final, NoReturn

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.security import DelegationToken
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_delegation_token_request import CreateDelegationTokenRequest
from controller_runtime.protocol.messages.create_delegation_token_response import CreateDelegationTokenResponse
from controller_runtime.protocol.messages.describe_delegation_token_request import DescribeDelegationTokenRequest
from controller_runtime.protocol.messages.describe_delegation_token_response import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenResponse,
)
from controller_runtime.protocol.messages.expire_delegation_token_request import ExpireDelegationTokenRequest
from controller_runtime.protocol.messages.expire_delegation_token_response import ExpireDelegationTokenResponse
from controller_runtime.protocol.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from controller_runtime.protocol.messages.renew_delegation_token_response import RenewDelegationTokenResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

NO_TIME: Final = -1


def not_allowed(request: Message, principal: str, version: int) -> Message:
    """`principal`: who asks, `User:ann`."""
    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    match request:
        case CreateDelegationTokenRequest():
            return replace(created_by(principal, owner_of(request, principal), version), error_code=code)
        case RenewDelegationTokenRequest():
            return RenewDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NO_TIME)
        case ExpireDelegationTokenRequest():
            return ExpireDelegationTokenResponse(error_code=code, expiry_timestamp_ms=NO_TIME)
        case _:
            return DescribeDelegationTokenResponse(error_code=code)


def owner_of(request: CreateDelegationTokenRequest, requester: str) -> str:
    """For whom a token is wanted: for the requester himself, unless it names another."""
    name = request.owner_principal_name
    return f"{request.owner_principal_type or ''}:{name}" if name else requester


def created_by(requester: str, owner: str, version: int) -> CreateDelegationTokenResponse:
    """Before version 3 the answer cannot name the requester."""
    kind, _, name = owner.partition(":")
    requester_kind, _, requester_name = requester.partition(":") if version >= 3 else ("", "", "")
    return CreateDelegationTokenResponse(
        principal_type=kind,
        principal_name=name,
        token_requester_principal_type=requester_kind,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


def describe_tokens(
    image: MetadataImage, request: DescribeDelegationTokenRequest, rules: SecurityRules
) -> InPieces[NoReturn, DescribeDelegationTokenResponse]:
    """Those of the owners that are asked for, that they asked for or may renew; without any that are asked for, all."""
    if rules.token_secret is None:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners: set[str] = set()
    for one in request.owners or ():
        owners.add(f"{one.principal_type}:{one.principal_name}")
        yield None
    tokens: list[DescribedDelegationToken] = []
    for token in image.delegation_tokens.values():
        if request.owners is None or not owners.isdisjoint((token.owner, token.requester, *token.renewers)):
            tokens.append(_described(token, rules.token_secret))
        yield None
    return DescribeDelegationTokenResponse(tokens=tuple(tokens))


def _described(token: DelegationToken, secret: bytes) -> DescribedDelegationToken:
    import hmac  # With it comes OpenSSL, 3.7 MB that most nodes never need.

    kind, _, name = token.owner.partition(":")
    requester_kind, _, requester = token.requester.partition(":")
    return DescribedDelegationToken(
        principal_type=kind,
        principal_name=name,
        token_requester_principal_type=requester_kind,
        token_requester_principal_name=requester,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=hmac.digest(secret, token.token_id.encode(), "sha512"),
        renewers=tuple(
            DescribedDelegationTokenRenewer(
                principal_type=each.partition(":")[0], principal_name=each.partition(":")[2]
            )
            for each in token.renewers
        ),
    )
