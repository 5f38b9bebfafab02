"""The token that this process shows where it logs in by OAUTHBEARER: got beside the event loop, and replaced before its
end, as Apache Kafka's ExpiringCredentialRefreshingLogin does (`sasl.login.refresh.*`).

All connections of one `ClientSecurity` show the same one. While it cannot be replaced the old one is shown to its end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from controller_runtime.identifiers import WallClock
from controller_runtime.network.web import WebError, ask
from controller_runtime.security.listener_security import SecurityError
from controller_runtime.security.oauth.refresh import refresh_at
from controller_runtime.security.oauth.requests import (
    FINAL_STATUSES,
    NoToken,
    TokenRequest,
    by_assertion,
    by_secret,
    error_in,
    own_token,
    token_in,
)
from controller_runtime.security.oauth.settings import (
    Assertion,
    AssertionGrant,
    ClientTokens,
    Endpoint,
    FileToken,
    SecretGrant,
    UnsecuredToken,
)
from controller_runtime.security.oauth.tokens import BearerToken
from controller_runtime.security.oauth.unsecured import unsecured_token

log = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 10.0
"""After a refresh that failed."""
_MAX_FILE_BYTES: Final = 1 << 20


class OwnTokens:
    def __init__(self, settings: ClientTokens, wall: Callable[[], WallClock] | None = None) -> None:
        self.settings = settings
        self._wall = wall or (lambda: WallClock(time.time_ns() // 1_000_000))
        self._token = ""
        self._said: BearerToken | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._getting: asyncio.Task[None] | None = None

    async def token(self) -> str:
        """One that has not ended. Raises NoToken."""
        said = self._said
        if said is None or said.expires_at_ms <= self._wall():
            await self._get()
        return self._token

    async def _get(self) -> None:
        """Whoever waits for a token waits for the same one."""
        if self._getting is None or self._getting.done() or self._getting.get_loop() is not asyncio.get_running_loop():
            self._getting = asyncio.get_running_loop().create_task(self._got())
        await asyncio.shield(self._getting)

    async def _got(self) -> None:
        loop = asyncio.get_running_loop()
        token = await loop.run_in_executor(None, self._retrieve)
        said = own_token(token, self.settings.principal_claim)
        self._token, self._said = token, said
        self._plan(said)

    def _plan(self, said: BearerToken) -> None:
        now = self._wall()
        due = refresh_at(self.settings.refresh, said, now, int.from_bytes(os.urandom(4), "big") / (1 << 32))
        self._after(max(0.0, (due - now) / 1000))

    def _after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._renew)

    def _renew(self) -> None:
        task = asyncio.get_running_loop().create_task(self._get())
        task.add_done_callback(self._renewed)

    def _renewed(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.warning("the token stays as it is: %s", error)
            self._after(AGAIN_SECONDS)

    # Beside the loop. All raise NoToken.

    def _retrieve(self) -> str:
        source = self.settings.source
        try:
            match source:
                case FileToken():
                    return _text(source.path).strip()
                case UnsecuredToken():
                    return unsecured_token(source, self._wall())
                case SecretGrant():
                    return _asked(source.endpoint, lambda: by_secret(source))
                case AssertionGrant():
                    return _asked(source.endpoint, lambda: by_assertion(source, self._assertion(source.assertion)))
        except SecurityError as error:
            raise NoToken(str(error)) from error

    def _assertion(self, told: Assertion) -> str:
        if told.file is not None:
            return _text(told.file).strip()
        from controller_runtime.security.oauth.assertions import signed_assertion

        assert told.key_file is not None, "configuration asks for one of the two"
        template = None if told.template_file is None else _text(told.template_file)
        key = _text(told.key_file).encode()
        return signed_assertion(told, key, template, self._wall(), str(UUID(bytes=os.urandom(16), version=4)))


def _asked(endpoint: Endpoint, request: Callable[[], TokenRequest]) -> str:
    """From the endpoint, with pauses that double between attempts. Raises NoToken."""
    pause, left = endpoint.backoff_ms / 1000, endpoint.backoff_max_ms / 1000
    while True:
        why, is_final = "", False
        try:
            wanted = request()
            answer = ask(endpoint, "POST", wanted.headers, wanted.body)
            if answer.status in {200, 201}:
                return token_in(answer.body)
            why = f"the token endpoint answers with status {answer.status} and error {error_in(answer.body)}"
            is_final = answer.status in FINAL_STATUSES
        except WebError as error:
            why = f"the token endpoint gives no token: {error}"
        if is_final or left <= 0:
            raise NoToken(why)
        time.sleep(min(pause, left))
        left, pause = left - pause, pause * 2


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_MAX_FILE_BYTES)
    except (OSError, ValueError) as error:
        raise NoToken(f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from error
