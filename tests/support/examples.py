"""Hypothesis over long histories, each of which takes a second: a few examples in every run, other ones with every seed, and many in a soak."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, seed, settings

from support import sampling

Test = TypeVar("Test", bound=Callable[..., None])


def examples(few: int, many: int = 1000) -> Callable[[Test], Test]:
    """Beside `given`. What CI draws is drawn again with the same QUORATE_SEED; without `seed` it would be the same for ever."""
    chosen = settings(
        max_examples=many if os.environ.get("QUORATE_SOAK") else few,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    def choose(test: Test) -> Test:
        drawn: Test = chosen(test)
        return seed(sampling.run_seed())(drawn)

    return choose
