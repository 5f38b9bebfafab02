"""The real reconciler and executor, killed right before and right after every single write of every story: always the
same final state.

A write is a ledger entry (the journal), a call to the API server, or a change of the quorum; so every failpoint of
`execute` lies between two of them. The next process remembers nothing and finishes. "The same" includes what must not
happen twice: formattings, restarts, voters written off.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from support import sampling
from support.operator_model.world import World, pool
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import DeathAt, FrozenAt, Run, Weather

pytestmark = pytest.mark.properties

SOAK = bool(os.environ.get("QUORATE_SOAK"))
SAMPLE = 3
"""Deaths per story in `make test`, and how many stories are told; `make soak` has all of both."""


def controllers(count: int) -> dict[str, object]:
    return {"replicas": count, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}


def formation(run: Run) -> None:
    run.settle()


def lost_voter(run: Run) -> None:
    run.world.delete_claim(2)
    run.settle()


def emptied_disk(run: Run) -> None:
    run.world.wipe(1)
    run.settle()


def lost_node(run: Run) -> None:
    run.api.edit(recoveryPolicy={"nodeGone": "TreatAsLost"})
    run.settle()
    run.world.cut_power(2)
    run.tick()
    run.world.delete_node(2)
    run.settle()


def scale(run: Run) -> None:
    run.api.edit(controllers=controllers(5))
    run.settle()
    run.api.edit(controllers=controllers(3))
    run.settle()


def roll(run: Run) -> None:
    run.api.edit(image={"repository": "kafka", "tag": "2"})
    run.settle()


def restart_on_request(run: Run) -> None:
    run.api.annotate_resource(restart="now")
    run.settle()


def shrink(run: Run) -> None:
    run.api.edit(brokerPools=[pool("b", 1, 100)])
    run.settle()


def grow_volumes(run: Run) -> None:
    """The test plays the resizer."""
    run.api.edit(controllers={**controllers(3), "storage": {"size": "2Gi"}})
    run.settle()
    for claim in run.world.claims.values():
        claim.capacity = claim.requested
    run.settle()


def another_class(run: Run) -> None:
    """The operator takes the claim of a lost node away, and the next one is of the class that is asked for by then."""
    overrides = [{"nodeID": 2, "storageClassName": "fast"}]
    run.api.edit(controllers={**controllers(3), "storage": {"size": "1Gi", "overrides": overrides}})
    lost_node(run)
    assert run.world.claims["data-c-controller-2-0"].storage_class == "fast"


def hibernate_and_wake(run: Run) -> None:
    run.api.edit(lifecycle={"state": "Hibernated"})
    run.settle()
    run.api.edit(lifecycle={"state": "Running"})
    run.settle()


STORIES: dict[str, Callable[[Run], None]] = {
    story.__name__: story
    for story in (
        formation, lost_voter, emptied_disk, lost_node, scale, roll, restart_on_request, shrink, grow_volumes,
        another_class, hibernate_and_wake,
    )
}  # fmt: skip


TOLD = list(STORIES) if SOAK else random.Random(sampling.run_seed()).sample(list(STORIES), SAMPLE)


def start(story: str) -> Run:
    run = Run(WorldApi(World()))
    if story != "formation":
        run.settle()
    return run


@pytest.mark.parametrize("story", TOLD)
def test_a_death_before_or_after_any_write_changes_nothing_in_the_end(
    story: str, run_seed: int, sampled: Callable[[str], None]
) -> None:
    begun = start(story)
    undisturbed = begun.copied(counted := DeathAt(-1, after=False))
    STORIES[story](undisturbed)
    wanted = undisturbed.final()
    assert wanted["ready"] == ("True", "Ready"), wanted
    every = [(number, after) for number in range(1, counted.seen + 1) for after in (False, True)]
    chance = random.Random(f"{run_seed} {story}")
    chosen = every if SOAK else chance.sample(every, min(SAMPLE, len(every)))
    for number, after in chosen:
        run = begun.copied(death := DeathAt(number, after))
        STORIES[story](run)
        assert run.deaths == 1, f"write {number} was never reached"
        assert run.final() == wanted, f"the operator died {'after' if after else 'before'} write {number}: {death.what}"
    sampled(f"the operator killed at {len(chosen)} of {len(every)} places of {story}")


@pytest.mark.parametrize("story", TOLD)
def test_an_operator_frozen_within_any_write_that_wakes_up_after_all_is_done_changes_nothing(
    story: str, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """Two processes: the second takes over and finishes; then the first one's write arrives."""
    begun = start(story)
    undisturbed = begun.copied(counted := DeathAt(-1, after=False))
    STORIES[story](undisturbed)
    wanted, every = undisturbed.final(), range(1, counted.seen + 1)
    chance = random.Random(f"{run_seed} late {story}")
    chosen = every if SOAK else chance.sample(every, min(SAMPLE, len(every)))
    for number in chosen:
        run = begun.copied(frozen := FrozenAt(number))
        STORIES[story](run)
        frozen.thaw()
        run.settle()
        assert run.final() == wanted, f"write {number} arrived late: {frozen.what}"
    sampled(f"the operator frozen at {len(chosen)} of {len(every)} places of {story}")


@pytest.mark.parametrize("story", TOLD)
def test_an_api_server_that_refuses_forgets_to_answer_and_shows_old_states_changes_nothing_in_the_end(
    story: str, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """409, 429, 500, connections cut before and after the server acted, reads older than the last write: one call in
    ten.
    """
    begun = start(story)
    undisturbed = begun.copied(DeathAt(-1, after=False))
    STORIES[story](undisturbed)
    struck: dict[str, int] = {}
    for number in range(40 if SOAK else 1):
        weather = Weather(random.Random(f"{run_seed} {story} {number}"))
        run = begun.copied(weather)
        STORIES[story](run)
        weather.bad = False
        run.settle()
        assert run.final() == undisturbed.final(), f"weather {run_seed} {story} {number}: {weather.struck}"
        struck = {kind: struck.get(kind, 0) + weather.struck.get(kind, 0) for kind in {*struck, *weather.struck}}
    sampled(f"{story} in bad weather: {struck}")
