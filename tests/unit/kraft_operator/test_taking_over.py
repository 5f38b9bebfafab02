"""Disks that another operator formatted are taken over one at a time: claims of ours wait for their volumes, the first
one says which cluster it is, and nothing is formatted (docs/operations/adopt-from-strimzi.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.manifests.services import port_name
from support.operator_model.world import World, resource

pytestmark = pytest.mark.unit


def test_listeners_keep_the_names_by_which_the_metadata_log_knows_the_voters() -> None:
    """Strimzi's have their port behind them; a port's name has 15 characters at most."""
    replication, clients = {"name": "REPLICATION-9091", "port": 9091}, {"name": "PLAIN-9092", "port": 9092}
    asked = {"controller": [{"name": "CONTROLPLANE-9090", "port": 9090}], "broker": [replication, clients]}
    spec = parse_cluster(resource(endpoints=asked)).spec
    named = [(each.name, port_name(each)) for each in (*spec.controller_listeners, *spec.broker_listeners)]
    assert named == [
        ("CONTROLPLANE-9090", "tcp-9090"), ("REPLICATION-9091", "tcp-9091"), ("PLAIN-9092", "tcp-9092"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["PLAIN-", "PLAIN-123456", "PLAIN-9092-1", "-9092", "PLAIN-A", "plain-9092"])
def test_nothing_but_one_number_stands_behind_a_listeners_name(name: str) -> None:
    with pytest.raises(InvalidSpec, match="perhaps with -NUMBER behind"):
        parse_cluster(resource(endpoints={"broker": [{"name": name, "port": 9092}]}))


def laid_out_by_another() -> tuple[World, dict[int, str | None]]:
    """A cluster whose disks bear nothing of ours and whose claims are not bound yet; node 0's claim names itself."""
    world = World()
    world.settle(80)
    assert world.ledger is not None
    directories, cluster_id = (
        {each.node_id: each.directory_id for each in world.ledger.entries},
        world.ledger.cluster_id,
    )
    world.ledger_data = None
    for forgotten in (world.pods, world.sets, world.children, world.formats):
        forgotten.clear()
    for claim in world.claims.values():
        claim.marks.clear()
        claim.unbound = True
        disk = world.disks[claim.volume]
        disk.facts = replace(disk.facts, marker=None)
    first = {"cluster-id": cluster_id, "node-id": "0", "directory-id": str(directories[0])}
    world.claims["data-c-controller-0-0"].marks.update(first)
    report = {"recoveryPolicy": {"lostDisk": "Report"}, "bootstrap": {"policy": "AdoptOnly"}}
    world.edit(clusterID=cluster_id, **report)
    return world, directories


def test_every_disk_keeps_its_directory_and_is_known_with_its_volume_once_its_claim_is_bound() -> None:
    world, directories = laid_out_by_another()
    world.settle(20)
    assert world.ledger is not None
    assert {each.node_id: each.pv_name for each in world.ledger.entries} == {0: None}
    assert set(world.ledger.doubted) == {1, 2, 100, 101}
    for node_id in (0, 1, 100, 101, 2):
        name = f"data-c-{'controller' if node_id < 100 else 'b'}-{node_id}-0"
        world.claims[name].unbound = False
        if node_id in world.pods:
            world.pods[node_id].hindrance = None
        world.settle(60)
        assert world.ledger is not None
        entry = world.ledger.entry(node_id)
        assert entry is not None
        assert (entry.directory_id, entry.pv_name) == (directories[node_id], world.claims[name].volume)
    assert world.ledger.doubted == ()
    assert (world.formats, world.restarts, world.broken) == ([], [], [])
    world.edit(image={"repository": "kafka", "tag": "2"})
    world.settle(80)
    assert (world.formats, world.broken) == ([], [])
    assert {each.image for each in world.pods.values() if each.runs} == {"kafka:2"}
    assert len([each for each in world.pods.values() if each.runs]) == 5, "a disk that was taken over starts again"
