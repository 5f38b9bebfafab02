"""INV-01: a node's persisted epoch never decreases, and is the one it acts in; and it votes once per epoch (RFT-12,
RFT-13).
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.raft.roles import Prospective
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class PersistedEpoch:
    def __init__(self) -> None:
        self.epochs: dict[tuple[NodeId, int], int] = {}
        self.votes: dict[tuple[NodeId, int, int], NodeId] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        """The step's effects were performed, so unless a save is under way the disk has the epoch of the memory."""
        assert machine.node is not None
        replica = machine.node.meta.replica
        if machine.is_saving or isinstance(replica.role, Prospective):
            return
        persisted = 0 if machine.persisted is None else machine.persisted.epoch
        if persisted != replica.epoch:
            raise Violation(f"n{machine.id} acts in epoch {replica.epoch}, its disk says {persisted}")

    def after_save(self, world: World, machine: Machine) -> None:
        state = machine.persisted
        assert state is not None
        before = self.epochs.get(machine.content_key, 0)
        if state.epoch < before:
            raise Violation(f"n{machine.id} persists epoch {state.epoch} after {before}")
        self.epochs[machine.content_key] = state.epoch
        if state.voted_key is not None:
            known = self.votes.setdefault((*machine.content_key, state.epoch), state.voted_key.node_id)
            if known != state.voted_key.node_id:
                raise Violation(f"n{machine.id} votes for {known} and {state.voted_key.node_id} in epoch {state.epoch}")
