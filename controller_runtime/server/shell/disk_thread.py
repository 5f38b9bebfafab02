"""One thread that does blocking disk work for one log, in order, and reports back to the event loop.

The loop never waits for a disk: it submits work and is called back. An error is reported, never retried and never
swallowed: what a failed sync means is for the caller to decide. Work that was submitted is done even while the process
is stopping.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], None]
Done = Callable[[BaseException | None], None]


class DiskThread:
    """Starts its thread at the first submission, so that an idle log costs none."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._name = name
        self._loop = loop
        self._queue: SimpleQueue[tuple[Work, Done] | None] = SimpleQueue()
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
            self._loop.call_soon_threadsafe(done, failure)
