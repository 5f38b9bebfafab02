"""How many copies a cluster keeps: chosen when it is formed, never more than it has brokers, and nobody is restarted
for it unasked (issue 17, section 9).
"""

from __future__ import annotations

import pytest

from kraft_operator.api.spec import ClusterSpec
from kraft_operator.claim_memory import parse, render
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.ledger_format import parse as parse_ledger
from kraft_operator.ledger_format import render as render_ledger
from kraft_operator.manifests.replication import factor_for, replication_properties
from support.operator_model.world import World, pool

pytestmark = pytest.mark.unit

KEYS = ("default.replication.factor", "min.insync.replicas", "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor", "transaction.state.log.min.isr")  # fmt: skip


def brokers(count: int) -> dict[str, object]:
    return {"brokerPools": [pool("b", count, 100)]}


def formed(**changes: object) -> World:
    world = World(**changes)
    world.settle(80)
    return world


def told(world: World) -> set[tuple[str | None, ...]]:
    """What the pods run with, of controllers and brokers alike."""
    lines = (pod.properties.splitlines() for pod in world.pods.values())
    found = (dict(line.split("=", 1) for line in each if "=" in line) for each in lines)
    return {tuple(each.get(key) for key in KEYS) for each in found}


def pods(world: World) -> dict[int, str]:
    return {node_id: pod.uid for node_id, pod in world.pods.items()}


def spec(*counts: int) -> ClusterSpec:
    pools = [pool(f"p{index}", count, 100 * (index + 1)) for index, count in enumerate(counts)]
    return World(brokerPools=pools).cluster.spec


@pytest.mark.parametrize(
    ("counts", "factor"), [((), 0), ((0,), 0), ((1,), 1), ((2,), 2), ((3,), 3), ((9,), 3), ((1, 1), 2), ((2, 7), 3)]
)
def test_a_cluster_keeps_up_to_three_copies_and_never_more_than_it_has_brokers(
    counts: tuple[int, ...], factor: int
) -> None:
    assert factor_for(spec(*counts)) == factor


@pytest.mark.parametrize("probes", ["HTTP", "TCP"])
def test_brokers_of_either_kind_behind_tls_keep_as_many(probes: str) -> None:
    secure = {"tls": {"mode": "Required"}}
    assert factor_for(World(brokerPools=[pool("b", 3, 100)], probes=probes, security=secure).cluster.spec) == 3


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_a_write_that_waits_for_all_bears_the_loss_of_one_copy_and_never_asks_for_more_than_there_are(
    factor: int,
) -> None:
    found = {key: int(value) for key, value in replication_properties(factor, ()).items()}
    copies, in_sync = found["default.replication.factor"], found["min.insync.replicas"]
    assert copies == found["offsets.topic.replication.factor"] == found["transaction.state.log.replication.factor"]
    assert (copies, in_sync) == (factor, {1: 1, 2: 1, 3: 2}[factor])
    assert found["transaction.state.log.min.isr"] == in_sync


@pytest.mark.parametrize("key", ["default.replication.factor", "min.insync.replicas"])
def test_who_sets_one_key_of_a_pair_has_both(key: str) -> None:
    found = replication_properties(3, {key})
    assert "default.replication.factor" not in found
    assert "min.insync.replicas" not in found
    assert found["offsets.topic.replication.factor"] == "3"


def test_every_node_of_a_new_cluster_says_how_many_copies_there_are() -> None:
    assert told(formed(**brokers(3))) == {("3", "2", "3", "3", "2")}
    assert told(formed(**brokers(1))) == {("1", "1", "1", "1", "1")}


def test_what_the_resource_sets_wins() -> None:
    world = formed(**brokers(3), config={"common": {"default.replication.factor": "1"}})
    assert told(world) == {("1", None, "3", "3", "2")}


def test_a_pool_that_grows_restarts_nobody() -> None:
    world = formed(**brokers(1))
    before = pods(world)
    world.edit(**brokers(3))
    world.settle(80)
    assert before.items() <= pods(world).items()
    assert told(world) == {("1", "1", "1", "1", "1")}


def test_a_pool_that_shrinks_restarts_nobody() -> None:
    world = formed(**brokers(3))
    before = pods(world)
    world.edit(**brokers(2))
    world.settle(80)
    assert pods(world) == {node_id: uid for node_id, uid in before.items() if node_id != 102}


def test_a_cluster_that_an_older_operator_formed_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before_this_release:
        before_this_release.setattr("kraft_operator.plan.disks.adoption.factor_for", lambda _: 0)
        world = formed(**brokers(3))
    assert "replicationFactor" not in str(world.ledger_data)
    before, nothing = pods(world), {(None,) * len(KEYS)}
    world.settle(80)
    world.lose_ledger()
    world.settle(80)
    assert pods(world) == before
    assert told(world) == nothing


@pytest.mark.parametrize("memory", [True, False])
def test_the_factor_outlives_the_ledger(memory: bool) -> None:
    """From the claims' memory, or, where that is gone too, from what the nodes were given."""
    world = formed(**brokers(3))
    before = pods(world)
    world.edit(**brokers(4))
    world.settle(80)
    world.lose_ledger()
    for claim in world.claims.values():
        claim.marks = {key: text for key, text in claim.marks.items() if memory or key != "memory"}
    world.settle(80)
    assert world.ledger is not None
    assert world.ledger.replication_factor == 3
    assert before.items() <= pods(world).items()


def test_ledger_and_memory_keep_it() -> None:
    known = Ledger("id", formation=Formation.FORMED, replication_factor=3)
    assert parse_ledger(render_ledger(known)).replication_factor == 3
    memory = parse(render(known))
    assert memory is not None
    assert memory.replication_factor == 3
