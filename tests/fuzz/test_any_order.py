"""Right and wrong requests in any order, against a model of what was acknowledged: produce, fetch, create, delete,
register, beat, vote, and frames of the fuzz between them.

The steps are drawn by hypothesis, which also makes a failing story short. Only strangers speak of epochs here, so that
no leader may change.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from support.fuzz.bench import Bench
from support.fuzz.story import Story

pytestmark = pytest.mark.fuzz
SOAK: Final = bool(os.environ.get("QUORATE_SOAK"))
STORIES: Final = 400 if SOAK else 12
STEPS: Final = 30

VALUES: Final = st.lists(st.binary(max_size=300), min_size=1, max_size=4)
STRANGERS: Final = st.sampled_from((4711, 4712, 4713))
PLACES: Final = st.integers(0, 5)


class AnyOrder(RuleBasedStateMachine):
    bench: Bench
    seed: int

    def __init__(self) -> None:
        super().__init__()
        self.bench.ready()
        self.story = Story(self.bench)

    @rule()
    def create(self) -> None:
        self.story.create()

    @precondition(lambda self: self.story.topics)
    @rule(place=PLACES)
    def delete(self, place: int) -> None:
        self.story.delete(place)

    @precondition(lambda self: self.story.topics)
    @rule(place=PLACES, values=VALUES, codec=st.integers(0, 4))
    def produce(self, place: int, values: list[bytes], codec: int) -> None:
        self.story.produce(place, values, codec)

    @precondition(lambda self: self.story.topics)
    @rule(place=PLACES, lie=st.integers(0, 2**32))
    def produce_a_lie(self, place: int, lie: int) -> None:
        self.story.produce_a_lie(place, lie)

    @precondition(lambda self: self.story.topics)
    @rule(place=PLACES, offset=st.integers(-2, 20))
    def fetch(self, place: int, offset: int) -> None:
        self.story.fetch(place, offset)

    @rule(broker=STRANGERS, incarnation=st.integers(1, 3))
    def register(self, broker: int, incarnation: int) -> None:
        self.story.register(broker, incarnation)

    @rule(broker=STRANGERS, wrong=st.sampled_from((0, 0, 1, -1, 2**62)), fence=st.booleans(), leave=st.booleans())
    def beat(self, broker: int, wrong: int, fence: bool, leave: bool) -> None:
        self.story.beat(broker, wrong, fence=fence, leave=leave)

    @rule(broker=STRANGERS)
    def unregister(self, broker: int) -> None:
        self.story.unregister(broker)

    @rule(node=STRANGERS, ahead=st.sampled_from((0, 1, 2, 1000, 2**31)), pre=st.booleans(), to=st.integers(0, 2))
    def vote(self, node: int, ahead: int, pre: bool, to: int) -> None:
        self.story.vote(node, ahead, pre=pre, to=to)

    @rule(node=STRANGERS, ahead=st.sampled_from((0, 1, 1000, 2**31)), to=st.integers(0, 2))
    def begin_epoch(self, node: int, ahead: int, to: int) -> None:
        self.story.begin_epoch(node, ahead, to)

    @rule(number=st.integers(0, 1 << 24))
    def frame(self, number: int) -> None:
        self.story.frame(self.seed, number)

    @invariant()
    def everybody_lives(self) -> None:
        assert self.bench.judge.dead() == []

    def teardown(self) -> None:
        self.story.end()


def test_requests_in_any_order_leave_what_was_acknowledged(
    bench: Bench, run_seed: int, sampled: Callable[[str], None]
) -> None:
    AnyOrder.bench, AnyOrder.seed = bench, run_seed
    chosen = settings(
        max_examples=STORIES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    machine: Any = seed(run_seed)(AnyOrder)
    run_state_machine_as_test(machine, settings=chosen)
    sampled(f"{STORIES} stories of {STEPS} requests in any order (seed {run_seed})")
