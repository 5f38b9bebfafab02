"""Whatever happens to a broker, and whatever it is asked: none of its steps is long, however many partitions it has.

A step is measured by the calls that it makes (`processor`), so the result is the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from controller_runtime.parts import pieces
from support.nodes.busy_broker import BusyBroker
from support.nodes.guarded_broker import GuardedBroker
from support.simulation.processor import Processor

pytestmark = pytest.mark.unit

FEW: Final = 300
MANY: Final = 1_000
LONGEST_S: Final = 0.006
SHORT_S: Final = 0.0008
"""What else a broker does in a step."""
GROWTH: Final = 1.8
"""What is done in one step takes 3.3 times as long."""


def longest(partitions: int, kind_of_broker: type[BusyBroker] = BusyBroker) -> dict[str, float]:
    processor = Processor()

    def measure(work: Callable[[], None]) -> float:
        return processor.measured(work)[1]

    return {kind.name: max(kind.costs) for kind in kind_of_broker(partitions, measure).run()}


def test_no_step_of_a_broker_is_long_or_grows_with_its_partitions() -> None:
    few, many = longest(FEW), longest(MANY)
    assert not {name: cost for name, cost in many.items() if cost > min(LONGEST_S, GROWTH * few[name])}


def test_nor_is_one_in_which_it_asks_the_authorizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each topic and token that is named, or that there is; what is answered is made whole in pieces, too. With
    pieces of ten units nothing grows that is done one by one.
    """
    monkeypatch.setattr(pieces, "PIECE_UNITS", 10)
    few, many = longest(100, GuardedBroker), longest(600, GuardedBroker)
    assert not {name: cost for name, cost in many.items() if cost > max(SHORT_S, GROWTH * few[name])}
