"""Requests that wait to be sent to the active controller, in the order in which their time runs out.

Nothing here is walked: what is due is on top of a heap. A request rests for a moment before it is sent again. A suspect
was on a connection that ended: those are sent one at a time, and not before the one that is on its way has its answer.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from controller_runtime.broker.errands import Errand
from controller_runtime.identifiers import Instant
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(slots=True)
class Forwarded:
    """A request on its way to the controller and back."""

    errand: Errand
    request: Message
    """An Envelope, or what the broker asks in its own name."""
    deadline: Instant
    not_before: Instant
    losses: int = 0
    """Connections that ended while it was on them."""


class ForwardingQueue:
    def __init__(self) -> None:
        self._ready: list[tuple[Instant, int, Forwarded]] = []
        self._suspects: list[tuple[Instant, int, Forwarded]] = []
        self._resting: deque[Forwarded] = deque()
        """In the order of `not_before`."""
        self._number = 0

    def __len__(self) -> int:
        return len(self._ready) + len(self._suspects) + len(self._resting)

    def add(self, each: Forwarded) -> None:
        self._number += 1
        heappush(self._suspects if each.losses else self._ready, (each.deadline, self._number, each))

    def rest(self, each: Forwarded, until: Instant) -> None:
        """Add it at `until`, which grows from call to call."""
        each.not_before = until
        self._resting.append(each)

    def wake(self, now: Instant) -> None:
        """Add those that have rested enough."""
        while self._resting and self._resting[0].not_before <= now:
            self.add(self._resting.popleft())

    def take_expired(self, now: Instant) -> list[Forwarded]:
        """Those whose time is up, but for those that rest: they are answered when they wake."""
        found = []
        for heap in (self._ready, self._suspects):
            while heap and heap[0][0] <= now:
                found.append(heappop(heap)[2])
        return found

    def take_ready(self) -> list[Forwarded]:
        """All that may be sent together."""
        return [heappop(self._ready)[2] for _ in range(len(self._ready))]

    def take_suspect(self) -> Forwarded | None:
        """The next one to be tried alone."""
        return heappop(self._suspects)[2] if self._suspects else None

    def next_deadline(self, *, reachable: bool, is_one_tried: bool) -> Instant | None:
        """When something can be sent or runs out of time. Without a controller only the latter is left."""
        wanted = [self._resting[0].not_before] if self._resting else []
        for heap, may_go in ((self._ready, reachable), (self._suspects, reachable and not is_one_tried)):
            if heap:
                deadline, _, each = heap[0]
                wanted.append(each.not_before if may_go else deadline)
        return min(wanted, default=None)
