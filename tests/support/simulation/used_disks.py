"""Disks of a quorum that was at work before: formatted, elected, its broker registered and unfenced, all nodes stopped.

A schedule that begins with them is a restart of the whole fleet. It costs half the steps of a first start, and meets
logs that are not empty. They are made once in a process for each kind of fleet, always from the same seed, so that a
schedule depends on its own seed alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.parts.events import ShutdownRequested
from support.simulation.client import Client
from support.simulation.disk import SimDisk
from support.simulation.fleet import Fleet
from support.simulation.world import World

SEED: Final = 1
WITHIN_S: Final = 30.0


@dataclass(frozen=True)
class Used:
    disks: Mapping[NodeId, tuple[SimDisk, Offset]]
    """Each voter's and broker's disk, and where its log ends."""


def used_disks(fleet: Fleet) -> Used:
    """Of its voters; observers have nothing yet."""
    return _used(fleet.voters, fleet.dynamic, fleet.metadata_version)


@lru_cache(maxsize=64)
def _used(voters: tuple[NodeId, ...], dynamic: bool, release: str) -> Used:
    world = World(SEED, Fleet(voters, (), dynamic, metadata_version=release))
    for node in world.fleet.everybody:
        world.boot(node)
    client = Client(world, Random(SEED))
    assert world.run(WITHIN_S, lambda: client.is_served), "a quorum without faults serves its broker"
    end = max(machine.node.meta.high_watermark for machine in world.up if machine.node)
    assert world.run(WITHIN_S, lambda: all(machine.flushed_offset >= end for machine in world.up)), "all nodes catch up"
    for machine in world.brokers:
        machine.feed(ShutdownRequested())
    assert world.run(WITHIN_S, lambda: not any(machine.is_up for machine in world.brokers)), "it is let go"
    for node in voters:
        world.kill(node, power_loss=False)
    disks = {node: (machine.disk, machine.flushed_at_stop) for node, machine in world.machines.items()}
    return Used(disks)
