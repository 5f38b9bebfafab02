"""One run of a plan: first safety (anything that the plan lists may happen), then liveness (all heals, and the quorum
must go on).

The next schedule of the story begins on the same fleet, which is at work: a start from nothing would be a third of the
work, and teaches once what it has to teach.

In the liveness phase every node runs and nothing fails: a leader must emerge, new changes must be acknowledged,
whatever is under way must end, all nodes must reach the same image, and one order of all changes must explain what
every client was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from controller_runtime.identifiers import NodeId
from support.simulation import faults, operator_client
from support.simulation.client import Client
from support.simulation.disk import SimDisk
from support.simulation.machine import Machine
from support.simulation.operator_client import Operator
from support.simulation.plan import Plan, before, is_first, plan_of
from support.simulation.trace import render_state
from support.simulation.used_disks import used_disks
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
    brokers: int
    produced: int
    """Batches that were acknowledged."""
    fetched: int
    """Answers with records."""
    forwarded: int
    """Changes of topics that a broker passed on."""
    faults: tuple[str, ...]


class Story:
    """What the schedules of one story share: the world with all that happened in it, and who asks it."""

    def __init__(self, first: Plan, invariants: Sequence[Invariant]) -> None:
        self.rng = Random(first.seed ^ 0xFACE)
        self.world = World(first.seed, first.fleet, invariants)
        used = used_disks(first.fleet) if first.used else None
        for node, (disk, end) in used.disks.items() if used else ():
            self.world.machines[node].inherit(disk, end)
        self.client = Client(self.world, Random(self.rng.random()))
        self.operator = Operator(self.world, Random(self.rng.random()))
        self.backups: dict[NodeId, tuple[int, SimDisk]] = {}


class Schedule:
    def __init__(self, plan: Plan, story: Story) -> None:
        self.plan = plan
        self.story = story
        self.world, self.client, self.operator, self.rng = story.world, story.client, story.operator, story.rng
        self.backups = story.backups
        self.began = (self.world.steps, self.world.time, self.client.acknowledged, self.operator.changes, self._epoch)
        self._ends_at = 0.0

    @classmethod
    def of(cls, plan: Plan, invariants: Sequence[Invariant]) -> Schedule:
        """Ready to run: what comes before it in its story was played."""
        earlier = [plan_of(seed) for seed in before(plan.seed)]
        story = Story((*earlier, plan)[0], invariants)
        for each in earlier:
            Schedule(each, story).run()
        return cls(plan, story)

    def run(self) -> Outcome:
        """Raises Violation."""
        world, plan = self.world, self.plan
        world.trace(str(plan))
        world.network.encoding = plan.encoding
        world.network.memory.share = plan.remembers
        self.client.begin(plan.think_s, plan.administrators)
        if is_first(plan.seed):
            self._start()
        for fault in plan.faults:
            world.later(fault.at, partial(self._hit, fault.kind, fault.seed))
        self._ends_at = world.time + plan.duration_s
        self._read_often()
        world.run(self._ends_at)
        self.heal()
        self.expect_progress()
        return self.outcome()

    def _start(self) -> None:
        for node in self.plan.fleet.everybody:
            self.boot_later(node, self.rng.choice((0.0, 0.0, 0.01, 0.01, 0.3)) * self.rng.random())
        if self.plan.settled and not self.world.run(SETTLING_S, lambda: self.client.acknowledged > 0):
            raise Violation(f"nothing was acknowledged within {SETTLING_S} s of quiet: {self._states()}")

    def outcome(self) -> Outcome:
        world = self.world
        steps, time, acknowledged, changes, epoch = self.began
        kinds = tuple(fault.kind for fault in self.plan.faults)
        return Outcome(
            self.plan.seed, self.plan.size, world.steps - steps, world.time - time,
            self.client.acknowledged - acknowledged,
            world.newest[0], self._epoch - epoch, self.operator.changes - changes, len(self.plan.fleet.brokers),
            *self.client.traffic.take_counts(), kinds,
        )  # fmt: skip

    @property
    def _epoch(self) -> int:
        return max((m.node.meta.replica.epoch for m in self.world.up if m.node), default=0)

    # The safety phase.

    def _hit(self, kind: str, seed: int) -> None:
        self.world.trace(f"fault: {kind}")
        faults.FAULTS[kind](self, Random(seed))

    @property
    def is_safety_phase(self) -> bool:
        return self.world.time < self._ends_at

    def boot_later(self, node: NodeId, delay: float) -> None:
        def boot() -> None:
            if not self.world.machines[node].is_up:
                self.world.boot(node)

        self.world.later(delay, boot)

    def may_lose(self, machine: Machine) -> bool:
        """Not while a change of the voters is on its way: the set that it makes may need this disk."""
        return self.world.time >= self.operator.unsure_until and operator_client.may_lose(self.world, machine)

    @property
    def ever_voters(self) -> set[NodeId]:
        return operator_client.every_voter(self.world)

    def _read_often(self) -> None:
        if self.is_safety_phase:
            self.client.read()
            self.world.later(self.plan.duration_s / 5, self._read_often)

    # The liveness phase.

    def heal(self) -> None:
        self.world.trace("everything heals")
        faults.heal(self)
        for machine in self.world.machines.values():
            if machine.is_up and machine.has_offline:
                self.world.kill(machine.id, power_loss=False)  # Somebody sees to its disk, and starts it again.
            if not machine.is_up:
                self.world.boot(machine.id)

    def expect_progress(self) -> None:
        """New changes are acknowledged; then every node catches up, and all that was promised is there."""
        world, client = self.world, self.client
        healed = world.time
        deadline = healed + LIVENESS_S
        client.begin_anew()
        if not world.run(deadline, lambda: self._restart_ended() and client.newest_acknowledged >= healed):
            raise Violation(f"nothing was acknowledged within {LIVENESS_S} s of quiet: {self._states()}")
        client.rest()
        if not world.run(deadline, lambda: self._restart_ended() and not self.operator.is_busy):
            raise Violation(f"a change of the voters is stuck: {self._states()}")
        offset = max(world.newest[0], *(m.node.meta.high_watermark for m in world.up if m.node))
        if not world.run(deadline, lambda: self._restart_ended() and self._all_at(offset)):
            raise Violation(f"not all nodes reached offset {offset}: {self._states()}")
        world.finished()
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
        return all(m.node is not None and (m.node.image_offset >= offset or self._is_ahead(m)) for m in machines)

    def _is_ahead(self, machine: Machine) -> bool:
        """It was removed while it stood, in an epoch that the quorum has not come to and does not know it: as in Kafka,
        it follows again when there is a later one. Nobody else enters such an epoch.
        """
        active = next((m.node.meta.replica for m in self.world.up if m.node is not None and m.node.is_active), None)
        if active is None or machine.node is None or active.voters.match(machine.key) is not None:
            return False
        replica = machine.node.meta.replica
        return replica.may_stand and replica.epoch > active.epoch

    def _states(self) -> str:
        return "; ".join(render_state(machine) for machine in self.world.machines.values())
