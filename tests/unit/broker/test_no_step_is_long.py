"""Whatever happens to a broker, and whatever it is asked: none of its steps is long, however many partitions it has.

A step is measured by the calls that it makes (`processor`), so the result is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from support.nodes.busy_broker import BusyBroker
from support.simulation.processor import Processor

pytestmark = pytest.mark.unit

FEW: Final = 300
MANY: Final = 1_000
LONGEST_S: Final = 0.006
GROWTH: Final = 1.8
"""What is done in one step takes 3.3 times as long."""


def longest(partitions: int) -> dict[str, float]:
    processor = Processor()

    def measure(work: Callable[[], None]) -> float:
        return processor.measured(work)[1]

    return {kind.name: max(kind.costs) for kind in BusyBroker(partitions, measure).run()}


def test_no_step_of_a_broker_is_long_or_grows_with_its_partitions() -> None:
    few, many = longest(FEW), longest(MANY)
    assert not {name: cost for name, cost in many.items() if cost > min(LONGEST_S, GROWTH * few[name])}
