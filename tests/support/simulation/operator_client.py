"""Whoever runs the quorum: replaces lost voters, adds observers, removes voters, and upgrades static voters to dynamic
ones.

It asks for one change at a time and knows the world from outside (which disk is in which machine), as the Kubernetes
operator does. Its requests are refused or forgotten like any other; nothing here insists, the next call looks anew.
"""

from __future__ import annotations

from random import Random
from typing import Final

from controller_runtime.identifiers import NO_DIRECTORY, NodeId, ReplicaKey
from controller_runtime.parts.events import CallFailure
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from controller_runtime.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.voter_set import VoterSet
from support.simulation.client import Asker
from support.simulation.fleet import CLUSTER_ID, LISTENER, endpoint_of
from support.simulation.machine import Machine
from support.simulation.world import World

TIMEOUT_MS: Final = 1000
NUMBER: Final = 50
FORGOTTEN_S: Final = 10.0
"""Longer than a request lies in a process that pauses."""

REFUSALS: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.DUPLICATE_VOTER,
        ErrorCode.VOTER_NOT_FOUND,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.FEATURE_UPDATE_FAILED,
    }
)


class Operator(Asker):
    def __init__(self, world: World, rng: Random) -> None:
        super().__init__(world, rng, NUMBER)
        self.is_busy = False
        self.unsure_until = 0.0
        """Until then what it asked for may happen, whatever it was told."""
        self.changes = 0
        """How many changes of the voters were acknowledged."""

    def act(self, rng: Random) -> None:
        leader = self._leader(rng)
        if self.is_busy or leader is None or leader.node is None:
            return
        history = leader.node.meta.replica.voter_history
        self.target = leader.id
        if history.kraft_version == 0:
            self._ask(
                UpdateFeaturesRequest(feature_updates=(FeatureUpdateKey(feature="kraft.version", max_version_level=1),))
            )
            return
        self._ask(self._change(history.latest, rng))

    def _leader(self, rng: Random) -> Machine | None:
        """Mostly the newest one; sometimes one that has not committed anything yet, or was deposed and does not know
        it.
        """
        leaders = [m for m in self.world.up if m.node is not None and m.node.meta.replica.is_leader]
        if leaders and rng.random() < 0.3:
            return rng.choice(leaders)
        return max(leaders, key=lambda m: m.node.meta.replica.epoch if m.node else 0, default=None)

    def _change(self, voters: VoterSet, rng: Random) -> Message | None:
        machines = self.world.machines
        lost = [v.key for v in voters.voters if not holds(machines[v.key.node_id], v.key)]
        if lost:
            return _remove(rng.choice(lost))
        others = [m for m in self.world.up if m.id not in voters.ids and not m.is_broker and not m.disk.is_rotten]
        if others and (len(voters) < 3 or rng.random() < 0.6):
            return _add(rng.choice(others).key)
        return _remove(rng.choice(voters.voters).key) if len(voters) > 1 else None

    def _ask(self, body: Message | None) -> None:
        if body is None:
            return
        self.is_busy, self.unsure_until = True, float("inf")
        target = self.target
        self.world.trace(f"operator asks n{target}: {body!r}")

        def answer(reply: Message) -> None:
            self.is_busy = False
            code = _code(reply)
            self.unsure_until = self.world.time + (FORGOTTEN_S if code == ErrorCode.REQUEST_TIMED_OUT else 0.0)
            self.world.trace(f"operator is told {code}")
            if code == ErrorCode.NONE:
                self.changes += 1
            elif code not in REFUSALS:
                self.world.violation(f"{type(body).__name__}: error {code} from n{target}")

        def fail(_: CallFailure) -> None:
            self.is_busy, self.unsure_until = False, self.world.time + FORGOTTEN_S

        self.send(body, answer, fail)


def _code(reply: Message) -> int:
    match reply:
        case UpdateFeaturesResponse():
            return reply.error_code or next((each.error_code for each in reply.results if each.error_code), 0)
        case AddRaftVoterResponse() | RemoveRaftVoterResponse():
            return reply.error_code
        case _:
            raise AssertionError(f"nobody asked for {reply!r}")


def _add(key: ReplicaKey) -> AddRaftVoterRequest:
    endpoint = endpoint_of(key.node_id)
    listener = Listener(name=LISTENER, host=endpoint.host, port=endpoint.port)
    return AddRaftVoterRequest(
        cluster_id=CLUSTER_ID,
        timeout_ms=TIMEOUT_MS,
        voter_id=key.node_id,
        voter_directory_id=key.directory_id,
        listeners=(listener,),
    )


def _remove(key: ReplicaKey) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=key.node_id, voter_directory_id=key.directory_id)


def holds(machine: Machine, key: ReplicaKey) -> bool:
    """Whether the disk that this voter was is still in its machine, and may be read at a start."""
    if machine.disk.is_rotten:
        return False
    if key.directory_id == NO_DIRECTORY:
        return machine.generation == 0
    return machine.key == key


def may_lose(world: World, victim: Machine) -> bool:
    """Whether the quorum survives the loss of this disk for ever: every set that somebody may act by keeps a majority.

    And whether its node finds the others again: the only bootstrap server, with nothing on its disk, knows nobody to
    ask.
    """
    if world.fleet.voters == (victim.id,) or victim.is_broker:
        return False
    for machine in world.machines.values():
        for voters in machine.known_voters[-2:]:
            voter = voters.by_id(victim.id)
            if voter is None or not holds(victim, voter.key):
                continue
            if voter.key.directory_id == NO_DIRECTORY:
                return False  # Nobody could tell the new disk from the old one.
            left = [v for v in voters.voters if holds(world.machines[v.key.node_id], v.key)]
            if len(left) - 1 < voters.majority:
                return False
    return True


def every_voter(world: World) -> set[NodeId]:
    return {node for m in world.machines.values() for voters in m.known_voters for node in voters.ids}
