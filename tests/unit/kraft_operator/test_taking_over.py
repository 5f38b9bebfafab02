"""Disks that another operator formatted are taken over one at a time: claims of ours wait for their volumes, the first
one says which cluster it is, and nothing is formatted (docs/operations/adopt-from-strimzi.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.manifests.services import port_name
from storage_guard.facts import VolumeFacts
from support.operator_model.world import World, pool, resource

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


Directories = dict[tuple[int, str], str | None]
"""By node and further volume; the first one has no name."""


def known(world: World) -> Directories:
    assert world.ledger is not None
    first = {(each.node_id, ""): each.directory_id for each in world.ledger.entries}
    return first | {(entry.node_id, volume): entry.directory_id for volume, entry in world.ledger.volumes}


def laid_out_by_another(**changes: object) -> tuple[World, Directories]:
    """A cluster whose disks bear nothing of ours and whose claims are not bound yet; node 0's claim names itself."""
    world = World(**changes)
    world.settle(80)
    directories = known(world)
    assert world.ledger is not None
    cluster_id = world.ledger.cluster_id
    world.ledger_data = None
    for forgotten in (world.pods, world.sets, world.children, world.formats):
        forgotten.clear()
    for claim in world.claims.values():
        claim.marks.clear()
        claim.unbound = True
        disk = world.disks[claim.volume]
        disk.facts = replace(disk.facts, marker=None)
    first = {"cluster-id": cluster_id, "node-id": "0", "directory-id": str(directories[0, ""])}
    world.claims["data-c-controller-0-0"].marks.update(first)
    report = {"recoveryPolicy": {"lostDisk": "Report"}, "bootstrap": {"policy": "AdoptOnly"}}
    world.edit(clusterID=cluster_id, **report, **changes)
    return world, directories


def bind(world: World, node_id: int) -> None:
    """All volumes of a node are given to our claims."""
    for name, claim in world.claims.items():
        claim.unbound = claim.unbound and f"-{node_id}-0" not in name
    if node_id in world.pods:
        world.pods[node_id].hindrance = None
    world.settle(60)


JBOD = [{**pool("b", 2, 100), "storage": {"size": "1Gi", "volumes": [{"name": "v1", "size": "1Gi"}]}}]
COMBINED = {
    "controllers": {"role": "Combined", "replicas": 3, "nodeIdRange": {"start": 0, "end": 9}},
    "brokerPools": [],
}


@pytest.mark.parametrize(
    ("changes", "order"),
    [({}, (0, 1, 100, 101, 2)), ({"brokerPools": JBOD}, (0, 1, 100, 101, 2)), (COMBINED, (0, 1, 2))],
    ids=["apart", "several volumes of a broker", "combined"],
)
def test_every_disk_keeps_its_directory_and_is_known_with_its_volume_once_its_claim_is_bound(
    changes: dict[str, object], order: tuple[int, ...]
) -> None:
    world, directories = laid_out_by_another(**changes)
    world.settle(20)
    assert world.ledger is not None
    assert {each.node_id: each.pv_name for each in world.ledger.entries} == {0: None}
    assert set(world.ledger.doubted) == set(order) - {0}
    for node_id in order:
        bind(world, node_id)
        mine = {key: each for key, each in directories.items() if key[0] == node_id}
        assert {key: each for key, each in known(world).items() if key[0] == node_id} == mine
        entry = world.ledger.entry(node_id)
        assert entry is not None
        assert entry.pv_name == next(each.volume for name, each in world.claims.items() if name == entry.pvc_name)
    assert known(world) == directories
    assert world.ledger.doubted == ()
    assert (world.formats, world.restarts, world.broken) == ([], [], [])
    world.edit(image={"repository": "kafka", "tag": "2"}, **changes)
    world.settle(80)
    assert (world.formats, world.broken) == ([], [])
    assert {each.image for each in world.pods.values() if each.runs} == {"kafka:2"}
    assert len([each for each in world.pods.values() if each.runs]) == len(order), "disks taken over start again"


def test_a_further_volume_that_is_empty_or_of_another_broker_starts_nobody_and_is_not_touched() -> None:
    world, directories = laid_out_by_another(brokerPools=JBOD)
    lost, strange = (world.disks[world.claims[f"data-v1-c-b-{each}-0"].volume] for each in (100, 101))
    strange.facts, lost.facts = lost.facts, VolumeFacts()
    for node_id in (0, 1, 100, 101, 2):
        bind(world, node_id)
    assert {node_id for node_id, pod in world.pods.items() if pod.runs} == {0, 1, 2}
    told = {each.reason: each.message for each in world.plan().findings}
    assert "volume v1: c-b-100-0: put back the volume that node 100 had" in told["FormatNeedsApproval"]
    assert "volume v1: c-b-101-0: put the right volume back" in told["ForeignVolume"]
    assert (world.formats, lost.facts) == ([], VolumeFacts())
    assert strange.facts.marker is None
    assert known(world)[100, ""] == directories[100, ""], "its other disk keeps what it is"


def test_a_quorum_with_static_voters_is_refused_with_its_first_node_and_nothing_is_written() -> None:
    world, _ = laid_out_by_another()
    for claim in world.claims.values():
        disk = world.disks[claim.volume]
        disk.facts = replace(disk.facts, static_voters=True)
    before = {name: disk.facts for name, disk in world.disks.items()}
    bind(world, 0)
    (told,) = (each for each in world.plan().findings if each.reason == "StaticVoters")
    assert told.stalled
    assert told.message.startswith("c-controller-0-0: give the volume back to its old claim")
    assert not any(pod.runs for pod in world.pods.values())
    assert ({name: disk.facts for name, disk in world.disks.items()}, world.formats) == (before, [])
