"""One run of a plan: first safety (anything that the plan lists may happen), then liveness (all heals, and the quorum must go on).

In the liveness phase every node runs and nothing fails: a leader must emerge, new changes must be acknowledged, whatever is under way must end, all nodes
must reach the same image, and one order of all changes must explain what every client was told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from controller_runtime.identifiers import NodeId
from support.simulation import faults, operator_client
from support.simulation.client import Client
from support.simulation.disk import SimDisk
from support.simulation.machine import Machine
from support.simulation.operator_client import Operator
from support.simulation.plan import Plan, plan_of
from support.simulation.trace import render_state
from support.simulation.world import Invariant, Violation, World

SETTLING_S = 30.0
LIVENESS_S = 60.0
"""More than any chain of timeouts needs."""


@dataclass(frozen=True)
class Outcome:
    """What a schedule did, when nothing was violated."""

    seed: int
    size: str
    steps: int
    virtual_s: float
    acknowledged: int
    committed: int
    epochs: int
    changes: int
    """Changes of the voters."""
    faults: tuple[str, ...]


@dataclass
class Schedule:
    plan: Plan
    invariants: Sequence[Invariant]
    tracer: Callable[[str], None] | None = None
    world: World = field(init=False)
    client: Client = field(init=False)

    @classmethod
    def of(cls, seed: int, invariants: Sequence[Invariant], tracer: Callable[[str], None] | None = None) -> Schedule:
        return cls(plan_of(seed), invariants, tracer)

    def __post_init__(self) -> None:
        plan = self.plan
        rng = Random(plan.seed ^ 0xFACE)
        self.world = World(plan.seed, plan.fleet, self.invariants, self.tracer)
        self.client = Client(self.world, Random(rng.random()), plan.think_s, plan.administrators)
        self.operator = Operator(self.world, Random(rng.random()))
        self.backups: dict[NodeId, tuple[int, SimDisk]] = {}
        self.world.network.encoding = plan.encoding
        self.world.network.memory.share = plan.remembers
        self.rng = rng
        self._ends_at = 0.0

    def run(self) -> Outcome:
        """Raises Violation."""
        world, plan = self.world, self.plan
        world.trace(str(plan))
        for node in plan.fleet.nodes:
            self.boot_later(node, self.rng.choice((0.0, 0.0, 0.3)) * self.rng.random())
        self.client.start()
        if plan.settled and not world.run(SETTLING_S, lambda: self.client.acknowledged > 0):
            raise Violation(f"nothing was acknowledged within {SETTLING_S} s of quiet: {self._states()}")
        for fault in plan.faults:
            world.later(fault.at, partial(self._hit, fault.kind, fault.seed))
        self._ends_at = world.time + plan.duration_s
        self._read_often()
        world.run(self._ends_at)
        self.heal()
        self.expect_progress()
        return self.outcome()

    def outcome(self) -> Outcome:
        world = self.world
        epoch = max((m.node.meta.replica.epoch for m in world.up if m.node), default=0)
        kinds = tuple(fault.kind for fault in self.plan.faults)
        done = self.client.acknowledged
        return Outcome(
            self.plan.seed, self.plan.size, world.steps, world.time, done, world.newest[0], epoch,
            self.operator.changes, kinds,
        )  # fmt: skip

    # The safety phase.

    def _hit(self, kind: str, seed: int) -> None:
        self.world.trace(f"fault: {kind}")
        faults.FAULTS[kind](self, Random(seed))

    def boot_later(self, node: NodeId, delay: float) -> None:
        def boot() -> None:
            if not self.world.machines[node].is_up:
                self.world.boot(node)

        self.world.later(delay, boot)

    def may_lose(self, machine: Machine) -> bool:
        return operator_client.may_lose(self.world, machine)

    @property
    def ever_voters(self) -> set[NodeId]:
        return operator_client.every_voter(self.world)

    def _read_often(self) -> None:
        if self.world.time < self._ends_at:
            self.client.read()
            self.world.later(self.plan.duration_s / 5, self._read_often)

    # The liveness phase.

    def heal(self) -> None:
        self.world.trace("everything heals")
        faults.heal(self)
        for machine in self.world.machines.values():
            if not machine.is_up:
                self.world.boot(machine.id)

    def expect_progress(self) -> None:
        """New changes are acknowledged; then every node catches up, and all that was promised is there."""
        world, client = self.world, self.client
        wanted = client.acknowledged + 1
        deadline = world.time + LIVENESS_S
        if not world.run(deadline, lambda: self._restart_ended() and client.acknowledged >= wanted):
            raise Violation(f"nothing was acknowledged within {LIVENESS_S} s of quiet: {self._states()}")
        if not world.run(deadline, lambda: self._restart_ended() and not self.operator.is_busy):
            raise Violation(f"a change of the voters is stuck: {self._states()}")
        offset = max(m.node.meta.high_watermark for m in world.up if m.node)
        if not world.run(deadline, lambda: self._restart_ended() and self._all_at(offset)):
            raise Violation(f"not all nodes reached offset {offset}: {self._states()}")
        for invariant in world.invariants:
            invariant.at_end(world)
        latest = max((m.node for m in world.up if m.node), key=lambda node: node.image_offset)
        client.read_all(latest.image)
        complaint = client.history.complaint()
        if complaint is not None:
            raise Violation(complaint)

    def _restart_ended(self) -> bool:
        """A stop that was asked for before the quiet, or a disk that failed then, may end a process during it."""
        for node in sorted(self.world.ended):
            self.world.boot(node)
        return True

    def _all_at(self, offset: int) -> bool:
        machines = self.world.machines.values()
        return all(m.node is not None and m.node.image_offset >= offset for m in machines)

    def _states(self) -> str:
        return "; ".join(render_state(machine) for machine in self.world.machines.values())
