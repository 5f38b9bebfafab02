"""One thread that does blocking disk work for one log, in order, and reports back to the event loop.

The loop never waits for a disk: it submits work and is called back. An error is reported, never retried and never
swallowed: what a failed sync means is for the caller to decide. Work that was submitted is done even while the process
is stopping. What is done while the loop is busy is reported in one turn of it, so that the loop is woken once.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

Work = Callable[[], None]
Done = Callable[[BaseException | None], None]
REPORTED_TOGETHER: Final = 100
"""In one turn of the loop, so that nobody else is kept waiting."""


class DiskThread:
    """Starts its thread at the first submission, so that an idle log costs none."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._name = name
        self._loop = loop
        self._queue: SimpleQueue[tuple[Work, Done] | None] = SimpleQueue()
        self._finished: deque[tuple[Done, BaseException | None]] = deque()
        self._report_due = False
        """The loop is to call `_report`. The thread sets it after it has put something into `_finished`, the loop
        takes it back before it looks there: so nothing is left unseen.
        """
        self._thread: threading.Thread | None = None

    def submit(self, work: Work, done: Done) -> None:
        """Run `work` after all earlier work, then call `done` in the loop with None, or with what it raised."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put((work, done))

    def close(self) -> None:
        """Finish what was submitted, then end. Blocks until then."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            work, done = item
            failure: BaseException | None = None
            try:
                work()
            except BaseException as error:
                failure = error
            if self._loop.is_closed():
                return
            self._finished.append((done, failure))
            if not self._report_due:
                self._report_due = True
                self._loop.call_soon_threadsafe(self._report)

    def _report(self) -> None:
        self._report_due = False
        for _ in range(min(len(self._finished), REPORTED_TOGETHER)):
            done, failure = self._finished.popleft()
            done(failure)
        if self._finished and not self._report_due:
            self._report_due = True
            self._loop.call_soon(self._report)
