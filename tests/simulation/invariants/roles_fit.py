"""NoIllegalState and StatesMatchRoles (KRaft.tla, KRaftWithReconfig.tla): what a node is fits what it says of itself.

Nobody follows itself (kraft-facts 3.2); who leads or led names itself as the leader of the epoch and nobody else does;
who stands is a voter by the newest set of its log, or was one by the set before (RFT-08, RFT-09). Kafka 4.x does allow
Unattached with a leader's id, which the specification forbids.
"""

from __future__ import annotations

from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class RolesFit:
    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        role = replica.role
        match role:
            case Follower(leader_id=leader) if leader == machine.id:
                raise Violation(f"n{machine.id} follows itself in epoch {role.epoch}")
            case Leader() if replica.leader_id != machine.id:
                raise Violation(f"n{machine.id} leads epoch {role.epoch} and names {replica.leader_id}")
            case Prospective() | Candidate() if not _was_voter(machine):
                raise Violation(f"n{machine.id} stands in epoch {role.epoch} and is no voter: {replica.voters.ids}")
            case _:
                pass
        if machine.node.is_active and not isinstance(role, Leader):
            raise Violation(f"n{machine.id} is the active controller as {type(role).__name__}")


def _was_voter(machine: Machine) -> bool:
    """By the newest set, or by the one before while the newest may not be committed (thesis 4.2.2)."""
    assert machine.node is not None
    replica = machine.node.meta.replica
    sets = [voters for _, voters in replica.voter_history.sets[-2:]]
    return replica.is_voter or any(voters.match(machine.key) is not None for voters in sets)
