"""Three brokers of production lead partitions that a group shares, keep their states and coordinate the group, through
kills, controlled stops, cut networks, pauses, late requests and lost answers, while members die, sleep, leave and come:
what is accepted never comes again, what somebody has comes to nobody else, and nothing is left over. Defects, put in
one at a time, are noticed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import pytest

from support.nodes.client_schedule import Troubles
from support.nodes.replica_defects import Defect
from support.nodes.share_defects import DEFECTS, noticed
from support.nodes.share_schedule import ShareSchedule, Told

pytestmark = pytest.mark.simulation

SCHEDULES: Final = 1_000 if os.environ.get("QUORATE_SOAK") else 2


def told(seed: int) -> Told:
    try:
        return ShareSchedule(seed).run()
    except Exception as error:
        error.add_note(f"replay: ShareSchedule({seed}).run() of tests/support/nodes/share_schedule.py")
        raise


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_what_is_accepted_never_comes_again_and_nothing_is_left(run_seed: int, sampled: Callable[[str], None]) -> None:
    every = [told(seed) for seed in range(run_seed, run_seed + SCHEDULES)]
    troubles = Troubles.all_of(one.troubles for one in every)
    written, done = sum(one.written for one in every), sum(one.done for one in every)
    sampled(
        f"{len(every)} schedules of three brokers and a share group: {sum(one.members for one in every)} members were "
        f"given {sum(one.given for one in every)} records ({sum(one.again for one in every)} again) of {written} "
        f"written, settled {done}, released {sum(one.released for one in every)}, were refused "
        f"{sum(one.refused for one in every)}, {troubles}, seeds from {run_seed}"
    )
    assert done > 50 * len(every)
    assert sum(one.again for one in every) > 10 * len(every)
    assert troubles.kills + troubles.stops + troubles.cuts + troubles.pauses > len(every)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=[one.name for one in DEFECTS])
def test_a_defect_of_share_groups_is_noticed(defect: Defect) -> None:
    """Nothing else is wrong with the schedule (below)."""
    assert noticed(defect, defect.seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({one.seed for one in DEFECTS}))
def test_a_schedule_that_notices_them_passes(seed: int) -> None:
    assert told(seed).done > 0
