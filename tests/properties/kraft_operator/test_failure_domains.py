"""Random zones and sizes: what `Require` promises of failure domains, with operators that die on the way.

Voters of whom no domain can commit alone never become voters of whom one can; where the way asked for leads there, they
stay as they are (four of them, too) and it is said. A condition tells of a majority in one domain exactly while there
is one.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kraft_operator.plan.voters.domains import MAJORITY_IN_ONE
from support.operator_model.world import World, refused

pytestmark = pytest.mark.properties

EXAMPLES = 300 if os.environ.get("QUORATE_SOAK") else 6


def spec(size: int) -> dict[str, object]:
    ids, domains = {"start": 0, "end": 9}, {"policy": "Require"}
    return {"replicas": size, "nodeIdRange": ids, "storage": {"size": "1Gi"}, "failureDomains": domains}


def commits_alone(voters: range | dict[int, str], zones: dict[int, str]) -> bool:
    return max(Counter(zones[each] for each in voters).values()) > len(voters) // 2


@example(names="aabbc", sizes=[(5, 0), (3, 0)])
@example(names="aabba", sizes=[(5, 3)])  # four of two zones are better than five of which one has three
@given(
    st.text("abc", min_size=5, max_size=5), st.lists(st.tuples(st.sampled_from((3, 5)), st.integers(0, 6)), max_size=4)
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_size_that_is_asked_for_puts_a_majority_into_one_domain(names: str, sizes: list[tuple[int, int]]) -> None:
    world, zones = World(controllers=spec(3)), dict(enumerate(names))
    world.zones = zones
    decision = world.settle(80)
    for size, dies_after in sizes:
        bad = commits_alone(world.voters, zones)
        world.edit(controllers=spec(size))
        world.reconcile(stop_after=dies_after)
        world.take_over()
        decision = world.settle(120)
        assert bad or not commits_alone(world.voters, zones), f"{world.voters} in {zones}"
        if set(world.voters) != set(range(size)):
            assert not commits_alone(world.voters, zones)
            assert commits_alone(range(size), zones)
            assert {"AddingVoter", "RemovingVoter"} & set(refused(decision))
        assert not world.broken
    assert (MAJORITY_IN_ONE in refused(decision)) == commits_alone(world.voters, zones)
