"""The ledger is deleted within any write of the operator, which dies there: what was granted before is known, and
nothing that ran is formatted again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from support.operator_model.world import World, pool
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import DeathAt, Run

pytestmark = pytest.mark.properties

SOAK = bool(os.environ.get("QUORATE_SOAK"))
SAMPLE = 6


def grow(run: Run) -> None:
    run.api.edit(brokerPools=[pool("b", 3, 100)])
    until_it_dies(run)


def shrink(run: Run) -> None:
    run.api.edit(brokerPools=[pool("b", 1, 100)])
    until_it_dies(run)


def replace_a_voter(run: Run) -> None:
    run.world.wipe(2)
    until_it_dies(run)


def until_it_dies(run: Run) -> None:
    for _ in range(40):
        run.tick()
        if run.deaths:
            break
    run.world.lose_ledger()


@pytest.mark.parametrize("story", [grow, shrink, replace_a_voter], ids=lambda story: story.__name__)
def test_what_the_ledger_permitted_is_known_wherever_it_is_lost(
    story: Callable[[Run], None], run_seed: int, sampled: Callable[[str], None]
) -> None:
    begun = Run(WorldApi(World()))
    begun.api.edit(recoveryPolicy={"lostDisk": "Report" if story is not replace_a_voter else "Replace"})
    begun.settle()
    undisturbed = begun.copied(counted := DeathAt(-1, after=False))
    story(undisturbed)
    every = [(number, after) for number in range(1, counted.seen + 1) for after in (False, True)]
    chosen = every if SOAK else random.Random(f"{run_seed} {story.__name__}").sample(every, min(SAMPLE, len(every)))
    for number, after in chosen:
        run = begun.copied(death := DeathAt(number, after))
        story(run)
        where = f"{story.__name__}: the ledger lost {'after' if after else 'before'} write {number}: {death.what}"
        ran = {node for node in (100, 101, 102) if node in run.world.pods and run.world.pods[node].stage == "running"}
        retired = set(range(100, 103)) - set(run.world.sets)
        for node in ran if story is not replace_a_voter else ():
            run.world.delete_claim(node)
        formats = len(run.world.formats)
        run.settle()
        again = {node for _, _, node, _ in run.world.formats[formats:]}
        assert not again & ran, f"{where}: brokers {again & ran} were formatted again"
        assert not retired & set(run.world.sets) - ({102} if story is grow else set()), where
        assert sorted(run.world.running_voters()) == [0, 1, 2], where
    sampled(f"the ledger lost at {len(chosen)} of {len(every)} places of {story.__name__}")
