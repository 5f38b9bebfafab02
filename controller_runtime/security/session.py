"""One connection of a listener with SASL, from its first frame on: who is it, and for how long (KIP-43, 152, 368).

    step = session.on_frame(frame, now, wall)

The states and what is refused in each are SaslServerAuthenticator's. Before it is known who asks, nothing but
ApiVersions gets past the session, and of other APIs not even the body is read. Afterwards every frame passes until the
session's time is over; then only a new handshake does. Callers own the clock, the sockets and the delay of a failure;
a session that has said `Fail` or `Close` is of no further use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, cast

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.client_software import is_named
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import (
    UnsupportedApiVersion,
    decode_request_body,
    decode_request_header,
    encode_response,
)
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.server import Challenge, NotYet, Refused, ServerMechanism
from controller_runtime.values import dataclass, field

MIN_REAUTH_SECONDS: Final = 1.0
"""Sooner after the last one no re-authentication is begun."""
_FIRST_WITH_SOFTWARE: Final = 3
_SASL_HANDSHAKE: Final = ApiKey.SASL_HANDSHAKE.to_bytes(2, "big")

Mechanisms = Mapping[str, Callable[[], ServerMechanism]]
"""Those that are enabled; each call begins an exchange."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The frame is a request like any other."""


@dataclass(frozen=True, slots=True)
class Reply:
    """To be sent; the frame has its length."""

    frame: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Authenticated:
    """To be sent, and from now on it is known who asks."""

    frame: bytes = field(repr=False)
    identity: Identity


@dataclass(frozen=True, slots=True)
class Fail:
    """After a delay the frame is sent, if there is one, and the connection ends. `why` is for the log."""

    why: str
    frame: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Close:
    """The connection ends at once, without an answer."""

    why: str
    expired: bool = False
    """It was authenticated, and did not do it again in time."""


Step = Pass | Reply | Authenticated | Fail | Close

_PASS: Final = Pass()


class _State(Enum):
    FIRST = "nothing has come, or an ApiVersions that was refused"
    VERSIONS_KNOWN = "ApiVersions was answered: only a handshake may follow"
    EXCHANGE = "tokens of the mechanism"
    WRONG_MECHANISM = "a re-authentication began with another mechanism: the next frame ends it"
    COMPLETE = "it is known who asks"


class Session:
    def __init__(self, mechanisms: Mechanisms, max_reauth_ms: Mapping[str, int]) -> None:
        self.identity: Identity | None = None
        """Who asks, once that is known."""
        self._mechanisms = mechanisms
        self._max_reauth_ms = max_reauth_ms
        self._state = _State.FIRST
        self._raw_tokens = False
        """A handshake of version 0: tokens come and go without headers."""
        self._exchange: ServerMechanism | None = None
        self._mechanism = ""
        self._expires: Instant | None = None
        self._began: Instant | None = None
        """The last re-authentication."""

    def on_frame(self, frame: bytes, now: Instant, wall: WallClock) -> Step:
        if self._state is _State.COMPLETE:
            return _PASS if self._expires is None else self._on_limited(self._expires, frame, now)
        if self._state is _State.EXCHANGE and self._raw_tokens:
            return self._on_token(frame, None, now, wall)
        if self._state is _State.WRONG_MECHANISM:
            return Fail("the mechanism changed in a re-authentication")
        try:
            header, start = decode_request_header(frame)
        except UnsupportedApiVersion as error:
            if error.header.request_api_key == ApiKey.API_VERSIONS and self._state is _State.FIRST:
                return _PASS  # it is answered with the versions that there are, and may be asked again
            return Close(str(error))
        except ProtocolError as error:
            return Close(str(error))
        try:
            return self._on_request(frame, header, start, now, wall)
        except ProtocolError as error:
            return Close(str(error))

    @property
    def is_complete(self) -> bool:
        return self._state is _State.COMPLETE

    def _on_request(self, frame: bytes, header: RequestHeader, start: int, now: Instant, wall: WallClock) -> Step:
        key = header.request_api_key
        if self._state is _State.EXCHANGE:
            body = decode_request_body(frame, header, start).body
            if key != ApiKey.SASL_AUTHENTICATE:
                words = f"Unexpected Kafka request of type {ApiKey(key).name} during SASL authentication."
                return Fail(words, _out_of_place(body, header, words))
            return self._on_token(cast(SaslAuthenticateRequest, body).auth_bytes, header, now, wall)
        if key == ApiKey.SASL_HANDSHAKE:
            return self._on_handshake(decode_request_body(frame, header, start).body, header)
        if key == ApiKey.API_VERSIONS and self._state is _State.FIRST:
            asked = cast(ApiVersionsRequest, decode_request_body(frame, header, start).body)
            if header.request_api_version < _FIRST_WITH_SOFTWARE or is_named(asked):
                self._state = _State.VERSIONS_KNOWN
            return _PASS
        return Close(f"Unexpected Kafka request of type {ApiKey(key).name} during SASL handshake.")

    def _on_handshake(self, asked: Message, header: RequestHeader) -> Step:
        mechanism = cast(SaslHandshakeRequest, asked).mechanism
        enabled = tuple(self._mechanisms)
        begin = self._mechanisms.get(mechanism)
        if begin is None:
            answer = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
            return Fail("it asks for a SASL mechanism that is not enabled", encode_response(answer, header))
        reply = Reply(encode_response(SaslHandshakeResponse(mechanisms=enabled), header))
        if self.identity is not None and mechanism != self._mechanism:
            self._state = _State.WRONG_MECHANISM
            return reply
        self._mechanism, self._exchange = mechanism, begin()
        self._raw_tokens = header.request_api_version == 0
        self._state = _State.EXCHANGE
        return reply

    def _on_token(self, token: bytes, header: RequestHeader | None, now: Instant, wall: WallClock) -> Step:
        """`header`: of the request that brought it, if it came in one."""
        assert self._exchange is not None, "a handshake begins it"
        try:
            found = self._exchange.on_token(token)
            if isinstance(found, Challenge):
                return Reply(_with_length(found.data) if header is None else _answer(header, found.data))
            self._check_same(found.identity)
        except NotYet:
            return Close("the metadata log is not known yet, which says who may come")
        except Refused as refused:
            return self._refuse(refused, header)
        return self._complete(found.identity, found.data, header, now, wall)

    def _complete(
        self, identity: Identity, data: bytes, header: RequestHeader | None, now: Instant, wall: WallClock
    ) -> Step:
        lifetime_ms = self._lifetime_ms(identity, wall)
        self._expires = None if lifetime_ms is None else Instant(now + lifetime_ms / 1000)
        self._state, self._exchange, self.identity = _State.COMPLETE, None, identity
        frame = _with_length(data) if header is None else _answer(header, data, lifetime_ms or 0)
        return Authenticated(frame, identity)

    def _lifetime_ms(self, identity: Identity, wall: WallClock) -> int | None:
        """The least of what the credential has left and what the listener allows; None: for ever."""
        most = self._max_reauth_ms.get(self._mechanism, 0)
        ends = identity.expires_at_ms
        if ends is None:
            return most if most > 0 else None
        left = ends - wall
        return max(0, min(left, most) if most > 0 else left)

    def _check_same(self, identity: Identity) -> None:
        before = self.identity
        if before is None or (before.principal, before.token_authenticated) == (
            identity.principal,
            identity.token_authenticated,
        ):
            return
        change = f"{before.principal.replace(':', '.', 1)}: {identity.principal.replace(':', '.', 1)}"
        words = f"Cannot change principals during re-authentication from {change}"
        raise Refused("the principal changed in a re-authentication", words)

    def _refuse(self, refused: Refused, header: RequestHeader | None) -> Fail:
        why = f"Failed {'authentication' if self.identity is None else 're-authentication'} ({refused})"
        if header is None:
            return Fail(why)
        phase = "authentication" if self.identity is None else "re-authentication"
        generic = (
            f"Authentication failed during {phase} due to invalid credentials with SASL mechanism {self._mechanism}"
        )
        answer = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=refused.words or generic
        )
        return Fail(why, encode_response(answer, header))

    def _on_limited(self, expires: Instant, frame: bytes, now: Instant) -> Step:
        """A session that ends: a handshake begins it anew."""
        if frame[:2] == _SASL_HANDSHAKE and (self._began is None or now - self._began >= MIN_REAUTH_SECONDS):
            self._began = now
            try:
                header, start = decode_request_header(frame)
                return self._on_handshake(decode_request_body(frame, header, start).body, header)
            except ProtocolError as error:
                return Close(str(error))
        if now > expires:
            return Close("its session is over, and it has not authenticated again", expired=True)
        return _PASS


def _out_of_place(body: Message, header: RequestHeader, words: str) -> bytes | None:
    """In the shape of the API's own answer, where that can say an error."""
    try:
        return encode_response(refusal(body, ErrorCode.ILLEGAL_SASL_STATE, words), header)
    except Exception:
        return None


def _answer(header: RequestHeader, data: bytes, lifetime_ms: int = 0) -> bytes:
    return encode_response(SaslAuthenticateResponse(auth_bytes=data, session_lifetime_ms=lifetime_ms), header)


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
