"""Whoever has been told to wait is not listened to until the time has passed (KIP-219): his answer leaves at once, and
the next request of his connection is taken up when he has waited.

Nobody else waits: what is muted is a connection, with one timer. What a forwarded answer says is read where it stands,
behind the header; the rest of it is not looked at.
"""

from __future__ import annotations

import asyncio
from typing import Final

from controller_runtime.network.listener import ServerConnection
from controller_runtime.parts.api_table import HELD_TO_MUTATION_RATE
from controller_runtime.protocol.api_keys import ApiKey, api
from controller_runtime.protocol.messages.request_header import RequestHeader

HELD_TO_BYTE_RATES: Final = (ApiKey.PRODUCE, ApiKey.FETCH)
"""On listeners of a broker; on those of a controller a Fetch is one of the quorum."""


class Throttled:
    """The connections that wait."""

    def __init__(self) -> None:
        self._timers: dict[ServerConnection, asyncio.TimerHandle] = {}

    def mute(self, connection: ServerConnection, milliseconds: int) -> None:
        """Before its answer is written."""
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
    key = asked.request_api_key
    if key not in HELD_TO_MUTATION_RATE:
        return 0
    start = 4
    if asked.request_api_version >= api(ApiKey(key)).flexible_from:
        if frame[start : start + 1] != b"\0":
            return 0  # a header with tagged fields, of which there are none today
        start += 1
    return int.from_bytes(frame[start : start + 4], "big", signed=True)
