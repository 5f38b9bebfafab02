"""Three brokers of production coordinate groups of the classic protocol and of KIP-848 through kills, controlled stops,
cut networks, pauses, late requests and lost answers, while members die, sleep, leave and come: no two have one
partition, and what is committed is where whoever comes next goes on. Defects, put in one at a time, are noticed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from support.nodes.client_schedule import Troubles
from support.nodes.group_defects import DEFECTS, noticed
from support.nodes.group_schedule import GroupSchedule, Told
from support.nodes.replica_defects import Defect

pytestmark = pytest.mark.simulation

SCHEDULES: Final = 1_000 if os.environ.get("QUORATE_SOAK") else 2


def told(seed: int) -> Told:
    try:
        return GroupSchedule(seed).run()
    except Exception as error:
        error.add_note(f"replay: GroupSchedule({seed}).run() of tests/support/nodes/group_schedule.py")
        raise


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_partitions_have_one_owner_and_positions_never_go_back(run_seed: int, sampled: Callable[[str], None]) -> None:
    """GRP-04, CGP-05."""
    every = [told(seed) for seed in range(run_seed, run_seed + SCHEDULES)]
    troubles = Troubles.all_of(one.troubles for one in every)
    members = sum((Counter(one.members) for one in every), Counter[str]())
    commits, taken = sum(one.commits for one in every), sum(one.taken for one in every)
    sampled(
        f"{len(every)} schedules of three brokers and two groups: {dict(members)} members took partitions {taken} "
        f"times and committed {commits} times, {sum(one.refused for one in every)} commits refused, "
        f"{sum(one.fenced for one in every)} members put out, {troubles}, seeds from {run_seed}"
    )
    assert commits > 50 * len(every)
    assert taken > 10 * len(every)
    assert troubles.kills + troubles.stops + troubles.cuts + troubles.pauses > len(every)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=[one.name for one in DEFECTS])
def test_a_defect_of_groups_is_noticed(defect: Defect) -> None:
    """Nothing else is wrong with the schedule (below)."""
    assert noticed(defect, defect.seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({one.seed for one in DEFECTS}))
def test_the_schedules_that_notice_them_pass(seed: int) -> None:
    assert told(seed).commits > 0
