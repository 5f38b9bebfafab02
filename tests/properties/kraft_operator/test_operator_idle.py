"""Nothing changes, so nothing is written and nothing is read: clusters whose logs grow all the while, and one operator
that looks at each every few seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from kraft_operator.memory import REST_SECONDS
from support.operator_model.fleet_of_worlds import Fleet
from support.operator_model.world import PASS_SECONDS

pytestmark = pytest.mark.properties

SOAK = bool(os.environ.get("QUORATE_SOAK"))
CLUSTERS, ROUNDS = (20, 120) if SOAK else (4, 5)
"""A quiet cluster is looked at every five seconds: 120 rounds are ten minutes."""


def test_idle_clusters_cost_no_write_and_no_read(sampled: Callable[[str], None]) -> None:
    fleet = watched(CLUSTERS)
    reads, questions = fleet.reads(), looks(fleet)
    before, offsets = fleet.writes(), [api.world.acknowledged for api in fleet.apis.values()]
    for _ in range(ROUNDS):
        for key in fleet.keys:
            fleet.reconcile(key)
        fleet.pass_time()
    assert fleet.writes() == before
    assert fleet.reads() == reads
    assert looks(fleet) == questions + ROUNDS * CLUSTERS
    assert all(api.world.acknowledged >= was + ROUNDS for api, was in zip(fleet.apis.values(), offsets, strict=True))
    sampled(f"{CLUSTERS} idle clusters, {ROUNDS} looks at each: no write, no read")


def watched(count: int) -> Fleet:
    """Ready, with an index, and looked at since."""
    fleet = Fleet(count)
    fleet.settle()
    fleet.watch()
    for key in fleet.keys:
        fleet.reconcile(key)
    return fleet


def looks(fleet: Fleet) -> int:
    """At quorums."""
    return sum(api.looks for api in fleet.apis.values())


def test_as_long_as_no_watch_brings_anything_and_the_quorum_answers_as_before_nothing_is_planned() -> None:
    fleet = watched(1)
    key, indexes = fleet.keys[0], fleet.indexes
    assert indexes is not None
    planned = []
    for _ in range(int(2 * REST_SECONDS / PASS_SECONDS)):
        before = indexes.lists
        fleet.reconcile(key)
        fleet.pass_time()
        planned.append(indexes.lists > before)
    assert planned.count(True) in (1, 2)  # for what time alone brings
    assert looks(fleet) > len(planned)


@pytest.mark.parametrize("what", ["ready", "a pod", "a child", "the quorum"])
def test_what_a_watch_brings_and_what_a_quorum_says_ends_the_quiet(what: str) -> None:
    fleet = watched(2)
    api, key = fleet.apis[fleet.keys[0]], fleet.keys[0]
    before, reads = len(api.writes), api.reads
    match what:
        case "a pod":
            del api.world.pods[101]
        case "a child":
            del api.world.children["Service", "c-nodes"]
        case "the quorum":
            api.world.frozen |= {0}
        case _:
            pass
    for _ in range(3):
        fleet.reconcile(key)
        fleet.now += PASS_SECONDS
    assert (len(api.writes) > before) == (what != "ready")
    assert (api.reads > reads) == (what != "ready")


def test_a_cluster_that_is_touched_is_written_to_and_the_others_are_not() -> None:
    """What the test above counts is counted."""
    fleet = watched(3)
    before = {key: len(api.writes) for key, api in fleet.apis.items()}
    fleet.apis[fleet.keys[1]].annotate_resource(restart="now")
    for key in fleet.keys:
        fleet.reconcile(key)
    wrote = {key: len(api.writes) - before[key] for key, api in fleet.apis.items()}
    assert wrote[fleet.keys[1]] > 0
    assert [wrote[fleet.keys[each]] for each in (0, 2)] == [0, 0]


def test_a_cluster_whose_pods_would_be_refused_is_looked_at_until_they_would_be_taken() -> None:
    """No watch tells of what the pods name: it must not rest over it."""
    fleet = watched(1)
    key = fleet.keys[0]
    api = fleet.apis[key]
    pools = [{**each, "pod": {"priorityClassName": "absent"}} for each in api.resource["spec"]["brokerPools"]]
    api.edit(brokerPools=pools)

    def told(seconds: float) -> dict[str, str]:
        until = fleet.now + seconds
        while fleet.now < until:
            fleet.reconcile(key)
            fleet.pass_time()
        return {each["type"]: f"{each['status']} {each['reason']}" for each in api.resource["status"]["conditions"]}

    found = told(2 * REST_SECONDS + PASS_SECONDS)
    assert found["Stalled"] == "True PriorityClassMissing"
    assert found["RolloutComplete"] == "False RestartDeferred"
    before = list(api.restarted)
    api.world.made.add("PriorityClass")
    told(4 * PASS_SECONDS)
    assert len(api.restarted) > len(before)
