"""A schedule: which fleet, which faults and when, all from one seed; first safety (anything may happen), then liveness (all must heal).

Faults come one after another at random moments: a process is killed or a machine loses power and returns, links are cut in one or both
directions, messages are lost, doubled or slow, a disk is slow, a process pauses, a clock leaps, a leader is asked to shut down. In the
liveness phase everything is healed and every node runs: then a leader must emerge, commit, and all must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.node.events import ShutdownRequested
from support.simulation.client import Client
from support.simulation.machine import Fleet, Machine
from support.simulation.world import Invariant, Violation, World

LIVENESS_S = 60.0
"""More than any chain of timeouts needs."""


@dataclass(frozen=True)
class Outcome:
    """What a schedule did, when nothing was violated."""

    seed: int
    steps: int
    virtual_s: float
    acknowledged: int
    committed: int
    epochs: int


@dataclass
class Schedule:
    """One run. `faults` lists what may go wrong; an empty list is a quiet world."""

    seed: int
    invariants: Sequence[Invariant]
    tracer: Callable[[str], None] | None = None
    fleet: Fleet | None = None
    duration_s: float | None = None
    faults: Sequence[str] | None = None
    world: World = field(init=False)
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        rng = self.rng = Random(self.seed ^ 0x5EED)
        fleet = self.fleet or random_fleet(rng)
        self.world = World(self.seed, fleet, self.invariants, self.tracer)
        self.client = Client(self.world, Random(rng.random()), think_s=rng.choice((0.05, 0.2, 0.5)))
        self.world.network.encoding = rng.random() < 0.25
        if self.duration_s is None:
            self.duration_s = rng.choice((1.0, 2.0, 4.0, 6.0, 10.0))
        if self.faults is None:
            self.faults = rng.sample(sorted(FAULTS), rng.randint(1, len(FAULTS)))
        self.pace_s = rng.choice((0.2, 0.5, 1.0, 2.0))

    def run(self) -> Outcome:
        """Raises Violation."""
        world = self.world
        world.trace(f"seed {self.seed}: {world.fleet}, faults {', '.join(self.faults or ['none'])}")
        for node in world.fleet.nodes:
            world.later(self.rng.uniform(0, 0.3), self._boot_if_down(node))
        self.client.start()
        if self.faults:
            world.later(self.rng.uniform(0, self.pace_s), self._next_fault)
        assert self.duration_s is not None
        world.run(self.duration_s)
        self.heal()
        self.expect_progress()
        return self.outcome()

    def outcome(self) -> Outcome:
        world = self.world
        machines = world.up
        committed = max((m.node.meta.high_watermark for m in machines if m.node), default=0)
        epoch = max((m.node.meta.replica.epoch for m in machines if m.node), default=0)
        return Outcome(self.seed, world.steps, world.time, len(self.client.acknowledged), committed, epoch)

    # The safety phase.

    def _next_fault(self) -> None:
        assert self.duration_s is not None
        assert self.faults is not None
        if self.world.time >= self.duration_s:
            return
        FAULTS[self.rng.choice(list(self.faults))](self)
        self.world.later(self.rng.expovariate(1 / self.pace_s), self._next_fault)

    def _boot_if_down(self, node: NodeId) -> Callable[[], None]:
        def boot() -> None:
            if not self.world.machines[node].is_up:
                self.world.boot(node)

        return boot

    def any_up(self) -> Machine | None:
        """Mostly the leader, because there the damage is greatest."""
        up = self.world.up
        leaders = [machine for machine in up if machine.node is not None and machine.node.is_active]
        if not up:
            return None
        return self.rng.choice(leaders) if leaders and self.rng.random() < 0.5 else self.rng.choice(up)

    def crash(self, *, power_loss: bool) -> None:
        machine = self.any_up()
        if machine is not None:
            self.world.kill(machine.id, power_loss=power_loss)
            self.world.later(
                self.rng.choice((0.001, 0.1, 1.0, 4.0)) * self.rng.random(), self._boot_if_down(machine.id)
            )

    def crash_all(self) -> None:
        for machine in self.world.up:
            self.world.kill(machine.id, power_loss=self.rng.random() < 0.7)
            self.world.later(self.rng.uniform(0, 2.0), self._boot_if_down(machine.id))

    def partition(self) -> None:
        """A random set of directed links is cut for a while; often one node entirely."""
        nodes = self.world.fleet.nodes
        network = self.world.network
        network.cut.clear()
        match self.rng.randrange(4):
            case 0:
                network.isolate(self.rng.choice(nodes), nodes)
            case 1:
                side = {node for node in nodes if self.rng.random() < 0.5}
                network.cut |= {(a, b) for a in nodes for b in nodes if (a in side) != (b in side)}
            case 2:
                network.cut |= {(a, b) for a in nodes for b in nodes if a != b and self.rng.random() < 0.3}
            case _:
                victim = self.rng.choice(nodes)
                network.cut |= {(a, victim) for a in nodes} if self.rng.random() < 0.5 else {(victim, a) for a in nodes}
        self.world.trace(f"links cut: {sorted(network.cut)}")
        self.world.later(self.rng.uniform(0.1, 4.0), network.cut.clear)

    def bad_network(self) -> None:
        network = self.world.network
        network.loss = self.rng.choice((0.0, 0.05, 0.3))
        network.duplication = self.rng.choice((0.0, 0.1, 0.5))
        network.slow = self.rng.choice((0.0, 0.05, 0.3))

    def slow_disk(self) -> None:
        self.world.slow_disk = self.rng.choice((0.0, 0.1, 0.5))

    def pause(self) -> None:
        machine = self.any_up()
        if machine is not None:
            self.world.pause(machine.id, self.rng.choice((0.1, 1.0, 5.0)) * self.rng.random())

    def clock_jump(self) -> None:
        machine = self.any_up()
        if machine is not None:
            self.world.jump_clock(machine.id, self.rng.choice((0.5, 3.0, 60.0)) * self.rng.random())

    def shutdown(self) -> None:
        machine = self.any_up()
        if machine is not None:
            self.world.trace(f"n{machine.id} is asked to stop")
            machine.feed(ShutdownRequested())
            self.world.later(self.rng.uniform(0.5, 5.0), self._boot_if_down(machine.id))

    # The liveness phase.

    def heal(self) -> None:
        world = self.world
        world.trace("everything heals")
        world.network.heal()
        world.slow_disk = 0.0
        for machine in world.machines.values():
            if not machine.is_up:
                world.boot(machine.id)

    def expect_progress(self) -> None:
        """A new topic must be acknowledged, then every node must catch up and agree on every acknowledged one."""
        world, client = self.world, self.client
        before = len(client.acknowledged)
        deadline = world.time + LIVENESS_S

        def restart_stopped() -> None:
            for node in sorted(world.ended):
                world.boot(node)

        def created() -> bool:
            restart_stopped()
            return len(client.acknowledged) >= before + 2

        if not world.run(deadline, created):
            raise Violation(f"no topic could be created within {LIVENESS_S} s of quiet: {self._states()}")
        promised = dict(client.acknowledged)
        wanted = max(m.node.meta.high_watermark for m in world.up if m.node)

        def caught_up() -> bool:
            restart_stopped()  # a stop asked for before the quiet may end during it
            return self._all_at(wanted)

        if not world.run(deadline, caught_up):
            raise Violation(f"not all nodes reached offset {wanted}: {self._states()}")
        for invariant in world.invariants:
            invariant.at_end(world)
        self._check_acknowledged(promised)

    def _all_at(self, offset: int) -> bool:
        machines = self.world.machines.values()
        return all(m.node is not None and m.node.image_offset >= offset for m in machines)

    def _states(self) -> str:
        from support.simulation.trace import render_state

        return "; ".join(render_state(machine) for machine in self.world.machines.values())

    def _check_acknowledged(self, promised: dict[str, Uuid]) -> None:
        for machine in self.world.machines.values():
            assert machine.node is not None
            topics = machine.node.image.topics
            for name, topic_id in promised.items():
                found = topics.named(name)
                if found is None or found.id != topic_id:
                    raise Violation(f"{name} was acknowledged, n{machine.id} has {found}")


def random_fleet(rng: Random) -> Fleet:
    count = rng.choice((1, 2, 3, 3, 3, 3, 4, 5))
    voters = tuple(NodeId(n) for n in range(1, count + 1))
    observers = (NodeId(100),) if rng.random() < 0.25 else ()
    return Fleet(voters, observers, dynamic=rng.random() < 0.6, segment_bytes=rng.choice((1 << 10, 1 << 14)))


FAULTS: dict[str, Callable[[Schedule], None]] = {
    "kill": lambda schedule: schedule.crash(power_loss=False),
    "power loss": lambda schedule: schedule.crash(power_loss=True),
    "all crash": Schedule.crash_all,
    "partition": Schedule.partition,
    "bad network": Schedule.bad_network,
    "slow disk": Schedule.slow_disk,
    "pause": Schedule.pause,
    "clock jump": Schedule.clock_jump,
    "shutdown": Schedule.shutdown,
}
