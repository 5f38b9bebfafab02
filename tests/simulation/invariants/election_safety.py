"""INV-02: at most one leader per epoch (Raft dissertation 3.6.3; Kafka's simulation: SingleLeader)."""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class ElectionSafety:
    def __init__(self) -> None:
        self.leaders: dict[int, NodeId] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        role = machine.node.meta.replica.role
        if isinstance(role, Leader):
            self._claim(role.epoch, machine.id)

    def after_save(self, world: World, machine: Machine) -> None:
        state = machine.persisted
        if state is not None and state.leader_id is not None:
            self._claim(state.epoch, state.leader_id)

    def _claim(self, epoch: int, leader: NodeId) -> None:
        known = self.leaders.setdefault(epoch, leader)
        if known != leader:
            raise Violation(f"epoch {epoch} has two leaders: {known} and {leader}")
