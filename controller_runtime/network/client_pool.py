"""Outgoing connections by (channel, endpoint, security): made on first use, remade after a pause when they end.

A channel keeps one kind of traffic from blocking another; within it calls share one connection. Names are resolved anew
on every attempt, so a peer that returned under another address is found by the next one, at most one back-off later. A
call that comes during the pause waits for the next attempt, within its own deadline; a failed attempt fails all that
wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from controller_runtime.identifiers import Endpoint
from controller_runtime.network.client_connection import (
    MAX_UNANSWERED,
    CallError,
    ClientConnection,
    Failure,
    InFlightRequest,
)
from controller_runtime.network.client_security import IN_THE_CLEAR, ClientSecurity
from controller_runtime.network.resolve import Resolver, system_resolver
from controller_runtime.network.traffic import Traffic
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

log = logging.getLogger(__name__)

_TOLD_AS_THEY_ARE: Final = frozenset({Failure.MALFORMED, Failure.UNSUPPORTED_VERSION, Failure.UNAUTHENTICATED})
"""Nobody is served better by another attempt: whoever waits learns why."""


@dataclass(frozen=True, slots=True)
class ClientOptions:
    client_id: str
    software_version: str = "0.1.0"
    setup_timeout_seconds: float = 10.0
    """For resolving, connecting and ApiVersions together."""
    reconnect_backoff_seconds: float = 0.05
    reconnect_backoff_max_seconds: float = 0.5
    max_frame_bytes: int = 104857600


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """For metrics: what was asked and connected so far, and how many connections are open."""

    open_connections: int
    connections: int
    requests: int
    closed: int = 0
    responses: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    operations: int = 0
    """Reads and writes."""
    largest_request: int = 0
    """In bytes, since counts were taken before."""


class ClientPool:
    """All outgoing connections of a process. Belongs to the running loop."""

    def __init__(
        self,
        options: ClientOptions,
        jitter: Callable[[], float],
        resolver: Resolver = system_resolver,
        peer_disconnected: Callable[[Endpoint], None] | None = None,
        security: ClientSecurity = IN_THE_CLEAR,
    ) -> None:
        """`security`: of calls that name no other."""
        self.options = options
        self.security = security
        self.jitter = jitter
        self.resolver = resolver
        self.peer_disconnected = peer_disconnected
        self.traffic = Traffic()
        self._channels: dict[tuple[str, Endpoint, ClientSecurity], Channel] = {}

    def take_counts(self) -> PoolCounts:
        is_open = sum(channel.is_open for channel in self._channels.values())
        seen = self.traffic
        return PoolCounts(
            is_open,
            seen.connections,
            requests=seen.requests,
            closed=seen.closed,
            responses=seen.responses,
            bytes_out=seen.bytes_out,
            bytes_in=seen.bytes_in,
            operations=seen.reads + seen.requests,
            largest_request=seen.take_largest(),
        )

    def start_call(
        self,
        channel: str,
        endpoint: Endpoint,
        body: Message,
        timeout_seconds: float,
        done: Callable[[int, Message | CallError], None],
        security: ClientSecurity | None = None,
    ) -> InFlightRequest:
        """Send `body`; `done` follows exactly once (perhaps before this returns), unless the call is cancelled."""
        key = (channel, endpoint, security or self.security)
        line = self._channels.get(key)
        if line is None:
            line = self._channels[key] = Channel(self, endpoint, key[2])
        call = InFlightRequest(body, done)
        line.start(call, timeout_seconds)
        return call

    async def call(
        self, channel: str, endpoint: Endpoint, body: Message, timeout_seconds: float
    ) -> tuple[int, Message]:
        """Send and wait. Raises CallError."""
        answer: asyncio.Future[tuple[int, Message]] = asyncio.get_running_loop().create_future()

        def done(version: int, outcome: Message | CallError) -> None:
            if answer.done():
                return
            if isinstance(outcome, CallError):
                answer.set_exception(outcome)
            else:
                answer.set_result((version, outcome))

        call = self.start_call(channel, endpoint, body, timeout_seconds, done)
        try:
            return await answer
        finally:
            call.cancel()

    async def close(self) -> None:
        channels, self._channels = self._channels, {}
        tasks = [task for line in channels.values() if (task := line.close()) is not None]
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


class Channel:
    """The one connection of a channel to an endpoint, and the calls that wait for it."""

    def __init__(self, pool: ClientPool, endpoint: Endpoint, security: ClientSecurity) -> None:
        self._pool = pool
        self._endpoint = endpoint
        self._security = security
        self._loop = asyncio.get_running_loop()
        self._connection: ClientConnection | None = None
        self._waiting: deque[InFlightRequest] = deque()
        self._attempt: asyncio.Task[None] | None = None
        self._failures = 0
        self._not_before = 0.0
        self._closed = False

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def start(self, call: InFlightRequest, timeout_seconds: float) -> None:
        call.timer = self._loop.call_later(timeout_seconds, self._expire, call)
        if self._connection is not None and self._connection.is_ready and not self._waiting:
            self._connection.send(call)
            return
        if len(self._waiting) >= MAX_UNANSWERED:
            call.finish(CallError(Failure.REFUSED, f"{MAX_UNANSWERED} calls wait for a connection to {self._endpoint}"))
            return
        self._waiting.append(call)
        if self._attempt is None and self._connection is None:
            self._attempt = self._loop.create_task(self._connect())

    def close(self) -> asyncio.Task[None] | None:
        self._closed = True
        cause = CallError(Failure.DISCONNECTED, "shutting down")
        if self._connection is not None:
            self._connection.close(cause)
        self._fail_waiting(cause)
        if self._attempt is not None:
            self._attempt.cancel()
        return self._attempt

    def _expire(self, call: InFlightRequest) -> None:
        call.timer = None
        if call.correlation_id and self._connection is not None:
            self._connection.expire(call)
        else:
            with contextlib.suppress(ValueError):
                self._waiting.remove(call)
            call.finish(CallError(Failure.TIMED_OUT, f"no connection to {self._endpoint} in time"))

    async def _connect(self) -> None:
        pause = self._not_before - self._loop.time()
        if pause > 0:
            await asyncio.sleep(pause)
        established: asyncio.Future[None] = self._loop.create_future()
        try:
            async with asyncio.timeout(self._pool.options.setup_timeout_seconds):
                await self._open(established)
                await established
        except (OSError, TimeoutError, CallError) as error:
            self._attempt = None
            self._failed(error)
        except BaseException:
            self._attempt = None
            raise
        else:
            self._attempt = None
            if self._failures:
                log.info("%s is reached again", self._endpoint)
            self._failures = 0
            self._send_waiting()
            if self._waiting:  # the connection was lost again before this task ran
                self._attempt = self._loop.create_task(self._connect())

    async def _open(self, established: asyncio.Future[None]) -> None:
        """Try each address of the name in turn. Raises OSError."""
        last: OSError | None = None
        secured = self._security.connecting_to(self._endpoint.host)
        for host, port in await self._pool.resolver(self._endpoint.host, self._endpoint.port):
            try:
                await self._loop.create_connection(lambda: self._new_connection(established), host, port, **secured)
                return
            except OSError as error:
                last = self._security.fault(error)
        raise last or OSError(f"{self._endpoint.host} has no address")

    def _new_connection(self, established: asyncio.Future[None]) -> ClientConnection:
        def ready() -> None:
            if not established.done():
                established.set_result(None)

        def lost(cause: CallError, quiet: bool) -> None:
            if self._connection is connection:
                self._connection = None
            if not established.done():
                established.set_exception(cause)
            elif not self._closed:
                self._disconnected(quiet)

        options = self._pool.options
        connection = ClientConnection(
            str(self._endpoint),
            client_id=options.client_id,
            software_version=options.software_version,
            max_frame_bytes=options.max_frame_bytes,
            ready=ready,
            lost=lost,
            traffic=self._pool.traffic,
            login=self._security.security.login,
            tokens=self._security.tokens,
        )
        self._connection = connection
        return connection

    def _send_waiting(self) -> None:
        while self._waiting and self._connection is not None:
            call = self._waiting.popleft()
            if call.done is not None:  # not cancelled meanwhile
                self._connection.send(call)

    def _disconnected(self, quiet: bool) -> None:
        """An established connection ended: the next attempt may follow at once, a second one after the back-off."""
        self._not_before = self._loop.time() + self._pool.options.reconnect_backoff_seconds * (
            0.8 + 0.4 * self._pool.jitter()
        )
        if quiet and self._pool.peer_disconnected is not None:
            self._pool.peer_disconnected(self._endpoint)

    def _failed(self, error: Exception) -> None:
        options = self._pool.options
        if self._connection is not None:
            self._connection.close(CallError(Failure.REFUSED, "the connection was not ready in time"))
            self._connection = None
        if not self._failures:
            log.info("cannot reach %s, trying again: %s", self._endpoint, str(error) or "no answer in time")
        pause = min(options.reconnect_backoff_seconds * 2**self._failures, options.reconnect_backoff_max_seconds)
        self._failures = min(self._failures + 1, 16)
        self._not_before = self._loop.time() + pause * (0.8 + 0.4 * self._pool.jitter())
        if isinstance(error, CallError) and error.failure in _TOLD_AS_THEY_ARE:
            cause = error
        else:
            cause = CallError(
                Failure.REFUSED, f"cannot connect to {self._endpoint}: {str(error) or 'no answer in time'}"
            )
        self._fail_waiting(cause)

    def _fail_waiting(self, cause: CallError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            call.finish(cause)
