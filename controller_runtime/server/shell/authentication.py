"""The door of a listener with SASL: frames go to the connection's session, and past it what the session lets pass.

Nothing is decided here: `security.session` says what becomes of a frame, this sends, waits and closes. Who fails learns
it after a delay, in which nothing more is read from him and nobody else waits; who has not shown who he is within ten
seconds is given up, and of very many such connections the oldest.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Final, assert_never

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.network.connection import ServerConnection
from controller_runtime.security.mechanisms import server_mechanisms
from controller_runtime.security.sasl.oauthbearer import Judge
from controller_runtime.security.sasl.scram import ScramUsers
from controller_runtime.security.sasl_settings import SaslSettings
from controller_runtime.security.session import Authenticated, Close, Fail, Pass, Reply, Session
from controller_runtime.server.shell.requests import Requests

log = logging.getLogger(__name__)

MAX_GUESTS: Final = 10_000
"""Connections of one listener of whom it is not known yet who they are."""


class Authentication:
    """Implements `FrameHandler`, in front of the one that serves requests."""

    def __init__(
        self,
        requests: Requests,
        settings: SaslSettings,
        users: ScramUsers,
        wall: Callable[[], WallClock],
        judge: Judge | None = None,
    ) -> None:
        """`judge`: of tokens, where OAUTHBEARER is enabled."""
        self._requests = requests
        self._settings = settings
        self._wall = wall
        self._loop = asyncio.get_running_loop()
        self._mechanisms = server_mechanisms(settings, users, _nonce, judge)
        self._sessions: dict[ServerConnection, Session] = {}
        self._guests: dict[ServerConnection, asyncio.TimerHandle] = {}
        """Those who have not shown who they are, the oldest first, and until when they may."""

    # FrameHandler, called by the listener.

    def connection_opened(self, connection: ServerConnection) -> None:
        self._sessions[connection] = Session(self._mechanisms, self._settings.max_reauth_ms)
        connection.limit_frames(self._settings.max_receive_bytes)
        self._guests[connection] = self._loop.call_later(
            self._settings.deadline_seconds, connection.close, "it has not authenticated in time"
        )
        self._requests.connection_opened(connection)
        if len(self._guests) > MAX_GUESTS:
            next(iter(self._guests)).close("too many connections have not authenticated: it is the oldest of them")

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        try:
            step = self._sessions[connection].on_frame(frame, Instant(self._loop.time()), self._wall())
        except Exception as error:
            log.error("%s", self._requests.faults.count(None, "authenticated", error).text)
            connection.close("its login cannot be judged")
            return
        match step:
            case Pass():
                self._requests.frame_received(connection, frame)
            case Reply(answer):
                connection.reply(answer)
            case Authenticated(answer, identity):
                self._no_guest(connection)
                connection.limit_frames(None)
                self._requests.authenticated(connection, identity)
                connection.reply(answer)
            case Fail(why, last):
                self._requests.authentications.failed += 1
                log.info("refusing %s on %s: %s", connection.peer, connection.listener_name, why)
                self._loop.call_later(self._settings.failure_delay_seconds, _end, connection, last)
            case Close(why, expired):
                self._requests.authentications.expired += expired
                self._requests.authentications.failed += not expired
                connection.close(why)
            case _ as unknown:
                assert_never(unknown)

    def connection_closed(self, connection: ServerConnection) -> None:
        self._no_guest(connection)
        self._sessions.pop(connection, None)
        self._requests.connection_closed(connection)

    def _no_guest(self, connection: ServerConnection) -> None:
        timer = self._guests.pop(connection, None)
        if timer is not None:
            timer.cancel()


def _end(connection: ServerConnection, last: bytes | None) -> None:
    if last is None:
        connection.close("authentication failed")
        return
    connection.reply(last)
    connection.close_after_sending()


def _nonce() -> str:
    return os.urandom(20).hex()
