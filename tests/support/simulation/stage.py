"""A simulated quorum for told stories: who is killed, cut off or slow is decided by the test, everything else by the
seed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from controller_runtime.identifiers import NodeId
from controller_runtime.raft.roles import Leader
from simulation.invariants.every import every_invariant
from support.simulation.client import Client
from support.simulation.fleet import Fleet, Timings
from support.simulation.machine import Machine
from support.simulation.trace import render_state
from support.simulation.world import Invariant, World

KAFKAS_TIMINGS = Timings()


class Stage:
    """All voters are started and the client is at work."""

    def __init__(
        self,
        seed: int,
        voters: int,
        observers: int = 0,
        *,
        dynamic: bool = True,
        but: tuple[type, ...] = (),
        timings: Timings = KAFKAS_TIMINGS,
    ) -> None:
        invariants: list[Invariant] = [one for one in every_invariant() if not isinstance(one, but)]
        nodes = tuple(NodeId(n) for n in range(1, voters + 1))
        fleet = Fleet(nodes, tuple(NodeId(100 + n) for n in range(observers)), dynamic, timings=timings)
        self.world = World(seed, fleet, invariants)
        self.client = Client(self.world, Random(seed))
        for node in fleet.everybody:
            self.world.boot(node)
        self.client.begin(think_s=0.1, administrators=2)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return self.world.fleet.nodes

    def machine(self, node: NodeId) -> Machine:
        return self.world.machines[node]

    def until(self, what: str, condition: Callable[[], bool], seconds: float = 30.0) -> float:
        """Let things happen until then; returns how long it took."""
        began = self.world.time
        happened = condition() or self.world.run(began + seconds, condition)
        states = "; ".join(render_state(machine) for machine in self.world.machines.values())
        assert happened, f"{what}: not within {seconds} s: {states}"
        return self.world.time - began

    def for_a_while(self, seconds: float) -> None:
        self.world.run(self.world.time + seconds)

    def leader(self) -> NodeId | None:
        """The active controller of the highest epoch."""
        active = [m for m in self.world.up if m.node is not None and m.node.is_active]
        return max(active, key=lambda m: m.node.meta.replica.epoch if m.node else 0).id if active else None

    def wait_for_leader(self, *but: NodeId) -> NodeId:
        self.until("a leader", lambda: self.leader() not in (None, *but))
        leader = self.leader()
        assert leader is not None
        return leader

    def wait_for_progress(self, changes: int = 3) -> None:
        wanted = self.client.acknowledged + changes
        self.until(f"{changes} more changes", lambda: self.client.acknowledged >= wanted)

    def wait_until_all_agree(self) -> None:
        """Every node that runs reaches what is committed now, and shows the same image."""
        wanted = max(m.node.meta.high_watermark for m in self.world.up if m.node)
        self.until("all nodes catch up", lambda: all(m.node.image_offset >= wanted for m in self.world.up if m.node))
        self.world.finished()
        latest = max((m.node for m in self.world.up if m.node), key=lambda node: node.image_offset)
        self.client.read_all(latest.image)
        complaint = self.client.history.complaint()
        assert complaint is None, complaint

    def leaders_seen(self) -> set[tuple[int, NodeId]]:
        """(epoch, node) of every node that leads now, active or not."""
        return {
            (m.node.meta.replica.epoch, m.id)
            for m in self.world.up
            if m.node is not None and isinstance(m.node.meta.replica.role, Leader)
        }
