"""INV-05 and INV-06: the earliest snapshot covers the log's start, and a writing leader is never handed a snapshot to
load.
"""

from __future__ import annotations

from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class Snapshots:
    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        view = machine.node.meta.replica.log
        if view.start_offset > 0 and not any(s.offset >= view.start_offset for s in view.snapshots):
            raise Violation(f"n{machine.id}: the log starts at {view.start_offset}, snapshots are {view.snapshots}")
        if machine.node.is_active and machine.node.meta.arrived_snapshot is not None:
            raise Violation(f"n{machine.id} is active and was handed a snapshot")
