"""Carries TCP connections from the host's loopback to the API server inside the cluster's network namespace.

A socket belongs for ever to the namespace in which it was made. So the host binds and listens, and this process, which
runs inside, accepts from that inherited socket and connects to the API server as anyone inside would.
"""

import asyncio
import contextlib
import socket
import sys

CHUNK = 256 * 1024
CONNECT_TIMEOUT_SECONDS = 10


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str, port: int) -> None:
    """One connection: both directions until both have ended."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            there_reader, there_writer = await asyncio.open_connection(address, port)
        await asyncio.gather(carry(reader, there_writer), carry(there_reader, writer))
        there_writer.close()
    writer.close()


async def serve(listener: socket.socket, address: str, port: int) -> None:
    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await join(reader, writer, address, port)

    server = await asyncio.start_server(accepted, sock=listener)
    async with server:
        await server.serve_forever()


def main(arguments: list[str]) -> None:
    descriptor, address, port = arguments
    asyncio.run(serve(socket.socket(fileno=int(descriptor)), address, int(port)))


if __name__ == "__main__":
    main(sys.argv[1:])
