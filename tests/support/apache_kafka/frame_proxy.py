"""A port in front of a node through which every request passes, to be changed on its way; answers pass as they are, and
are kept.

with FrameProxy(target=9093, change=lambda frame: frame) as proxy:
    ...                                     # clients connect to proxy.port
proxy.answers                               # (api key, frame without its length) of every answer
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO, Self


class FrameProxy:
    def __init__(self, target: int, change: Callable[[bytes], bytes]) -> None:
        self.target = target
        self.change = change
        self.answers: list[tuple[int, bytes]] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(0.2)
        self.port: int = self._listening.getsockname()[1]
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._threads[0].join(10)  # who is accepted after this loop would be waited for in vain
        for one in self._sockets:
            _end(one)
        for thread in self._threads:
            thread.join(10)
        for one in (self._listening, *self._sockets):
            one.close()

    def _start(self, work: Callable[[], None]) -> None:
        self._threads.append(thread := threading.Thread(target=work, daemon=True))
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = self._listening.accept()
            except TimeoutError:
                continue
            client.settimeout(None)
            self._sockets.append(client)
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self._sockets.append(server)
            asked: deque[int] = deque()
            self._start(lambda c=client, s=server, a=asked: self._requests(c, s, a))  # type: ignore[misc]
            self._start(lambda c=client, s=server, a=asked: self._responses(s, c, a))  # type: ignore[misc]

    def _requests(self, client: socket.socket, server: socket.socket, asked: deque[int]) -> None:
        for frame in _frames(client, server):
            changed = self.change(frame)
            asked.append(int.from_bytes(changed[:2], "big"))
            _send(server, changed)

    def _responses(self, server: socket.socket, client: socket.socket, asked: deque[int]) -> None:
        for frame in _frames(server, client):
            self.answers.append((asked.popleft(), frame))
            _send(client, frame)


def _frames(source: socket.socket, other: socket.socket) -> Iterator[bytes]:
    """Frames without their length, until the stream ends; then the other side ends too."""
    with source.makefile("rb") as stream:
        while len(size := _read(stream, 4)) == 4 and len(frame := _read(stream, int.from_bytes(size, "big"))) > 0:
            yield frame
    _end(other)


def _read(stream: BinaryIO, count: int) -> bytes:
    try:
        return stream.read(count)
    except OSError:
        return b""


def _send(target: socket.socket, frame: bytes) -> None:
    with suppress(OSError):  # the reader of this socket ends the pair
        target.sendall(len(frame).to_bytes(4, "big") + frame)


def _end(one: socket.socket) -> None:
    with suppress(OSError):  # it may have ended already
        one.shutdown(socket.SHUT_RDWR)
