"""A bar on the terminal for what takes longer than two seconds; nothing when it goes faster, plain lines when nobody
watches.

`track` runs a job of Spark in this thread while another one asks Spark's status tracker how many tasks are done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self, TextIO, TypeVar

T = TypeVar("T")
PATIENCE_S: Final = 2.0
_WIDTH: Final = 30


def bar(what: str, done: int, total: int, seconds: float) -> str:
    """`ingest [#####-----] 12/24 tasks, 8 s`; an unknown total shows what is done alone."""
    if total <= 0:
        return f"{what} ... {seconds:.0f} s"
    filled = _WIDTH * min(done, total) // total
    return f"{what} [{'#' * filled}{'-' * (_WIDTH - filled)}] {done}/{total} tasks, {seconds:.0f} s"


class Progress:
    """Shows how far `count` is, from another thread, once `PATIENCE_S` have passed."""

    def __init__(self, what: str, count: Callable[[], tuple[int, int]], out: TextIO | None = None) -> None:
        self._what = what
        self._count = count
        self._out = out or sys.stderr
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._shown = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=self._out, flush=True)

    def _show(self) -> None:
        started = time.monotonic()
        pause = PATIENCE_S
        while not self._ended.wait(pause):
            pause = 0.5
            line = bar(self._what, *self._count(), time.monotonic() - started)
            if self._out.isatty():
                print("\r" + line.ljust(self._shown), end="", file=self._out, flush=True)
                self._shown = max(self._shown, len(line))


@contextmanager
def tracked(spark: Any, what: str) -> Iterator[None]:
    """A bar over everything that Spark does in the block. A Spark Connect session has no tracker: time
    alone is shown.
    """
    context = getattr(spark, "_sc", None)
    with Progress(what, lambda: _tasks(context) if context is not None else (0, 0)):
        yield


def _tasks(context: Any) -> tuple[int, int]:
    try:
        tracker = context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
    except Exception:
        return 0, 0
