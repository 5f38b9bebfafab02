"""Bytes that are no frames, frames that are no requests, and connections that are abused."""

from __future__ import annotations

import socket
import struct
from typing import Final

from support.hostile.asking import connect, read_frame
from support.hostile.case import BOTH, BROKER, CONTROLLER, MAX_REQUEST_BYTES, Ask, Case, by_hand, framed, head

API_VERSIONS: Final = 18
CLOSED: Final = ("closed",)
PING: Final = framed(head(API_VERSIONS, 0))


def _length(number: int) -> Ask:
    return Ask(struct.pack(">i", number) + b"x" * 50)


def _half_then_end(port: int) -> str:
    with connect(port) as connection:
        connection.sendall(PING[:-3])
        connection.shutdown(socket.SHUT_WR)
        return "closed" if connection.recv(1) == b"" else "answered"


def _drop_by_drop(port: int) -> str:
    """A slow client is still a client: its request is answered when it is whole."""
    with connect(port) as connection:
        for byte in PING:
            connection.sendall(bytes([byte]))
        return "answered" if read_frame(connection) else "closed"


def _half_frames_of_many(port: int) -> str:
    """200 connections that never finish their frame, and one that does."""
    idle = [connect(port) for _ in range(200)]
    try:
        for each in idle:
            each.sendall(struct.pack(">i", 100_000) + b"half")
        return _drop_by_drop(port)
    finally:
        for each in idle:
            each.close()


def _flood(port: int) -> str:
    """A thousand connections that say nothing and end."""
    for _ in range(1000):
        connect(port).close()
    return _drop_by_drop(port)


def _reset(port: int) -> str:
    """Fifty connections that are reset with a request under way."""
    for _ in range(50):
        with connect(port) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(PING)
    return _drop_by_drop(port)


def _pipelined(port: int) -> str:
    """10,000 requests before the first answer is read: all are answered, in order."""
    count = 10_000
    requests = b"".join(framed(struct.pack(">hhih", API_VERSIONS, 0, number, -1)) for number in range(count))
    with connect(port) as connection:
        sent, told = 0, 0
        connection.setblocking(True)
        while told < count:
            if sent < len(requests):
                connection.sendall(requests[sent : sent + 20_000])
                sent += 20_000
                continue
            frame = read_frame(connection)
            if frame is None or int.from_bytes(frame[:4], "big") != told:
                return "closed" if frame is None else "answered out of order"
            told += 1
    return "answered"


def _answers_never_read(port: int) -> str:
    """Requests until nothing more goes out, and no answer is read."""
    connection = connect(port)
    try:
        connection.setblocking(False)
        for _ in range(200):
            try:
                connection.send(PING * 500)
            except BlockingIOError:
                break
            except ConnectionError:
                return "closed"
        return _drop_by_drop(port)
    finally:
        connection.close()


def cases() -> list[Case]:
    large = b"z" * 32767
    return [
        Case("a frame of -1 bytes", BOTH, _length(-1), CLOSED),
        Case("a frame of -2147483648 bytes", BOTH, _length(-(2**31)), CLOSED),
        Case("a frame of 2147483647 bytes", BOTH, _length(2**31 - 1), CLOSED),
        Case("a frame one byte above the bound", BOTH, _length(MAX_REQUEST_BYTES + 1), CLOSED),
        Case("an empty frame", BOTH, Ask(bytes(4)), CLOSED),
        Case("ten thousand empty frames", BOTH, Ask(bytes(40_000)), CLOSED),
        Case("a frame of 3 bytes", BOTH, Ask(framed(b"\0\x12\0")), CLOSED),
        Case("a frame of 7 bytes", BOTH, Ask(framed(b"\0\x12\0\0\0\0\0")), CLOSED),
        Case("5,000 bytes of nothing", BOTH, Ask(b"\xa5" * 5000), CLOSED),
        Case("HTTP", BOTH, Ask(b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n"), CLOSED),
        Case("a TLS handshake", BOTH, Ask(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + large),
            ("closed", "silent")),
        Case("half a frame, then the end", BOTH, _half_then_end, CLOSED),
        Case("half a frame, then silence", BOTH, Ask(PING[:-3]), ("silent",)),
        Case("a request byte by byte", BOTH, _drop_by_drop, ("answered",)),
        Case("200 connections with half a frame", BOTH, _half_frames_of_many, ("answered",)),
        Case("1,000 connections that say nothing", BOTH, _flood, ("answered",)),
        Case("50 connections that are reset", BOTH, _reset, ("answered",)),
        Case("10,000 requests on one connection", BOTH, _pipelined, ("answered",)),
        Case("answers that are never read", BOTH, _answers_never_read, ("answered", "closed")),
        Case("API 999", BOTH, by_hand(API_VERSIONS, 0, b"", header=struct.pack(">hhih", 999, 0, 7, -1)), CLOSED),
        Case("API -1", BOTH, by_hand(API_VERSIONS, 0, b"", header=struct.pack(">hhih", -1, 0, 7, -1)), CLOSED),
        Case("an API that was removed (4)", BOTH,
            by_hand(API_VERSIONS, 0, b"", header=struct.pack(">hhih", 4, 0, 7, -1)), CLOSED),
        Case("ApiVersions v99", BOTH,
            Ask(framed(struct.pack(">hhih", API_VERSIONS, 99, 7, -1) + b"\0"), API_VERSIONS, 0),
        ("UNSUPPORTED_VERSION",)),
        Case("ApiVersions v-1", BOTH, Ask(framed(struct.pack(">hhih", API_VERSIONS, -1, 7, -1)), API_VERSIONS, 0),
            ("closed", "UNSUPPORTED_VERSION")),
        Case("CreateTopics v99", BOTH, by_hand(API_VERSIONS, 0, b"", header=struct.pack(">hhih", 19, 99, 7, -1)),
            CLOSED),
        Case("CreateTopics v0, which was removed", BOTH,
            by_hand(API_VERSIONS, 0, b"", header=struct.pack(">hhih", 19, 0, 7, -1)), CLOSED),
        Case("Vote at a broker", BROKER, by_hand(52, 0, bytes(20)), CLOSED),
        Case("Envelope at a broker", BROKER, by_hand(58, 0, bytes(20)), CLOSED),
        Case("BrokerHeartbeat at a broker", BROKER, by_hand(63, 0, bytes(30)), CLOSED),
        Case("Produce at a controller", CONTROLLER, by_hand(0, 9, bytes(20)), CLOSED),
        Case("Metadata at a controller", CONTROLLER, by_hand(3, 9, bytes(20)), CLOSED),
        Case("a header with the same tag twice", BOTH,
            by_hand(API_VERSIONS, 3, b"\2a\2b\0", header=head(API_VERSIONS, 3, tags=b"\2\5\1a\5\1b")),
        ("closed", "answered")), Case("a header that claims 2^32-1 tags", BOTH,
            by_hand(API_VERSIONS, 3, b"\2a\2b\0", header=head(API_VERSIONS, 3, tags=b"\xff\xff\xff\xff\x0f")), CLOSED),
        Case("a header whose tag claims 2^31 bytes", BOTH,
            by_hand(API_VERSIONS, 3, b"\2a\2b\0", header=head(API_VERSIONS, 3, tags=b"\1\5\xff\xff\xff\xff\7")),
        CLOSED), Case("a client id that claims 32,767 bytes", BOTH,
            by_hand(API_VERSIONS, 0, b"", header=head(API_VERSIONS, 0, client=b"\x7f\xffab")), CLOSED),
        Case("a client id of -2 bytes", BOTH,
            by_hand(API_VERSIONS, 0, b"", header=head(API_VERSIONS, 0, client=b"\xff\xfe")), ("closed", "answered")),
        Case("a client id that is no UTF-8", BOTH,
            by_hand(API_VERSIONS, 0, b"", header=head(API_VERSIONS, 0, client=b"\0\2\xff\xfe")),
        ("closed", "answered")), Case("a request without its body", BOTH, by_hand(32, 1, b""), CLOSED),
        Case("a thousand bytes behind a body", BOTH, by_hand(API_VERSIONS, 0, b"x" * 1000), ("closed", "answered")),
        Case("a client's name of 300 strange characters", BOTH,
            by_hand(API_VERSIONS, 3, b"\xad\2" + b"\xff" * 300 + b"\2b\0"), ("closed", "INVALID_REQUEST")),
    ]  # fmt: skip
