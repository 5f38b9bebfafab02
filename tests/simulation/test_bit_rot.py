"""Bits of closed segments turn over while a quorum is at work and its disks, links and processes fail: nobody serves
them, and nothing acknowledged is lost.

A node reads what it closed again and again (a scrub), verifies what it reads for others, and refuses to start with what
it cannot read; then its disk is replaced.
"""

from __future__ import annotations

import os

import pytest

from controller_runtime.protocol.record_batch import CorruptBatch
from controller_runtime.storage.log import segment
from simulation.invariants.every import every_invariant
from support.simulation.faults import ROT
from support.simulation.plan import rotting_plan
from support.simulation.schedule import Schedule
from support.simulation.world import Violation

pytestmark = pytest.mark.simulation

SCHEDULES = 2000 if os.environ.get("QUORATE_SOAK") else 120


def run(number: int) -> list[str]:
    """What was said of damage in this schedule."""
    said: list[str] = []
    schedule = Schedule.of(rotting_plan(number), every_invariant())
    schedule.world.tracer = said.append
    schedule.run()
    return [
        line for line in said if "turns over" in line or "metadata log corruption" in line or "refuses to start" in line
    ]


@pytest.mark.slow
def test_damage_is_noticed_and_never_served() -> None:
    """SNP-17. Some of it is found by reading, some at a start."""
    said = [line for number in range(SCHEDULES) for line in run(number)]
    for words in ("turns over", "metadata log corruption", "refuses to start"):
        assert any(words in line for line in said), f"no schedule in which: {words}"


def test_a_node_that_does_not_verify_what_it_reads_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ganesan et al., Redundancy Does Not Imply Fault Tolerance (FAST 2017): most stores let one copy's damage reach
    others.
    """
    monkeypatch.setattr(segment, "verify", lambda *_: None)
    with pytest.raises((Violation, CorruptBatch), match=r"serves what its disk has changed|CRC is"):
        for number in range(8 * SCHEDULES):  # until it is noticed
            run(number)


def test_a_plan_with_rot_has_its_own_faults_too() -> None:
    kinds = {fault.kind for number in range(20) for fault in rotting_plan(number).faults}
    assert ROT in kinds
    assert len(kinds) > 5
