"""ACL races at fail-over (ACL-11): from the moment that a denial is acknowledged until it is taken back, nobody who
asks later is let do it by an active controller, nor by any node that has replayed the denial (`simulation.rights`).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.invariants.every import every_invariant
from support.simulation.rights import Rights

pytestmark = pytest.mark.simulation


def test_what_is_denied_and_acknowledged_is_allowed_by_nobody_who_knows(
    run_seed: int, sampled: Callable[[str], None]
) -> None:
    done = Rights(run_seed, tuple(every_invariant())).run()
    sampled(f"{done.denials} denials in {done.epochs} epochs, {done.judged} refusals that had to be, {done.by_role}")
    assert done.denials > 0
    assert done.allowed > 0
    assert done.judged > 0
