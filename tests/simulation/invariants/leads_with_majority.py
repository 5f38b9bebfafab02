"""RFT-37 (thesis 6.2; KAFKA-15489): a leader that no majority has fetched from for one and a half fetch timeouts leads no more.

Told by the leader's own clock, from the answers that it gave: a Fetch may have waited before it was answered, so some time is allowed.
"""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.roles import Leader
from support.simulation.machine import Machine
from support.simulation.world import Violation, World

ALLOWANCE_S = 0.1


class LeadsWithMajority:
    def __init__(self) -> None:
        self.led: dict[NodeId, tuple[int, int]] = {}
        self.heard: dict[NodeId, dict[int, float]] = {}
        """Leader -> voter -> when the leader heard of it, in this epoch."""

    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        match asked:
            case FetchRequest():
                self.heard.setdefault(machine.id, {})[asked.replica_state.replica_id] = machine.now
            case FetchSnapshotRequest():
                self.heard.setdefault(machine.id, {})[asked.replica_id] = machine.now
            case UpdateRaftVoterRequest():  # counts as a Fetch, as in Kafka
                self.heard.setdefault(machine.id, {})[asked.voter_id] = machine.now
            case _:
                pass

    def after_step(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        role = replica.role
        if not isinstance(role, Leader):
            return
        heard = self.heard.setdefault(machine.id, {})
        if self.led.get(machine.id) != (machine.boots, role.epoch):
            self.led[machine.id] = (machine.boots, role.epoch)
            heard.clear()
        needed = replica.voters.majority - (1 if replica.is_voter else 0)
        if needed <= 0:
            return
        others = [node for node in replica.voters.ids if node != machine.id]
        latest = sorted((heard.setdefault(node, machine.now) for node in others), reverse=True)
        timings = world.fleet.timings
        allowed = (1.5 * timings.fetch_timeout_ms + timings.fetch_max_wait_ms) / 1000 + ALLOWANCE_S
        if machine.now > latest[needed - 1] + allowed:
            silent = machine.now - latest[needed - 1]
            raise Violation(f"n{machine.id} leads epoch {role.epoch}, no majority fetched for {silent:.2f} s")

    def after_save(self, world: World, machine: Machine) -> None: ...

    def at_end(self, world: World) -> None: ...
