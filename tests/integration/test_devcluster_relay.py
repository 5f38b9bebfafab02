"""The relay between the host's loopback and the API server: bytes both ways, ends of streams, many connections, a dead
server.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from deploy.devcluster import relay

pytestmark = pytest.mark.integration


async def reverse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that answers only after the end of what it is sent: it needs a half-closed connection."""
    data = await reader.read()
    writer.write(data[::-1])
    await writer.drain()
    writer.close()


@asynccontextmanager
async def relayed(port: int) -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(relay.serve(listener, "127.0.0.1", port))
    yield listener.getsockname()[1]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def ask(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_bytes_and_ends_of_streams_pass_both_ways_on_many_connections() -> None:
    server = await asyncio.start_server(reverse, "127.0.0.1", 0)
    async with server, relayed(server.sockets[0].getsockname()[1]) as port:
        blobs = [bytes([number]) * (number * 100_000 + 1) + b"end" for number in range(10)]
        answers = await asyncio.gather(*(ask(port, blob) for blob in blobs))
        assert answers == [blob[::-1] for blob in blobs]


async def test_a_server_that_is_away_ends_the_connection_and_not_the_relay() -> None:
    server = await asyncio.start_server(reverse, "127.0.0.1", 0)
    port_of_server = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with relayed(port_of_server) as port:
        assert await ask(port, b"anyone?") == b""
        async with await asyncio.start_server(reverse, "127.0.0.1", port_of_server):
            assert await ask(port, b"anyone?") == b"?enoyna"
