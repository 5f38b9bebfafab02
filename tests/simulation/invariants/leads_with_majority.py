"""RFT-37 (thesis 6.2; KAFKA-15489): a leader that no majority has fetched from for one and a half fetch timeouts leads
no more.

Told by the leader's own clock, from the requests that it took. It is asked when its timer has fired: whoever was itself
kept from running first hears what came meanwhile, and does not count the time in which it heard nobody.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import NodeId, ReplicaKey
from controller_runtime.node.events import NodeEvent
from controller_runtime.parts.events import RequestReceived, TimePassed
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from controller_runtime.raft.roles import Leader
from controller_runtime.raft.voter_set import VoterSet
from support.simulation.machine import Machine
from support.simulation.world import Violation, World

ALLOWANCE_S: Final = 0.1
ROUNDING_S: Final = 1e-6
"""The pump adds up its hold-ups one by one: the last bits of such a sum differ from those of one subtraction."""


class LeadsWithMajority:
    def __init__(self) -> None:
        self.led: dict[NodeId, tuple[int, int]] = {}
        self.heard: dict[NodeId, dict[int, float]] = {}
        """Leader -> node -> when the leader heard of it, in this epoch."""
        self.since: dict[NodeId, dict[ReplicaKey, float]] = {}
        """Leader -> voter -> since when it is one in this epoch: who is new, or new under this key, has its time from
        then on.
        """
        self.told: dict[NodeId, float] = {}
        """Leader -> when it was told of the time last."""
        self.voters: dict[NodeId, VoterSet] = {}
        """Whom `since` tells of."""

    def as_time_passes(self, world: World, machine: Machine) -> None:
        assert machine.node is not None
        replica = machine.node.meta.replica
        role = replica.role
        if not isinstance(role, Leader):
            return
        if self.led.get(machine.id) != (machine.boots, role.epoch):
            self.led[machine.id] = (machine.boots, role.epoch)
            self.heard[machine.id], self.since[machine.id], self.told[machine.id] = {}, {}, 0.0
            self.voters.pop(machine.id, None)
        now, heard = machine.now, self.heard[machine.id]
        for event in machine.taken:
            if (node := speaker(event)) is not None:
                heard[node] = now
        since, voters = self.since[machine.id], replica.voters
        if self.voters.get(machine.id) is not voters:
            self.voters[machine.id] = voters
            others = [voter.key for voter in voters.voters if voter.key.node_id != machine.id]
            since = self.since[machine.id] = {key: since.get(key, now) for key in others}
        if not isinstance(machine.taken[-1], TimePassed):
            return
        self._hold_up(machine, machine.taken[-1].held_up_s)
        needed = voters.majority - (1 if replica.is_voter else 0)
        if needed <= 0:
            return
        contacts = sorted((max(heard.get(key.node_id, 0.0), at) for key, at in since.items()), reverse=True)
        silent = now - contacts[needed - 1]
        if silent > 1.5 * world.fleet.timings.fetch_timeout_ms / 1000 + ALLOWANCE_S:
            raise Violation(f"n{machine.id} leads epoch {role.epoch}, no majority fetched for {silent:.2f} s")

    def _hold_up(self, machine: Machine, seconds: float) -> None:
        now, last = machine.now, self.told.get(machine.id, 0.0)
        if seconds > now - last + ROUNDING_S:
            raise Violation(f"n{machine.id} says that it was held up for {seconds!r} of {now - last!r} s")
        self.told[machine.id] = machine.taken_at
        heard, since = self.heard[machine.id], self.since[machine.id]
        heard.update({node: min(now, at + seconds) for node, at in heard.items()})
        since.update({key: min(now, at + seconds) for key, at in since.items()})


def speaker(event: NodeEvent) -> int | None:
    """The voter that makes contact by this event."""
    match event:
        case RequestReceived(body=FetchRequest() as fetch):
            return fetch.replica_state.replica_id
        case RequestReceived(body=FetchSnapshotRequest() as fetch):
            return fetch.replica_id
        case RequestReceived(body=UpdateRaftVoterRequest() as update):  # counts as a Fetch, as in Kafka
            return update.voter_id
        case _:
            return None
