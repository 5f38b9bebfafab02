"""Nothing changes, so nothing is written: clusters whose logs grow all the while, and one operator that looks at each every few seconds."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from support.fleet_of_worlds import Fleet

pytestmark = pytest.mark.properties

SOAK = bool(os.environ.get("QUORATE_SOAK"))
CLUSTERS, ROUNDS = (20, 120) if SOAK else (4, 5)
"""A quiet cluster is looked at every five seconds: 120 rounds are ten minutes."""


def test_idle_clusters_cost_no_write(sampled: Callable[[str], None]) -> None:
    fleet = Fleet(CLUSTERS)
    fleet.settle()
    before, offsets = fleet.writes(), [api.world.acknowledged for api in fleet.apis.values()]
    for _ in range(ROUNDS):
        for key in fleet.keys:
            fleet.reconcile(key)
        fleet.pass_time()
    assert fleet.writes() == before
    assert all(api.world.acknowledged >= was + ROUNDS for api, was in zip(fleet.apis.values(), offsets, strict=True))
    sampled(f"{CLUSTERS} idle clusters, {ROUNDS} looks at each: no write")


def test_a_cluster_that_is_touched_is_written_to_and_the_others_are_not() -> None:
    """What the test above counts is counted."""
    fleet = Fleet(3)
    fleet.settle()
    before = {key: len(api.writes) for key, api in fleet.apis.items()}
    fleet.apis[fleet.keys[1]].annotate_resource(restart="now")
    for key in fleet.keys:
        fleet.reconcile(key)
    wrote = {key: len(api.writes) - before[key] for key, api in fleet.apis.items()}
    assert wrote[fleet.keys[1]] > 0
    assert [wrote[fleet.keys[each]] for each in (0, 2)] == [0, 0]
