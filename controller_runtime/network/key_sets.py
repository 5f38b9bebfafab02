"""The public keys of an issuer, kept fresh: from a file, or from an endpoint that is asked beside the event loop.

Whoever is judged never waits: the keys that there are answer. An endpoint is asked at start (a failure is no start),
every `refresh_ms`, and at once for a key id that nobody knows, at most once a minute for each (KIP-768); while it does
not answer the old keys stay. A file is read anew when it has changed.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from controller_runtime.identifiers import WallClock
from controller_runtime.network.web import WebError, ask
from controller_runtime.security.listener_security import SecurityError
from controller_runtime.security.oauth.claims import judge
from controller_runtime.security.oauth.settings import SignedTokens
from controller_runtime.security.oauth.tokens import BearerToken, sections

if TYPE_CHECKING:
    from controller_runtime.security.oauth.signatures import KeySet

log = logging.getLogger(__name__)

MAX_KEY_ID_CHARACTERS: Final = 1000
MAX_MISSING: Final = 16
MISSING_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 1.0
"""How often a file is looked at."""
_MAX_FILE_BYTES: Final = 1 << 20


class IssuerKeys:
    """Of one listener. Belongs to the running loop."""

    def __init__(self, settings: SignedTokens, wall: Callable[[], WallClock]) -> None:
        self._settings = settings
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._keys: KeySet | None = None
        self._missing: OrderedDict[str, float] = OrderedDict()
        """Key ids that were asked for in vain, and until when they are not asked for again."""
        self._refreshing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._seen: tuple[int, int] | None = None
        self.refreshes = 0
        self.failed_refreshes = 0

    @property
    def _file(self) -> str | None:
        where = urlsplit(self._settings.keys.url)
        return unquote(where.path) if where.scheme.lower() == "file" else None

    async def open(self) -> None:
        """Raises SecurityError."""
        try:
            self._keys = await self._loop.run_in_executor(None, self._read)
        except (OSError, ValueError) as error:
            raise SecurityError(f"sasl.oauthbearer.jwks.endpoint.url: no keys from there: {error}") from error
        self._later()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._refreshing is not None:
            self._refreshing.cancel()

    def judge(self, token: str) -> BearerToken:
        """Raises BadToken."""
        from controller_runtime.security.oauth.signatures import UnknownKey

        assert self._keys is not None, "opened before anybody comes"
        found = sections(token)
        try:
            self._keys.check(token, found.header)
        except UnknownKey as unknown:
            self._miss(unknown.kid)
            raise
        return judge(found.claims, self._settings.rules, self._wall())

    def _read(self) -> KeySet:
        """Beside the loop. Raises OSError, BadKeySet."""
        from controller_runtime.security.oauth.signatures import read_key_set

        if (path := self._file) is not None:
            with open(path, "rb") as file:
                self._seen = _stamp(path)
                return read_key_set(file.read(_MAX_FILE_BYTES))
        answer = ask(self._settings.keys, "GET")
        if answer.status != 200:
            raise WebError(f"{urlsplit(self._settings.keys.url).hostname} answers with status {answer.status}")
        return read_key_set(answer.body)

    def _later(self) -> None:
        seconds = _LOOK_SECONDS if self._file is not None else self._settings.refresh_ms / 1000
        self._timer = self._loop.call_later(seconds, self._due)

    def _due(self) -> None:
        path = self._file
        if path is None or _stamp(path) != self._seen:
            self._refresh()
        self._later()

    def _miss(self, kid: str | None) -> None:
        if kid is None or len(kid) > MAX_KEY_ID_CHARACTERS or self._file is not None:
            return
        now = self._loop.time()
        until = self._missing.get(kid)
        if until is not None and until > now:
            return
        self._missing[kid] = now + MISSING_SECONDS
        self._missing.move_to_end(kid)
        if len(self._missing) > MAX_MISSING:
            self._missing.popitem(last=False)
        self._refresh()

    def _refresh(self) -> None:
        """One at a time, and never sooner than the one before has ended."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._loop.create_task(self._refreshed())

    async def _refreshed(self) -> None:
        keys = self._settings.keys
        pause, left = keys.backoff_ms / 1000, keys.backoff_max_ms / 1000
        while True:
            try:
                found = await self._loop.run_in_executor(None, self._read)
            except (OSError, ValueError, SecurityError) as error:
                self.failed_refreshes += 1
                if left <= 0 or self._file is not None:
                    log.warning("the keys of tokens stay as they are: %s", error)
                    return
                await asyncio.sleep(min(pause, left))
                left, pause = left - pause, pause * 2
            else:
                self.refreshes += 1
                self._keys = found
                for kid in found.key_ids:
                    self._missing.pop(kid or "", None)
                return


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
