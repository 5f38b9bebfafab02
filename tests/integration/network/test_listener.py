from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable

import pytest

from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.connection_quotas import ConnectionLimits, ConnectionQuotas
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from support.nodes.peers import frame_of

pytestmark = pytest.mark.integration


class Echo:
    """Answers each frame with `times` copies of itself; keeps those that say `park` waiting."""

    def __init__(self, times: int = 1) -> None:
        self.times = times
        self.open: list[ServerConnection] = []
        self.parked: list[ServerConnection] = []
        self.frames = 0
        self.closed = asyncio.Event()

    def connection_opened(self, connection: ServerConnection) -> None:
        self.open.append(connection)

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        self.frames += 1
        if frame == b"park":
            self.parked.append(connection)
        else:
            connection.reply(frame_of(frame * self.times))

    def connection_closed(self, connection: ServerConnection) -> None:
        self.open.remove(connection)
        self.closed.set()


async def listening(handler: Echo, limits: ListenerLimits | None = None) -> tuple[SocketServer, int]:
    listener = SocketServer("CONTROLLER", handler, limits or ListenerLimits())
    return listener, await listener.open("127.0.0.1", 0)


async def answer(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await asyncio.wait_for(reader.readexactly(4), 10), "big")
    return await asyncio.wait_for(reader.readexactly(size), 10)


async def test_requests_of_one_connection_are_taken_up_one_at_a_time_and_answered_in_order() -> None:
    echo = Echo()
    listener, port = await listening(echo)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame_of(b"park") + frame_of(b"b") + frame_of(b"c"))
    while not echo.parked:
        await asyncio.sleep(0.01)
    assert echo.frames == 1
    echo.parked[0].reply(frame_of(b"a"))
    assert [await answer(reader) for _ in range(3)] == [b"a", b"b", b"c"]
    writer.close()
    await asyncio.wait_for(echo.closed.wait(), 10)
    listener.close()


async def test_the_address_of_the_peer_is_known_in_four_bytes() -> None:
    echo = Echo()
    listener = SocketServer("CONTROLLER", echo, ListenerLimits())
    port = await listener.open("", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    while not echo.open:
        await asyncio.sleep(0.01)
    assert echo.open[0].peer_address == b"\x7f\x00\x00\x01"
    writer.close()
    listener.close()


@pytest.mark.parametrize(
    ("garbage", "words"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "this is HTTP"),
        (b"\x16\x03\x01\x02\x00" + b"\x01" * 64, "TLS handshake"),
        (b"\x7f\xff\xff\xff" + b"x" * 64, "larger than the largest allowed"),
        (b"\xff" * 64, "cannot have -1 bytes"),
    ],
)
async def test_garbage_ends_its_connection_with_a_logged_reason_and_no_other(
    garbage: bytes, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    listener, port = await listening(Echo())
    good_reader, good_writer = await asyncio.open_connection("127.0.0.1", port)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(garbage)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await answer(reader)
    assert words in caplog.text
    good_writer.write(frame_of(b"still here"))
    assert await answer(good_reader) == b"still here"
    writer.close()
    good_writer.close()
    listener.close()


async def test_replies_that_nobody_reads_stop_the_reading_of_requests() -> None:
    echo = Echo(times=64)
    listener, port = await listening(echo, ListenerLimits(send_buffer_bytes=16384, receive_buffer_bytes=16384))
    deaf = socket.create_connection(("127.0.0.1", port))
    deaf.setblocking(False)
    request, sent, quiet = frame_of(b"q" * 1020) * 10_000, 0, 0
    while sent < len(request) and quiet < 50:
        try:
            sent += deaf.send(request[sent : sent + 65536])
            quiet = 0
        except BlockingIOError:
            quiet += 1
            await asyncio.sleep(0.01)
    before = echo.frames
    await asyncio.sleep(0.2)
    assert sent < len(request), "the peer was never told to wait"
    assert echo.frames == before < 500
    held = sum(connection.unsent_bytes for connection in listener.connections)
    assert held <= 64 * 1024 + 64 * 1020 + 4
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame_of(b"others are served"))
    assert await answer(reader) == b"others are served" * 64
    deaf.close()
    writer.close()
    listener.close()


async def test_a_deaf_peer_that_listens_again_gets_every_answer_in_order() -> None:
    echo = Echo(times=3000)
    listener, port = await listening(echo)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(300):
        writer.write(frame_of(b"%04d" % number))
    await asyncio.sleep(0.2)
    assert [(await answer(reader))[:4] for _ in range(300)] == [b"%04d" % number for number in range(300)]
    writer.close()
    listener.close()


async def test_idle_connections_are_closed_and_those_that_wait_for_us_are_not() -> None:
    echo = Echo()
    listener, port = await listening(echo, ListenerLimits(max_idle_seconds=0.2))
    idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", port)
    half_reader, half_writer = await asyncio.open_connection("127.0.0.1", port)
    half_writer.write(frame_of(b"half a frame")[:6])
    parked_reader, parked_writer = await asyncio.open_connection("127.0.0.1", port)
    parked_writer.write(frame_of(b"park"))
    for reader in (idle_reader, half_reader):
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await answer(reader)
    assert listener.expired_connections == 2
    echo.parked[0].reply(frame_of(b"patience"))
    assert await answer(parked_reader) == b"patience"
    for writer in (idle_writer, half_writer, parked_writer):
        writer.close()
    listener.close()


async def test_connections_beyond_the_bound_wait_and_what_they_sent_is_answered_when_there_is_room() -> None:
    echo = Echo()
    listener = SocketServer("CLIENTS", echo, ListenerLimits(backlog=1), ConnectionQuotas(ConnectionLimits(of_all=2)))
    port = await listener.open("127.0.0.1", 0)
    kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
    for reader, writer in kept:
        writer.write(frame_of(b"in"))
        assert await answer(reader) == b"in"
    waiting, asked = await asyncio.open_connection("127.0.0.1", port)
    asked.write(frame_of(b"first") + frame_of(b"second"))
    await eventually("it waits", lambda: len(listener.quotas.waiting("CLIENTS")) == 1)
    too_many, writer = await asyncio.open_connection("127.0.0.1", port)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await answer(too_many)
    assert listener.refused_connections == 1
    kept[0][1].write(frame_of(b"still in"))
    assert await answer(kept[0][0]) == b"still in"
    assert echo.frames == 3
    kept[1][1].close()
    assert [await answer(waiting), await answer(waiting)] == [b"first", b"second"]
    for one in (writer, asked, kept[0][1]):
        one.close()
    listener.close()


async def test_who_waits_is_closed_with_the_listener() -> None:
    quotas = ConnectionQuotas(ConnectionLimits(of_all=0))
    listener = SocketServer("CLIENTS", Echo(), ListenerLimits(), quotas)
    port = await listener.open("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await eventually("it waits", lambda: len(quotas.waiting("CLIENTS")) == 1)
    listener.close()
    await ended(reader)
    assert quotas.waiting("CLIENTS") == ()
    writer.close()


async def test_a_thousand_idle_connections_do_not_slow_the_next_one() -> None:
    echo = Echo()
    listener, port = await listening(echo)
    crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(1000)]
    while len(echo.open) < 1000:
        await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame_of(b"hello"))
    assert await answer(reader) == b"hello"
    for _, one in crowd:
        one.close()
    writer.close()
    while echo.open:
        await asyncio.sleep(0.01)
    listener.close()


async def test_a_port_in_use_is_named() -> None:
    _listener, port = await listening(Echo())
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
        await SocketServer("OTHER", Echo(), ListenerLimits()).open("127.0.0.1", port)
    _listener.close()


# What all connections hold together.


async def eventually(what: str, probe: Callable[[], bool]) -> None:
    deadline = asyncio.get_running_loop().time() + 60
    while not probe():
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.01)


async def ended(reader: asyncio.StreamReader) -> None:
    """Everything that was sent has been read, and the connection is over."""
    with contextlib.suppress(ConnectionResetError):
        while await asyncio.wait_for(reader.read(65536), 60):
            pass


def deaf(port: int) -> socket.socket:
    """A peer that takes as little as the kernel allows."""
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.connect(("127.0.0.1", port))
    return peer


MEBI = 1 << 20
HALF = MEBI.to_bytes(4, "big")
"""The beginning of a frame of 1 MiB."""


async def test_who_holds_most_of_unfinished_requests_is_closed_when_all_hold_too_much() -> None:
    echo = Echo()
    listener, port = await listening(echo, ListenerLimits(max_collected_bytes=2 * MEBI))
    small = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
    for _, writer in small:
        writer.write(HALF + bytes(20_000))
    await eventually("they are held", lambda: listener.collected_bytes == 4 * 20_004)
    large, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((4 * MEBI).to_bytes(4, "big") + bytes(3 * MEBI))
    await ended(large)
    await eventually("its bytes are forgotten", lambda: listener.collected_bytes == 4 * 20_004)
    assert listener.shed_connections == 1
    for reader, other in small:
        other.write(bytes(MEBI - 20_000))
        assert len(await answer(reader)) == MEBI
        other.close()
    assert listener.collected_bytes == 0
    listener.close()


async def test_what_was_sent_ahead_is_no_more_counted_when_its_connection_ends() -> None:
    listener, port = await listening(Echo())
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(frame_of(b"park") + frame_of(b"more") + HALF)
    await eventually("the frame behind is held", lambda: listener.collected_bytes == 12)
    writer.transport.abort()
    await eventually("nothing is held", lambda: listener.collected_bytes == 0 and not listener.connections)
    listener.close()


async def test_replies_that_nobody_takes_are_bounded_in_all_and_their_peers_given_up() -> None:
    echo = Echo(times=MEBI)
    limits = ListenerLimits(max_unsent_bytes=20 * MEBI, stalled_seconds_when_full=0.2)
    listener, port = await listening(echo, limits)
    made_room = asyncio.Event()
    listener.on_room = made_room.set
    peers = []
    most = 0
    for _ in range(8):
        peers.append(deaf(port))
        peers[-1].sendall(frame_of(b"eight by"))
        await eventually("the reply is written", lambda: echo.frames == len(peers))
        most = max(most, listener.unsent_bytes)
    assert 20 * MEBI < most <= 40 * MEBI, "the bound is twice the total"
    await eventually("peers that take nothing are given up", lambda: listener.unsent_bytes <= 20 * MEBI)
    await asyncio.wait_for(made_room.wait(), 10)
    assert listener.has_room
    assert listener.shed_connections >= 5
    for peer in peers:
        peer.close()
    await eventually("nothing is held", lambda: listener.unsent_bytes == 0)
    listener.close()


async def test_a_peer_that_takes_its_reply_little_by_little_gets_all_of_it() -> None:
    echo = Echo(times=MEBI)
    limits = ListenerLimits(
        max_unsent_bytes=8 * MEBI, stalled_seconds=2.5, stalled_seconds_when_full=2.5, max_idle_seconds=3
    )
    listener, port = await listening(echo, limits)
    with deaf(port) as peer:
        peer.setblocking(False)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(peer, frame_of(b"twelve bytes"))
        got, begun = 0, loop.time()
        while got < 12 * MEBI + 4:
            more = await asyncio.wait_for(loop.sock_recv(peer, 256 * 1024), 60)
            assert more, f"closed after {got} bytes"
            got += len(more)
            if loop.time() - begun < 6:  # longer than any patience; then quickly
                await asyncio.sleep(0.1)
        assert not listener.shed_connections
        await eventually("nothing is held", lambda: listener.unsent_bytes == 0)
    listener.close()


async def test_a_reply_counts_until_its_last_byte_is_taken() -> None:
    """Its memory is held so long; peers that leave the end of each reply must not hold more than others."""
    echo = Echo(times=MEBI)
    listener, port = await listening(echo)
    with deaf(port) as peer:
        peer.sendall(frame_of(b"sixteen bytes..."))
        got = 0
        while got < 8 * MEBI:
            got += len(await asyncio.to_thread(peer.recv, 65536))
        (connection,) = listener.connections
        assert connection.unsent_bytes < 8 * MEBI
        assert listener.unsent_bytes > 11 * MEBI
    await eventually("nothing is held", lambda: listener.unsent_bytes == 0)
    listener.close()
