"""Quorums of our voters and Java's in any mix: they elect each other, replicate each other, outlive kill -9, and hold one log.

A few mixes run each time, chosen by the seed of the run; all of them, and 200 kills, with QUORATE_SOAK.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from support.config_load import ConfigLoad
from support.mixed_quorum import MixedQuorum
from support.mixed_story import SOAK, assert_nothing_is_lost, chosen

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

KILLS = 200 if SOAK else 5
MIXES = ("OJO", "JOJ", "OOJOJ", "JJOJO")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
def test_every_voter_leads_and_all_hold_the_same_log(
    static: bool, tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """Elections and replication both ways, at kraft.version 1 and 0."""
    for number, kinds in enumerate(chosen(run_seed + static, ["OJO", "JOJ"], 1)):
        with MixedQuorum(tmp_path / str(number), kinds, static=static) as quorum:
            quorum.start()
            with ConfigLoad(quorum.bootstrap) as load:
                load.wait_for(20)
                for wanted in (1, 2, 3, 2, 1) if SOAK else (2, 1):
                    quorum.make_lead(wanted)
                    load.wait_for(20)
            compared = assert_nothing_is_lost(quorum, load)
            name = "static" if static else "dynamic"
            sampled(f"{kinds} ({name}): {len(load.names)} changes, {compared} batches alike")


@pytest.mark.timeout(7200 if SOAK else 600)
def test_voters_that_are_killed_in_turn_lose_nothing(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """kill -9, of the leader every other time, while records are written."""
    mixes = MIXES if SOAK else chosen(run_seed, ("OJO", "JOJ"), 1)
    chance = random.Random(run_seed)
    for kinds in mixes:
        with MixedQuorum(tmp_path / kinds, kinds) as quorum:
            quorum.start()
            with ConfigLoad(quorum.bootstrap) as load:
                load.wait_for(20)
                for number in range(KILLS // len(mixes) if SOAK else KILLS):
                    leader = quorum.leader()
                    others = sorted(quorum.voters() - {leader})
                    victim = leader if number % 2 == 0 else chance.choice(others)
                    quorum.kill(victim)
                    load.wait_for(5)
                    quorum.boot(victim)
                    load.wait_for(5)
                    quorum.wait_until_following()
            compared = assert_nothing_is_lost(quorum, load)
            sampled(f"{kinds}: {len(load.names)} changes under kill -9, {compared} batches alike")
