"""Quorums of our voters and Java's in any mix: they elect each other, replicate each other, outlive kill -9, and hold
one log.

A few mixes run each time, chosen by the seed of the run; all of them (or QUORATE_MIXES), and 200 kills (or
QUORATE_KILLS), with QUORATE_SOAK.

INT-02: with what `test_mixed_snapshots.py` fetches.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.apache_kafka.mixed_quorum import JAVA, OURS, MixedQuorum
from support.apache_kafka.mixed_story import SOAK, assert_nothing_is_lost, chosen
from support.clients.config_load import ConfigLoad

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

KILLS = int(os.environ.get("QUORATE_KILLS", "200" if SOAK else "4"))
KILLING_SECONDS = float(os.environ.get("QUORATE_KILLING_SECONDS", "inf"))
"""After so long a mix is struck no more, and judged."""
MIXES = tuple(os.environ.get("QUORATE_MIXES", "OJO,JOJ,OOJOJ,JJOJO").split(","))


@pytest.mark.timeout(3600)
def test_voters_of_both_kinds_lead_and_all_hold_the_same_log(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """Elections and replication both ways, at kraft.version 1 and 0."""
    for kinds, static in chosen(run_seed, [("OJO", False), ("OJO", True), ("JOJ", False), ("JOJ", True)], 1):
        name = "static" if static else "dynamic"
        with MixedQuorum(tmp_path / f"{kinds}-{name}", kinds, static=static) as quorum:
            quorum.start()
            with ConfigLoad(quorum.bootstrap) as load:
                load.wait_for(20)
                for kind in (JAVA, OURS, JAVA, OURS) if SOAK else (JAVA, OURS):
                    quorum.lead_by(kind)
                    load.wait_for(20)
            compared = assert_nothing_is_lost(quorum, load)
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
                kills, until = 0, time.monotonic() + KILLING_SECONDS
                for number in range(KILLS // len(mixes) if SOAK else KILLS):
                    if time.monotonic() > until:
                        break
                    leader = quorum.leader()
                    others = sorted(quorum.voters() - {leader})
                    victim = leader if number % 2 == 0 else chance.choice(others)
                    quorum.kill(victim)
                    kills += 1
                    load.wait_for(5)
                    quorum.boot(victim)
                    load.wait_for(5)
                    quorum.wait_until_following()
            compared = assert_nothing_is_lost(quorum, load)
            sampled(f"{kinds}: {len(load.names)} changes under {kills} kill -9, {compared} batches alike")
