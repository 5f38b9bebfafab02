"""Delegation tokens: created, renewed, expired on request, and removed when their time is over (KIP-48).

The log has what a token is, never its HMAC, which is HMAC-SHA-512 of its id under the secret of the cluster: whoever
presents it proves that he was given the token. The HMACs of the tokens of the newest image are remembered, so that one
is found by a look-up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.answers.token_requests import NO_TIME, created_by, owner_of
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.controller.own_work import MAX_SWEPT
from controller_runtime.identifiers import Uuid, WallClock
from controller_runtime.metadata.features import DELEGATION_TOKENS, VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.security import DelegationToken
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_delegation_token_request import CreateDelegationTokenRequest
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.expire_delegation_token_request import ExpireDelegationTokenRequest
from controller_runtime.protocol.messages.expire_delegation_token_response import ExpireDelegationTokenResponse
from controller_runtime.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from controller_runtime.protocol.messages.renew_delegation_token_request import RenewDelegationTokenRequest
from controller_runtime.protocol.messages.renew_delegation_token_response import RenewDelegationTokenResponse
from controller_runtime.values import replace

_USER: Final = "User"
_LATEST: Final = 2**63 - 1


class DelegationTokens:
    def __init__(self, rules: SecurityRules, new_uuid: Callable[[], Uuid]) -> None:
        self._rules = rules
        self._new_uuid = new_uuid
        self._hmacs: dict[str, bytes] = {}
        self._ids: dict[bytes, str] = {}

    def create(self, image: MetadataImage, context: RequestContext, request: CreateDelegationTokenRequest) -> Decision:
        owner = owner_of(request, context.principal)
        answer = created_by(context.principal, owner, context.api_version)
        try:
            self._check(image, context)
            _check_principals(owner, request)
        except Refused as error:
            return Decision(replace(answer, error_code=error.code))
        token = self._new_token(owner, context, request)
        hmac_of_token = self._hmac(token.token_id)
        answer = replace(
            answer,
            issue_timestamp_ms=token.issue_timestamp,
            expiry_timestamp_ms=token.expiration_timestamp,
            max_timestamp_ms=token.max_timestamp,
            token_id=token.token_id,
            hmac=hmac_of_token,
        )
        return Decision(answer, (_record(token),))

    def _new_token(self, owner: str, context: RequestContext, request: CreateDelegationTokenRequest) -> DelegationToken:
        lifetime_ms = self._rules.token_max_lifetime_ms
        if request.max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, request.max_lifetime_ms)
        until = _later(context.wall, lifetime_ms)
        return DelegationToken(
            token_id=str(self._new_uuid()),
            owner=owner,
            requester=context.principal,
            renewers=tuple(f"{one.principal_type}:{one.principal_name}" for one in request.renewers),
            issue_timestamp=context.wall,
            max_timestamp=until,
            expiration_timestamp=min(until, _later(context.wall, self._rules.token_expiry_ms)),
        )

    def renew(self, image: MetadataImage, context: RequestContext, request: RenewDelegationTokenRequest) -> Decision:
        try:
            self._check(image, context)
            token = self._find(image, request.hmac)
            if _is_over(token, context.wall):
                raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)
            _check_owner(token, context.principal)
        except Refused as error:
            return Decision(RenewDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=_time_of(error)))
        period_ms = self._rules.token_expiry_ms
        if request.renew_period_ms > 0:
            period_ms = min(period_ms, request.renew_period_ms)
        renewed = _until(token, context.wall, period_ms)
        answer = RenewDelegationTokenResponse(expiry_timestamp_ms=renewed.expiration_timestamp)
        return Decision(answer, (_record(renewed),))

    def expire(self, image: MetadataImage, context: RequestContext, request: ExpireDelegationTokenRequest) -> Decision:
        """A negative period removes the token at once, even one whose time is over."""
        try:
            self._check(image, context)
            token = self._find(image, request.hmac)
            _check_owner(token, context.principal)
            if request.expiry_time_period_ms < 0:
                answer = ExpireDelegationTokenResponse(expiry_timestamp_ms=context.wall)
                return Decision(answer, ((RemoveDelegationTokenRecord(token_id=token.token_id), 0),))
            if _is_over(token, context.wall):
                raise Refused(ErrorCode.DELEGATION_TOKEN_EXPIRED)
        except Refused as error:
            return Decision(ExpireDelegationTokenResponse(error_code=error.code, expiry_timestamp_ms=_time_of(error)))
        expired = _until(token, context.wall, request.expiry_time_period_ms)
        answer = ExpireDelegationTokenResponse(expiry_timestamp_ms=expired.expiration_timestamp)
        return Decision(answer, (_record(expired),))

    def swept(self, image: MetadataImage, wall: WallClock) -> Iterator[VersionedRecord]:
        """The removal of those whose time is over, without end."""
        if self._rules.token_secret is None or image.features.metadata_version < DELEGATION_TOKENS:
            return
        for token in image.delegation_tokens.values():
            if _is_over(token, wall):
                yield RemoveDelegationTokenRecord(token_id=token.token_id), 0

    def _check(self, image: MetadataImage, context: RequestContext) -> None:
        """A broker has judged the connection of what it forwards; who asks directly has shown who he is; and who came
        with a token gets no other. Raises Refused.
        """
        if context.token_authenticated or not (context.forwarded or context.authenticated):
            raise Refused(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
        if self._rules.token_secret is None:
            raise Refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
        if image.features.metadata_version < DELEGATION_TOKENS:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)

    def _find(self, image: MetadataImage, presented: bytes) -> DelegationToken:
        """Raises Refused."""
        tokens = image.delegation_tokens
        if len(self._hmacs) > 2 * len(tokens) + MAX_SWEPT:
            self._hmacs.clear()
            self._ids.clear()
        for token_id in tokens:
            if token_id not in self._hmacs:
                self._hmac(token_id)
        token = tokens.get(self._ids.get(presented, ""))
        if token is None:
            raise Refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND)
        return token

    def _hmac(self, token_id: str) -> bytes:
        assert self._rules.token_secret is not None, "tokens are made with the secret of the cluster"
        import hmac  # With it comes OpenSSL, 3.7 MB that most nodes never need.

        found = hmac.digest(self._rules.token_secret, token_id.encode(), "sha512")
        self._hmacs[token_id], self._ids[found] = found, token_id
        return found


def _check_principals(owner: str, request: CreateDelegationTokenRequest) -> None:
    """Whoever comes with a token is the user of its owner's name: an owner of another type would be somebody else.
    Raises Refused.
    """
    if any(renewer.principal_type != _USER for renewer in request.renewers) or not owner.startswith(f"{_USER}:"):
        raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)


def _check_owner(token: DelegationToken, principal: str) -> None:
    if principal != token.owner and principal not in token.renewers:
        raise Refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH)


def _time_of(error: Refused) -> int:
    """As Kafka says it: -1 before anything was looked at, 0 after."""
    return NO_TIME if error.code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED else 0


def _is_over(token: DelegationToken, wall: WallClock) -> bool:
    return token.max_timestamp < wall or token.expiration_timestamp < wall


def _until(token: DelegationToken, wall: WallClock, period_ms: int) -> DelegationToken:
    return replace(token, expiration_timestamp=min(token.max_timestamp, _later(wall, period_ms)))


def _later(wall: WallClock, period_ms: int) -> int:
    return min(wall + period_ms, _LATEST)


def _record(token: DelegationToken) -> VersionedRecord:
    record = DelegationTokenRecord(
        owner=token.owner,
        requester=token.requester,
        renewers=token.renewers,
        issue_timestamp=token.issue_timestamp,
        max_timestamp=token.max_timestamp,
        expiration_timestamp=token.expiration_timestamp,
        token_id=token.token_id,
    )
    return record, 0
