"""When the next request of a connection is taken up: once, in its turn, and not while the connection is held."""

from __future__ import annotations

import asyncio

import pytest

from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.server.shell.throttling import Throttled


class Wire(asyncio.Transport):
    """A peer who reads all."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        del high, low

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: object) -> None:
        del data

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Throttling:
    """Answers at once, and tells every client to wait."""

    def __init__(self) -> None:
        self.throttled = Throttled()
        self.frames: list[bytes] = []

    def connection_opened(self, connection: ServerConnection) -> None: ...

    def connection_closed(self, connection: ServerConnection) -> None:
        self.throttled.forget(connection)

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        self.frames.append(frame)
        self.throttled.mute(connection, 200)
        connection.reply(b"answer")


def frames(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


async def test_a_request_that_comes_with_its_connection_is_followed_by_the_next_when_its_client_has_waited(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Data may arrive in the turn of the loop that accepts the connection: being let in does not end a wait."""
    handler = Throttling()
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))
    connection = ServerConnection(SocketServer("CLIENTS", handler, ListenerLimits()))
    connection.connection_made(Wire())
    connection.data_received(frames(b"one", b"two", b"three"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert handler.frames == [b"one"]
    while len(handler.frames) < 3:
        await asyncio.sleep(0.02)
    assert handler.frames == [b"one", b"two", b"three"]
    assert not faults
    assert not caplog.records


async def test_a_held_connection_takes_nothing_up_when_its_answer_has_left() -> None:
    taken: list[bytes] = []

    class Quiet(Throttling):
        def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
            taken.append(frame)

    connection = ServerConnection(SocketServer("CLIENTS", Quiet(), ListenerLimits()))
    connection.connection_made(Wire())
    connection.data_received(frames(b"one", b"two"))
    connection.hold()
    connection.finish()
    await asyncio.sleep(0.01)
    assert taken == [b"one"]
    connection.release()
    await asyncio.sleep(0.01)
    assert taken == [b"one", b"two"]
