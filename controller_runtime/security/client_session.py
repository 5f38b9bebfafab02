"""How a client of ours shows who it is, from the handshake on: each answer gives the next request, or the end.

The server has proven itself too where the mechanism can (SCRAM). A server that offers something weaker than what was
asked for changes nothing: a client speaks the one mechanism that it was given.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.security.sasl.oauthbearer import AGREED, client_first
from controller_runtime.security.sasl.plain import client_token
from controller_runtime.security.sasl.scram import ScramClient, ServerNotTrusted
from controller_runtime.security.sasl_settings import ClientLogin
from controller_runtime.security.scram_keys import ALGORITHMS
from controller_runtime.values import dataclass

EARLIEST: Final = 0.85
LATEST: Final = 0.95
"""Between these parts of its lifetime a session is begun anew (KIP-368)."""


class LoginFailed(Exception):
    """The server does not let us in, or is not who it should be; its words where it has any."""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    lifetime_ms: int
    """0: for ever."""

    def again_in_seconds(self, dice: float) -> float | None:
        """`dice` is uniform in [0, 1)."""
        if self.lifetime_ms <= 0:
            return None
        return self.lifetime_ms / 1000 * (EARLIEST + (LATEST - EARLIEST) * dice)


class ClientSession:
    def __init__(self, login: ClientLogin, nonce: str, bearer: str = "") -> None:
        """`bearer`: the token of OAUTHBEARER."""
        self._login = login
        self._bearer = bearer
        scram = login.mechanism in ALGORITHMS
        self._scram = (
            ScramClient(login.mechanism, login.user, login.password, nonce, by_token=login.by_token) if scram else None
        )
        self._is_proven = not scram

    @property
    def is_costly(self) -> bool:
        """Whether an answer may take long to be judged."""
        return self._scram is not None

    def begin(self) -> Message:
        return SaslHandshakeRequest(mechanism=self._login.mechanism)

    def on_answer(self, answer: Message) -> Message | LoggedIn:
        """The next request, or the end. Raises LoginFailed."""
        match answer:
            case SaslHandshakeResponse():
                return self._on_handshake(answer)
            case SaslAuthenticateResponse():
                return self._on_token(answer)
            case _:
                raise LoginFailed(f"{type(answer).__name__} is no answer to a login")

    def _on_handshake(self, answer: SaslHandshakeResponse) -> Message:
        if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            enabled = ", ".join(sorted(answer.mechanisms))
            raise LoginFailed(
                f"Client SASL mechanism '{self._login.mechanism}' not enabled in the server, enabled mechanisms are "
                f"[{enabled}]"
            )
        if answer.error_code:
            raise LoginFailed(f"the handshake is refused with error {answer.error_code}")
        return SaslAuthenticateRequest(auth_bytes=self._first())

    def _first(self) -> bytes:
        if self._scram is not None:
            return self._scram.first()
        if self._login.tokens is not None:
            return client_first(self._bearer, self._login.tokens.extensions)
        return client_token(self._login.user, self._login.password)

    def _on_token(self, answer: SaslAuthenticateResponse) -> Message | LoggedIn:
        if answer.error_code:
            raise LoginFailed(answer.error_message or f"the login is refused with error {answer.error_code}")
        if self._login.tokens is not None and answer.auth_bytes:
            return SaslAuthenticateRequest(auth_bytes=AGREED)  # it is refused, and the next answer says so
        if self._scram is None or self._is_proven:
            return LoggedIn(answer.session_lifetime_ms)
        try:
            token = self._scram.on_challenge(answer.auth_bytes)
        except ServerNotTrusted as error:
            raise LoginFailed(str(error)) from error
        if token is None:
            self._is_proven = True
            return LoggedIn(answer.session_lifetime_ms)
        return SaslAuthenticateRequest(auth_bytes=token)
