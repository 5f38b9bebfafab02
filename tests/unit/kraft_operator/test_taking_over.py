"""Disks that another operator formatted are taken over one at a time: claims of ours wait for their volumes, the first
one says which cluster it is, and nothing is formatted (docs/design/taking-over.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.operator_model.world import World

pytestmark = pytest.mark.unit


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
