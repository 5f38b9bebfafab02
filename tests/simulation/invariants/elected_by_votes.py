"""RFT-25, RFT-26 (thesis 3.4): who leads an epoch has the votes of that epoch of all whom it counts, and each of them
is on the voter's disk.
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class ElectedByVotes:
    def __init__(self) -> None:
        self.votes: set[tuple[NodeId, int, NodeId]] = set()
        """(voter, epoch, candidate), of all votes that ever were on a disk."""

    def after_save(self, world: World, machine: Machine) -> None:
        state = machine.persisted
        if state is not None and state.voted_key is not None:
            self.votes.add((machine.id, state.epoch, state.voted_key.node_id))

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        self.after_save(world, machine)  # A vote whose saving was interrupted is found at the next start, or not.
        role = machine.node.meta.replica.role
        if not isinstance(role, Leader):
            return
        for voter in role.granting:
            if voter != machine.id and (voter, role.epoch, machine.id) not in self.votes:
                raise Violation(f"n{machine.id} leads epoch {role.epoch} by a vote of {voter}, which never gave it")
