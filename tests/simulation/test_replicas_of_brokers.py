"""Three brokers of production keep partitions together through kills, controlled stops and cut networks: no record that
all in sync acknowledged is lost, consumers never see another one in its place, logs end as the same bytes. Historic
defects of Apache Kafka, put in one at a time, are noticed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import pytest

from support.nodes.replica_defects import DEFECTS, Defect, noticed
from support.nodes.replica_schedule import Schedule, Told

pytestmark = pytest.mark.simulation

SCHEDULES: Final = 2_000 if os.environ.get("QUORATE_SOAK") else 6


def told(seed: int) -> Told:
    try:
        return Schedule(seed).run()
    except Exception as error:
        error.add_note(f"replay: Schedule({seed}).run() of tests/support/nodes/replica_schedule.py")
        raise


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_what_was_acknowledged_is_kept_by_all(run_seed: int, sampled: Callable[[str], None]) -> None:
    """FLW-02, FLW-13, ISR-07, ISR-11, KAFKA-7164."""
    every = [told(seed) for seed in range(run_seed, run_seed + SCHEDULES)]
    kills, stops = sum(one.kills for one in every), sum(one.stops for one in every)
    acknowledged, truncations = sum(one.acknowledged for one in every), sum(one.truncations for one in every)
    reigns = sum(len(one.leaders) for one in every)
    sampled(
        f"{len(every)} schedules of three brokers: {acknowledged:,} acknowledged records, {kills} kills, {stops} "
        f"controlled stops, {reigns} reigns, {truncations} logs cut, seeds from {run_seed}"
    )
    assert acknowledged > 10 * len(every)
    assert kills + stops > len(every)
    assert reigns > 2 * len(every)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=[one.name for one in DEFECTS])
def test_a_defect_of_history_is_noticed(defect: Defect) -> None:
    """Nothing else is wrong with the schedule (below)."""
    assert noticed(defect, defect.seed)


@pytest.mark.slow
def test_the_schedules_that_notice_them_pass() -> None:
    assert sum(told(seed).truncations for seed in sorted({one.seed for one in DEFECTS})) > 0
