"""INV-04: when a leader commits, a majority of the voters has it on disk, not only in memory (thesis 3.6; CommittedEntriesReachMajority)."""

from __future__ import annotations

from controller_runtime.identifiers import NO_DIRECTORY, NodeId, Offset, ReplicaKey
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


def held(machine: Machine, voter: ReplicaKey) -> Offset:
    """What this voter has on disk, or had when it lost its disk for ever."""
    if voter.directory_id in (NO_DIRECTORY, machine.key.directory_id):
        return machine.flushed_offset
    return machine.lost_at.get(voter, Offset(0))


class DurableMajority:
    def __init__(self) -> None:
        self.checked: dict[NodeId, tuple[int, Offset]] = {}

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        role = replica.role
        if not isinstance(role, Leader) or role.high_watermark is None:
            return
        claim = (role.epoch, role.high_watermark)
        if self.checked.get(machine.id) == claim:
            return
        self.checked[machine.id] = claim
        wanted = role.high_watermark
        holders = [v.key.node_id for v in replica.voters.voters if held(world.machines[v.key.node_id], v.key) >= wanted]
        if len(holders) < replica.voters.majority:
            raise Violation(
                f"n{machine.id} commits {role.high_watermark} in epoch {role.epoch}, on disk at {holders} only"
            )

    def after_save(self, world: World, machine: Machine) -> None: ...

    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None: ...

    def at_end(self, world: World) -> None: ...
