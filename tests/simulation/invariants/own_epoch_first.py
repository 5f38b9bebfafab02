"""FET-09: a leader commits nothing until a record of its own epoch is on a majority (thesis 3.6.2, figure 8 of the Raft
paper).
"""

from __future__ import annotations

from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class OwnEpochFirst:
    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        role = machine.node.meta.replica.role
        if isinstance(role, Leader) and role.high_watermark is not None and role.high_watermark <= role.epoch_start:
            raise Violation(
                f"n{machine.id} commits {role.high_watermark} in epoch {role.epoch}, which begins at {role.epoch_start}"
            )
