"""One hostile client at one port: what came of it, in words that are compared."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

from controller_runtime.protocol.api_keys import find_api
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import decode_response
from support.fuzz.account import errors_in
from support.hostile.case import CORRELATION, Ask, Case

SECONDS: Final = 20.0
"""For an answer, or for the connection's end: a bound, so that a hanging node does not keep the tests."""
QUIET_SECONDS: Final = 1.5
"""So long nothing must come where nothing is right."""


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def seen_by(case: Case, port: int) -> str:
    """`closed`, `silent`, or `answered` with the errors in the answer."""
    try:
        if not isinstance(case.does, Ask):
            return case.does(port)
        with connect(port) as connection:
            connection.settimeout(QUIET_SECONDS if "silent" in case.wanted else SECONDS)
            connection.sendall(case.does.sent)
            return _answer(connection, case.does)
    except (ConnectionError, BrokenPipeError):
        return "closed"
    except TimeoutError:
        return "silent"


def _answer(connection: socket.socket, ask: Ask) -> str:
    """The answers that come before ours are those of the requests before it."""
    while True:
        frame = read_frame(connection)
        if frame is None:
            return "closed"
        if ask.key < 0 or int.from_bytes(frame[:4], "big") == CORRELATION:
            return words_of(frame, ask)


def read_frame(connection: socket.socket) -> bytes | None:
    size = read(connection, 4)
    return None if size is None else read(connection, int.from_bytes(size, "big"))


def read(connection: socket.socket, count: int) -> bytes | None:
    held = bytearray()
    while len(held) < count:
        got = connection.recv(min(1 << 20, count - len(held)))
        if not got:
            return None
        held += got
    return bytes(held)


def words_of(frame: bytes, ask: Ask) -> str:
    found = find_api(ask.key)
    if found is None:
        return "answered"
    version = ask.version if found.lowest <= ask.version <= found.highest else 0
    try:
        body = decode_response(frame, ask.key, version).body
    except ProtocolError:
        return "answered"
    codes: set[int] = set()
    errors_in(body, codes)
    return " ".join(["answered", *sorted(_name(code) for code in codes)])


def _name(code: int) -> str:
    with contextlib.suppress(ValueError):
        return ErrorCode(code).name
    return str(code)
