from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.raft_meter import WINDOW_S, Timing
from controller_runtime.parts.effects import Log
from controller_runtime.parts.events import TimePassed
from controller_runtime.server.telemetry.measuring import Durations, IdleShare, Rate, WatchedNode

pytestmark = pytest.mark.unit


def test_a_rate_is_what_came_in_the_last_minute() -> None:
    rate = Rate(started=0.0)
    assert rate.per_second(100, 10.0) == 10
    assert rate.per_second(700, 70.0) == 10
    assert rate.per_second(700, 130.0) == 0, "nothing came for a minute"


def test_a_timing_forgets_after_two_windows() -> None:
    timing = Timing()
    assert timing.average_and_maximum(Instant(0.0)) is None
    timing.record(0.010, Instant(1.0))
    timing.record(0.030, Instant(2.0))
    average, most = timing.average_and_maximum(Instant(3.0)) or (0.0, 0.0)
    assert (round(average, 6), most) == (0.02, 0.03)
    assert timing.average_and_maximum(Instant(2.0 + WINDOW_S)) is not None, "the window before still counts"
    assert timing.average_and_maximum(Instant(5.0 + 3 * WINDOW_S)) is None


def test_a_distribution_knows_its_quantiles_and_counts_all() -> None:
    durations = Durations()
    for number in range(1000):
        durations.add(number / 1000)
    found = durations.distribution()
    assert (found.count, found.maximum) == (1000, 999)
    assert dict(found.quantiles)[0.5] == 488 + 256, "of the last 512"


def test_a_thread_that_sleeps_is_idle_and_one_that_counts_is_not() -> None:
    idle = IdleShare()
    time.sleep(0.2)
    slept = idle.read()
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass
    assert slept > 0.5
    assert idle.read() < slept


class SlowNode:
    """Due at 10, and takes a while."""

    def start(self, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        del now, wall
        return []

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[QuorumEffect]:
        del events, now, wall
        time.sleep(0.002)
        return [Log("info", "done")]

    def next_deadline(self) -> Instant | None:
        return Instant(10.0)


def test_steps_are_timed_only_after_somebody_asked() -> None:
    watched = WatchedNode(SlowNode())
    effects = watched.step([TimePassed()], Instant(10.5), WallClock(0))
    assert (effects, watched.processing.count) == ([Log("info", "done")], 0)
    watched.watch()
    assert watched.step([TimePassed()], Instant(10.5), WallClock(0)) == effects
    assert watched.processing.distribution().maximum >= 2
    assert watched.waiting.distribution().maximum == 500, "it was due at 10 and began at 10.5"
