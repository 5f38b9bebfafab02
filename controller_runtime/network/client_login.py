"""Showing who we are on one outgoing connection, before its first request and again before the time is over (KIP-368).

Requests that come while it lasts wait for its end; those on their way are answered before, because a peer answers in
order. A login that is not answered in time ends the connection. The keys of SCRAM take thousands of hashes, as many as
the peer says: a thread makes them, and nobody else waits. A token of OAUTHBEARER is had before the login begins.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from controller_runtime.protocol.schema import Message
from controller_runtime.security.client_session import ClientSession, LoggedIn, LoginFailed
from controller_runtime.security.sasl_settings import ClientLogin

if TYPE_CHECKING:
    from controller_runtime.network.own_tokens import OwnTokens

DEADLINE_SECONDS: Final = 10.0
Answered = Callable[[Message], None]


class Login:
    """Of one connection. `ask` sends a request and gives the answer on, `done` hears when requests may be sent, `fail`
    why they may not.
    """

    def __init__(
        self,
        login: ClientLogin,
        ask: Callable[[Message, Answered], None],
        done: Callable[[], None],
        fail: Callable[[str], None],
        tokens: OwnTokens | None = None,
    ) -> None:
        """`tokens`: of OAUTHBEARER."""
        self._login = login
        self._tokens = tokens
        self._fetch: asyncio.Task[str] | None = None
        self._ask = ask
        self._done = done
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._session: ClientSession | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_in_progress(self) -> bool:
        return self._session is not None

    def begin(self) -> None:
        self._timer = self._loop.call_later(DEADLINE_SECONDS, self._fail, "the login is not answered in time")
        if self._tokens is None:
            self._begin("")
        else:
            self._fetch = self._loop.create_task(self._tokens.token())
            self._fetch.add_done_callback(self._fetched)

    def _fetched(self, fetch: asyncio.Task[str]) -> None:
        if fetch is not self._fetch or fetch.cancelled():
            return
        self._fetch = None
        if (error := fetch.exception()) is not None:
            self._fail(str(error))
        else:
            self._begin(fetch.result())

    def _begin(self, bearer: str) -> None:
        self._session = ClientSession(self._login, os.urandom(20).hex(), bearer)
        self._ask(self._session.begin(), self._on_answer)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._fetch is not None:
            self._fetch.cancel()
        self._session = self._timer = self._fetch = None

    def _on_answer(self, answer: Message) -> None:
        session = self._session
        assert session is not None, "only what was asked for is answered"
        if session.is_costly:
            made = self._loop.run_in_executor(None, session.on_answer, answer)
            made.add_done_callback(lambda done: self._go_on(session, done.result))
        else:
            self._go_on(session, lambda: session.on_answer(answer))

    def _go_on(self, session: ClientSession, result: Callable[[], Message | LoggedIn]) -> None:
        if self._session is not session:
            with contextlib.suppress(LoginFailed, asyncio.CancelledError):
                result()
            return
        try:
            following = result()
        except LoginFailed as failed:
            self._fail(str(failed))
            return
        if isinstance(following, LoggedIn):
            self._end(following)
        else:
            self._ask(following, self._on_answer)

    def _end(self, session: LoggedIn) -> None:
        self.close()
        again = session.again_in_seconds(int.from_bytes(os.urandom(4), "big") / (1 << 32))
        if again is not None:
            self._timer = self._loop.call_later(again, self.begin)
        self._done()
