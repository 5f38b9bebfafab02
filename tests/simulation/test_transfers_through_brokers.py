"""Three brokers of production keep transactions through kills, controlled stops, cut networks, pauses, late requests
and lost answers: what is committed is read once and whole, nothing of what is aborted, no transaction hangs. Historic
defects of Apache Kafka, and two that these schedules have found in ours, put in one at a time, are noticed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import pytest

from support.nodes.client_schedule import Troubles
from support.nodes.replica_defects import Defect
from support.nodes.transfer_defects import DEFECTS, noticed
from support.nodes.transfer_schedule import Told, TransferSchedule

pytestmark = pytest.mark.simulation

SCHEDULES: Final = 1_000 if os.environ.get("QUORATE_SOAK") else 4


def told(seed: int) -> Told:
    try:
        return TransferSchedule(seed).run()
    except Exception as error:
        error.add_note(f"replay: TransferSchedule({seed}).run() of tests/support/nodes/transfer_schedule.py")
        raise


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_each_number_is_transferred_once(run_seed: int, sampled: Callable[[str], None]) -> None:
    """TXN-15, TXN-26."""
    every = [told(seed) for seed in range(run_seed, run_seed + SCHEDULES)]
    committed, aborted = sum(one.committed for one in every), sum(one.aborted for one in every)
    troubles = Troubles.all_of(one.troubles for one in every)
    sampled(
        f"{len(every)} schedules of three brokers: {committed} transactions committed, {aborted} aborted, {troubles}, "
        f"{sum(one.fenced for one in every)} producers fenced, seeds from {run_seed}"
    )
    assert committed > 5 * len(every)
    assert aborted > len(every)
    assert troubles.kills + troubles.stops > len(every)
    assert troubles.late > len(every)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=[one.name for one in DEFECTS])
def test_a_defect_of_history_is_noticed(defect: Defect) -> None:
    """TXN-15, KAFKA-19999. Nothing else is wrong with the schedule (below)."""
    assert noticed(defect, defect.seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", sorted({one.seed for one in DEFECTS}))
def test_the_schedules_that_notice_them_pass(seed: int) -> None:
    assert told(seed).committed > 0
