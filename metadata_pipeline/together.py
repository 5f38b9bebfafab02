"""Several questions to Spark at once: on a small lake it plans longer than it computes, and plans on one processor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def together(calls: Iterable[Callable[[], T]]) -> list[T]:
    """What each returns, in order. The first error is raised when all that were begun have ended."""
    with ThreadPoolExecutor(min(4, (os.cpu_count() or 1) + 1)) as pool:
        begun = [pool.submit(call) for call in calls]
        try:
            return [one.result() for one in begun]
        finally:
            for one in begun:
                one.cancel()
