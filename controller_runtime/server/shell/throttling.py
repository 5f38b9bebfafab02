"""Whoever has been told to wait is not listened to until the time has passed (KIP-219): his answer leaves at once, and
the next request of his connection is taken up when he has waited.

Nobody else waits: what is muted is a connection, with one timer. What a forwarded answer says is read where it stands,
behind the header; the rest of it is not looked at.
"""

from __future__ import annotations

import asyncio
from typing import Final

from controller_runtime.network.connection import ServerConnection
from controller_runtime.parts.api_table import HELD_TO_MUTATION_RATE
from controller_runtime.protocol.api_keys import ApiKey, api, response_class
from controller_runtime.protocol.messages.request_header import RequestHeader

HELD_TO_BYTE_RATES: Final = (ApiKey.PRODUCE, ApiKey.FETCH)
"""On listeners of a broker; on those of a controller a Fetch is one of the quorum."""


class Throttled:
    """The connections that wait."""

    def __init__(self) -> None:
        self._timers: dict[ServerConnection, asyncio.TimerHandle] = {}

    def mute(self, connection: ServerConnection, milliseconds: int) -> None:
        """Before its answer is written. A connection waits once at a time, as it has one request in progress."""
        if milliseconds > 0:
            connection.hold()
            loop = asyncio.get_running_loop()
            self._timers[connection] = loop.call_later(milliseconds / 1000, self._release, connection)

    def forget(self, connection: ServerConnection) -> None:
        """It ended."""
        if (timer := self._timers.pop(connection, None)) is not None:
            timer.cancel()

    def _release(self, connection: ServerConnection) -> None:
        del self._timers[connection]
        connection.release()


def time_to_wait(frame: bytes, asked: RequestHeader) -> int:
    """Of an answer with its header, in milliseconds."""
    start = _place(frame, asked) if asked.request_api_key in HELD_TO_MUTATION_RATE else None
    return 0 if start is None else int.from_bytes(frame[start : start + 4], "big", signed=True)


def with_time_to_wait(frame: bytes, asked: RequestHeader, milliseconds: int) -> bytes:
    """The answer of another node, that says so where its kind says how long to wait."""
    start = _place(frame, asked)
    if start is None or len(frame) < start + 4:
        return frame
    return frame[:start] + milliseconds.to_bytes(4, "big") + frame[start + 4 :]


def _place(frame: bytes, asked: RequestHeader) -> int | None:
    """Of the time to wait, in answers that begin with it."""
    key, version = ApiKey(asked.request_api_key), asked.request_api_version
    first = next((each for each in response_class(key).FIELDS if version in each.versions), None)
    if first is None or first.name != "throttle_time_ms":
        return None
    if version < api(key).flexible_from:
        return 4
    return 5 if frame[4:5] == b"\0" else None  # no header has tagged fields today
