"""INV-04: when a leader commits, a majority of the voters has it on disk, not only in memory (thesis 3.6;
CommittedEntriesReachMajority).
"""

from __future__ import annotations

from controller_runtime.identifiers import NO_DIRECTORY, NodeId, Offset, ReplicaKey
from controller_runtime.raft.roles import Leader
from controller_runtime.raft.voter_set import VoterSet
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
        self.counted_by: dict[NodeId, VoterSet] = {}
        """Whose majority counted when the node was last looked at: one step may commit first and change the voters
        then.
        """

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        before = self.counted_by.get(machine.id, replica.voters)
        self.counted_by[machine.id] = replica.voters
        role = replica.role
        if not isinstance(role, Leader) or role.high_watermark is None:
            return
        claim = (role.epoch, role.high_watermark)
        if self.checked.get(machine.id) == claim:
            return
        self.checked[machine.id] = claim
        wanted = role.high_watermark
        found = self.holders(world, replica.voters, wanted)
        if len(found) >= replica.voters.majority:
            return
        if before is replica.voters or len(self.holders(world, before, wanted)) < before.majority:
            raise Violation(f"n{machine.id} commits {wanted} in epoch {role.epoch}, on disk at {found} only")

    @staticmethod
    def holders(world: World, voters: VoterSet, wanted: Offset) -> list[NodeId]:
        return [v.key.node_id for v in voters.voters if held(world.machines[v.key.node_id], v.key) >= wanted]
