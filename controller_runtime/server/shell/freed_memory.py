"""Memory that large requests and replies needed goes back to the system, where the C library would keep it: glibc.

glibc maps a large piece from the kernel and returns it when it is freed; but the first one that is freed teaches it to
take pieces of that size (up to 32 MiB) from its heap, and to keep twice as much at the heap's end. So one frame of 20
MB made a node larger for good. Some moments after large pieces were used, when the requests at hand are likely done, it
is asked to give back what is free (malloc_trim: some milliseconds). Nothing is set for good, because a producer of
large batches wants to find its pages again; and `ctypes` is imported by nodes that need it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final

GIVE_BACK_SECONDS: Final = 1.0
"""After the first large piece. Under load it is once in so many seconds."""


class FreedMemory:
    def __init__(self, give_back: Callable[[], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._give_back = give_back or trim
        self._timer: asyncio.TimerHandle | None = None

    def expect(self) -> None:
        """A large piece is in use or was freed just now."""
        if self._timer is None:
            self._timer = self._loop.call_later(GIVE_BACK_SECONDS, self._run)

    def _run(self) -> None:
        self._timer = None
        self._give_back()


def trim() -> None:
    """Any number of times, anywhere: another C library is left as it is."""
    if not _is_glibc():
        return
    import ctypes

    ctypes.CDLL(None).malloc_trim(0)


def _is_glibc() -> bool:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except (AttributeError, OSError, ValueError):
        return False
