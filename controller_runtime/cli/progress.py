"""What a tool says on standard error while it works for longer than two seconds.

While a cluster is asked, it says so on a terminal only: what reads a tool's output reads what Kafka's tool would say.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

EVERY_SECONDS: Final = 2.0


class Progress:
    """`say` may be called as often as one likes: a line is written every two seconds at most, the first after two."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = time.monotonic() + EVERY_SECONDS

    def say(self, text: str) -> None:
        if time.monotonic() >= self._next:
            print(f"{text} ...", file=sys.stderr, flush=True)
            self._next = time.monotonic() + EVERY_SECONDS


def run(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` of what asks a cluster."""
    return asyncio.run(_shown(work))


async def _shown(work: Coroutine[Any, Any, T]) -> T:
    telling = asyncio.create_task(_tell()) if sys.stderr.isatty() else None
    try:
        return await work
    finally:
        if telling is not None:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling


async def _tell() -> None:
    begun = time.monotonic()
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        print(f"still asking the cluster after {time.monotonic() - begun:.0f} s ...", file=sys.stderr, flush=True)
