"""A small HTTP/1.1 responder for probes and metrics: GET and HEAD, one answer per connection.

Not a web server: a request head is at most 8 KiB, must arrive within ten seconds, has no body, and at most 64
connections are open. Routes are functions that return at once, so what this port answers is also the event loop's
heartbeat; one that has much to count may be a coroutine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Final, cast

from controller_runtime.values import dataclass

MAX_HEAD_BYTES: Final = 8192
MAX_SECONDS: Final = 10.0
MAX_CONNECTIONS: Final = 64

_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    content_type: str = "text/plain; charset=utf-8"


Route = Callable[[], Answer | Coroutine[None, None, Answer]]


class HttpPort:
    """Serves `routes` by path."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self.routes = routes
        self.open_connections = 0
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> int:
        """Returns the bound port. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), host or None, port)
        return cast(int, self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def answer(self, head: bytes) -> tuple[Answer, bool]:
        """The answer to a request head, and whether its body is wanted."""
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return Answer(400, "this is not an HTTP/1.1 request\n"), True
        if words[0] not in {b"GET", b"HEAD"}:
            return Answer(405, "only GET and HEAD are answered\n"), True
        route = self.routes.get(words[1].split(b"?", 1)[0].decode("latin-1"))
        if route is None:
            return Answer(404, f"there are {', '.join(sorted(self.routes))}\n"), words[0] == b"GET"
        try:
            found = route()
            return found if isinstance(found, Answer) else await found, words[0] == b"GET"
        except Exception as error:
            return Answer(500, f"{type(error).__name__}: {error}\n"), True


class _Connection(asyncio.Protocol):
    def __init__(self, port: HttpPort) -> None:
        self._port = port
        self._head = bytearray()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._port.open_connections += 1
        if self._port.open_connections > MAX_CONNECTIONS:
            self._transport.abort()
        else:
            self._timer = asyncio.get_running_loop().call_later(MAX_SECONDS, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._port.open_connections -= 1
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._head += data
        if self._answering is not None:
            return  # one question per connection
        if b"\r\n\r\n" in self._head:
            self._answering = asyncio.ensure_future(self._answer())
        elif len(self._head) > MAX_HEAD_BYTES:
            self._reply(Answer(431, "the request head is too large\n"), body_wanted=True)

    async def _answer(self) -> None:
        self._reply(*await self._port.answer(bytes(self._head)))

    def _reply(self, answer: Answer, body_wanted: bool) -> None:
        assert self._transport is not None
        body = answer.text.encode()
        head = (
            f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\nContent-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        ).encode()
        self._transport.write(head + (body if body_wanted else b""))
        self._transport.close()
