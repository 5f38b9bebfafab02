"""Leader completeness (thesis 3.6.3; LeaderHasAllAckedValues): a new leader's log contains all that earlier epochs
committed.
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class LeaderCompleteness:
    def __init__(self) -> None:
        self.committed: dict[int, Offset] = {}
        """Epoch -> how far its leader has committed."""
        self.elected: set[tuple[NodeId, int]] = set()

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        role = machine.node.meta.replica.role
        if not isinstance(role, Leader):
            return
        if (machine.id, role.epoch) not in self.elected:
            self.elected.add((machine.id, role.epoch))
            before = max((end for epoch, end in self.committed.items() if epoch < role.epoch), default=Offset(0))
            if role.epoch_start < before:
                raise Violation(
                    f"n{machine.id} leads epoch {role.epoch} from {role.epoch_start}, committed is {before}"
                )
        if role.high_watermark is not None:
            self.committed[role.epoch] = role.high_watermark
