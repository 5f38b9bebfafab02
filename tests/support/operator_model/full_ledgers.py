"""Clusters whose ledger has grown to its limits."""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.ledger import Entry, WrittenOff
from kraft_operator.ledger_format import render
from support.operator_model.world import Disk, LiveClaim, World


def remove_brokers(world: World, count: int) -> None:
    """So many brokers left, each with its volume."""
    assert world.ledger is not None
    gone = [
        Entry(each, "broker", "b", directory_id=f"D{each}", pvc_uid=f"pvc-{each}", pv_name=f"pv-{each}", retired=True)
        for each in range(5000, 5000 + count)
    ]
    for each in gone:
        world.disks[f"pv-{each.node_id}"] = Disk(f"pv-{each.node_id}")
        world.claims[f"data-c-b-{each.node_id}-0"] = LiveClaim(f"pvc-{each.node_id}", f"pv-{each.node_id}")
    world.ledger_data = render(replace(world.ledger, entries=(*world.ledger.entries, *gone)))


def write_off(world: World, count: int) -> None:
    """So many directories were written off in the life of the cluster."""
    assert world.ledger is not None
    lost = tuple(WrittenOff(each, "D" * 22, "u" * 36, "N" * 22) for each in range(5000, 5000 + count))
    world.ledger_data = render(replace(world.ledger, written_off=lost))
