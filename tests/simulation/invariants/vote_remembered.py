"""RFT-11, RFT-12: a vote lasts as long as its epoch, through every change of role, on disk and in memory.

Who forgets it may vote again (microsoft/CCF#8094).
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.raft.roles import Candidate, Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class VoteRemembered:
    def __init__(self) -> None:
        self.last: dict[tuple[NodeId, int], tuple[int, NodeId]] = {}
        """Of each content of a disk: the newest vote, its epoch first."""

    def after_save(self, world: World, machine: Machine) -> None:
        state = machine.persisted
        assert state is not None
        if state.voted_key is not None:
            self.last[machine.content_key] = (state.epoch, state.voted_key.node_id)
        elif self.last.get(machine.content_key, (None, 0))[0] == state.epoch:
            raise Violation(f"n{machine.id} forgets its vote of epoch {state.epoch}: {state}")

    def after_step(self, world: World, machine: Machine) -> None:
        """The step's effects were performed, so unless a save is under way the disk has the vote of the memory."""
        assert machine.node is not None
        role, state = machine.node.meta.replica.role, machine.persisted
        if machine.is_saving or state is None or state.epoch != role.epoch:
            return
        told = None if state.voted_key is None else state.voted_key.node_id
        remembered: NodeId | None = machine.id
        if not isinstance(role, Candidate | Leader):
            remembered = None if role.voted is None else role.voted.node_id
        if told != remembered:
            raise Violation(
                f"n{machine.id} remembers a vote for {remembered} in epoch {role.epoch}, its disk says {told}"
            )
