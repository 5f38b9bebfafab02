"""What is measured only while somebody reads: rates between two looks, the share of idle time, and what an event costs.

A node that nobody scrapes pays nothing: counters are turned into rates by who asks, idle time is the thread's own CPU
clock, and `WatchedNode` passes every step on untouched until somebody looks, and again a while after the last time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.ports import DrivenNode
from controller_runtime.parts.events import TimePassed
from controller_runtime.server.telemetry.api_meter import ApiMeter
from controller_runtime.values import dataclass

RATE_WINDOW_S: Final = 60.0
WATCH_S: Final = 120.0
"""How long steps are timed after somebody asked: longer than the usual time between two scrapes."""
_SAMPLES: Final = 512
QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)


class Rate:
    """A counter as events per second, over the last minute or since the first look."""

    def __init__(self, started: float) -> None:
        self._seen: deque[tuple[float, float]] = deque([(started, 0.0)])

    def per_second(self, count: float, now: float) -> float:
        while len(self._seen) > 1 and self._seen[1][0] <= now - RATE_WINDOW_S:
            self._seen.popleft()
        since, before = self._seen[0]
        if now - self._seen[-1][0] >= 1.0:
            self._seen.append((now, count))
        return (count - before) / (now - since) if now > since else 0.0


class IdleShare:
    """Of the thread that asks: the part of the time, since it asked last, in which it used no processor."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.thread_time()
        self._last = 1.0

    def read(self) -> float:
        wall, cpu = time.monotonic(), time.thread_time()
        if wall - self._wall >= 0.1:
            self._last = min(1.0, max(0.0, 1.0 - (cpu - self._cpu) / (wall - self._wall)))
            self._wall, self._cpu = wall, cpu
        return self._last


@dataclass(frozen=True, slots=True)
class Distribution:
    """Of times in milliseconds, or of sizes."""

    count: int
    mean: float
    maximum: float
    quantiles: tuple[tuple[float, float], ...]


class Durations:
    """The last few hundred durations."""

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[float] = deque(maxlen=_SAMPLES)

    def add(self, seconds: float) -> None:
        self.count += 1
        self._last.append(seconds)

    def distribution(self) -> Distribution:
        return distribution_of([seconds * 1000 for seconds in self._last], self.count)


def distribution_of(values: Iterable[float], count: int) -> Distribution:
    """Of the values that are remembered; `count` there were."""
    ordered = sorted(values) or [0.0]
    at = tuple((q, ordered[min(len(ordered) - 1, int(q * len(ordered)))]) for q in QUANTILES)
    return Distribution(count, sum(ordered) / len(ordered), ordered[-1], at)


class WatchedNode:
    """Implements `ports.DrivenNode` around another; `watch` makes it time every step for a while."""

    def __init__(
        self,
        node: DrivenNode,
        replayed: Callable[[], int] = int,
        meter: ApiMeter | None = None,
        working_on: Callable[[], int | None] = lambda: None,
        listen: Callable[[bool], None] = lambda _watching: None,
    ) -> None:
        """`replayed` counts the batches of the metadata log that the node has replayed. `meter` hears of each event
        from the node itself, which `listen` makes it tell or not; `working_on` says which API's decision takes long.
        """
        self.node = node
        self.replaying = Durations()
        """What a step took that replayed any."""
        self._replayed = replayed
        self._meter = meter
        self._working_on = working_on
        self._listen = listen
        self.processing = Durations()
        """What a step took."""
        self.waiting = Durations()
        """How late a step began for which the node had asked: what any other event waits at that moment, too."""
        self._until = 0.0
        self._step = node.step
        self.start = node.start
        self.next_deadline = node.next_deadline
        self.step = node.step

    def watch(self) -> None:
        self._until = time.monotonic() + WATCH_S
        self.step = self._timed
        self._look(watching=True)

    def _look(self, *, watching: bool) -> None:
        if self._meter is not None:
            self._meter.watching = watching
            self._listen(watching)

    def _timed(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> Sequence[NodeEffect]:
        if any(isinstance(event, TimePassed) for event in events):
            due = self.node.next_deadline()
            if due:  # 0: at once, another piece of something long
                self.waiting.add(max(0.0, now - due))
        replayed, before = self._replayed(), time.perf_counter()
        out = self._metered(self._meter, events, now, wall)
        after = time.perf_counter()
        self.processing.add(after - before)
        if self._replayed() != replayed:
            self.replaying.add(after - before)
        if time.monotonic() > self._until:
            self.step = self._step
            self._look(watching=False)
        return out

    def _metered(
        self, meter: ApiMeter | None, events: Sequence[NodeEvent], now: Instant, wall: WallClock
    ) -> Sequence[NodeEffect]:
        if meter is None:
            return self._step(events, now, wall)
        meter.mark()
        began = self._working_on()
        out = self._step(events, now, wall)
        meter.worked_on(began)
        return out
