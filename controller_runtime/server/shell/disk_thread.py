"""One thread that does blocking disk work for one log, in order, and reports back to the event loop.

Patient work lets what comes later go first, but nothing of what was submitted before it: a thousand logs that are made
or deleted keep nobody waiting for longer than one of them takes. It has its turn, too: between two pieces of patient
work there is only what waited when the first one was done.

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
Item = tuple[Work, Done]
REPORTED_TOGETHER: Final = 100
"""In one turn of the loop, so that nobody else is kept waiting."""


class DiskThread:
    """Starts its thread at the first submission, so that an idle log costs none."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._name = name
        self._loop = loop
        self._submitted: SimpleQueue[None] = SimpleQueue()
        """As many as there is work in the three below."""
        self._works: deque[Item] = deque()
        self._patient: deque[tuple[int, Item]] = deque()
        """With how many of `_works` were submitted before."""
        self._last: deque[Item | None] = deque()
        self._works_submitted = 0
        self._works_begun = 0
        self._ahead: int | None = 0
        """So many of `_works` go before the next patient one; None: all that wait now."""
        self._finished: deque[tuple[Done, BaseException | None]] = deque()
        self._report_due = False
        """The loop is to call `_report`. The thread sets it after it has put something into `_finished`, the loop
        takes it back before it looks there: so nothing is left unseen.
        """
        self._thread: threading.Thread | None = None

    def submit(self, work: Work, done: Done) -> None:
        """Run `work` after all earlier work but the patient, then call `done` in the loop with None, or with what it
        raised.
        """
        self._works.append((work, done))
        self._works_submitted += 1
        self._wake()

    def submit_patient(self, work: Work, done: Done) -> None:
        """After all earlier work; what is submitted later may go first."""
        self._patient.append((self._works_submitted, (work, done)))
        self._wake()

    def submit_last(self, work: Work, done: Done) -> None:
        """When there is no other work."""
        self._last.append((work, done))
        self._wake()

    def _wake(self) -> None:
        self._submitted.put(None)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Finish what was submitted, then end. Blocks until then."""
        if self._thread is not None:
            self._last.append(None)
            self._wake()
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (item := self._next()) is not None:
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

    def _next(self) -> Item | None:
        self._submitted.get()
        works, patient = self._works, self._patient
        if self._ahead is None:
            self._ahead = len(works)
        if patient and patient[0][0] <= self._works_begun and (self._ahead <= 0 or not works):
            self._ahead = None
            return patient.popleft()[1]
        if works:
            self._ahead -= 1
            self._works_begun += 1
            return works.popleft()
        return self._last.popleft()

    def _report(self) -> None:
        self._report_due = False
        for _ in range(min(len(self._finished), REPORTED_TOGETHER)):
            done, failure = self._finished.popleft()
            done(failure)
        if self._finished and not self._report_due:
            self._report_due = True
            self._loop.call_soon(self._report)
