"""A schedule of brokers that replicate, under controllers of production: what its seed decides, and how it runs.

First anything may happen to brokers, controllers and links, while producers write and administrators elect, reassign
and cancel. Then all heals, and every partition must have its leader, a whole ISR, no reassignment under way, and every
acknowledged record on every replica. Nobody allows an unclean election, and power is lost only where another member of
the ISR or ELR has what was acknowledged: within that, nothing may be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.parts.events import CallFailure
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassignments
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from controller_runtime.protocol.schema import Message
from support.simulation.client import Asker
from support.simulation.fleet import Fleet, Timings
from support.simulation.replication.broker import Leading, ReplicatingBroker
from support.simulation.replication.judge import MIN_INSYNC, Judge
from support.simulation.replication.replica import Key
from support.simulation.trace import render_state
from support.simulation.world import Invariant, Violation, World

BROKERS: Final = (201, 202, 203, 204)
TOPICS: Final = ("t-1", "t-2")
FACTOR: Final = 3
SETTLING_S: Final = 20.0
LIVENESS_S: Final = 30.0
MENDS_AFTER_S: Final = 2.0
PRODUCE_EVERY_S: Final = 0.02
TIMINGS: Final = Timings(
    election_timeout_ms=80,
    first_election_timeout_ms=30,
    fetch_timeout_ms=160,
    request_timeout_ms=160,
    fetch_max_wait_ms=53,
    session_timeout_s=0.4,
    heartbeat_interval_s=0.09,
    no_op_interval_s=1.0,
)
ELR_RELEASE: Final = "4.3"
"""With eligible leader replicas (KIP-966): only there may power be lost."""
RELEASES: Final = (ELR_RELEASE, ELR_RELEASE, ELR_RELEASE, "3.9", "3.5")


@dataclass(frozen=True)
class Happening:
    at: float
    kind: str
    seed: int


@dataclass(frozen=True)
class Plan:
    seed: int
    release: str
    voters: int
    version: int
    """Of AlterPartition."""
    duration_s: float
    happenings: tuple[Happening, ...]

    @property
    def has_elr(self) -> bool:
        return self.release == ELR_RELEASE


def plan_of(seed: int) -> Plan:
    rng = Random(seed ^ 0x15A)
    release = rng.choice(RELEASES)
    duration_s = rng.uniform(1.0, 4.0)
    kinds = rng.sample(sorted(HAPPENINGS), rng.randint(3, len(HAPPENINGS)))
    weights = [rng.choice((0.3, 1.0, 3.0)) for _ in kinds]
    pace_s = rng.choice((0.05, 0.1, 0.2))
    happenings, at = [], 0.0
    while (at := at + rng.expovariate(1 / pace_s)) < duration_s:
        happenings.append(Happening(at, rng.choices(kinds, weights)[0], rng.getrandbits(32)))
    version = 3 if release == ELR_RELEASE or rng.random() < 0.5 else 2
    return Plan(seed, release, rng.choice((1, 1, 3)), version, duration_s, tuple(happenings))


@dataclass(frozen=True)
class Outcome:
    """What a schedule did, when no promise was broken."""

    seed: int
    steps: int
    virtual_s: float
    acknowledged: int
    led: int
    grants: int
    given_up: int
    """Records that were lost with every replica that had them."""
    happenings: tuple[str, ...]


class Replication:
    def __init__(
        self, plan: Plan, invariants: Sequence[Invariant], tracer: Callable[[str], None] | None = None
    ) -> None:
        self.plan = plan
        self.rng = rng = Random(plan.seed)
        voters = tuple(NodeId(n) for n in range(1, plan.voters + 1))
        fleet = Fleet(voters, (), dynamic=True, brokers=(), timings=TIMINGS, metadata_version=plan.release)
        self.judge = Judge()
        self.judge.on_leave = self._left
        self.judge.has_elr = plan.has_elr
        self.world = World(plan.seed, fleet, [*invariants, self.judge], tracer)
        self.client = Asker(self.world, Random(rng.random()), 1)
        self.brokers = {
            n: ReplicatingBroker(self.world, Random(rng.random()), n, self.judge, version=plan.version) for n in BROKERS
        }
        self.judge.brokers = self.brokers
        for broker in self.brokers.values():
            broker.peers = self.brokers
        self.healing = False
        self._values = 0

    @property
    def image(self) -> MetadataImage:
        return self.world.newest[1]

    def partitions(self) -> list[tuple[str, Key, Partition]]:
        topics = (self.image.topics.named(name) for name in TOPICS)
        return [
            (topic.name, (topic.id, index), partition)
            for topic in topics
            if topic is not None
            for index, partition in topic.partitions()
        ]

    # The run.

    def run(self) -> Outcome:
        """Raises Violation."""
        world, plan = self.world, self.plan
        world.trace(str(plan))
        for node in world.fleet.voters:
            world.boot(node)
        for broker in self.brokers.values():
            broker.start()
        self._until("all brokers serve", SETTLING_S, lambda: not any(each.is_fenced for each in self.brokers.values()))
        self._create()
        self._until("the topics", SETTLING_S, lambda: len(self.partitions()) == 3)
        self._produce()
        self._until("a first record is acknowledged", SETTLING_S, lambda: self.judge.count > 0)
        for each in plan.happenings:
            world.later(each.at, self._happens(each))
        world.run(world.time + plan.duration_s)
        self._heal()
        wanted = self.judge.count + 20
        self._until("all is in sync", LIVENESS_S, lambda: self._is_whole() and self.judge.count >= wanted)
        self.rests = True
        self._until("all is written", LIVENESS_S, self._is_level)
        world.finished()
        self.judge.everything_is_there()
        kinds = tuple(each.kind for each in plan.happenings)
        judge = self.judge
        return Outcome(plan.seed, world.steps, world.time, judge.count, judge.led, judge.grants, judge.given_up, kinds)

    def _until(self, what: str, seconds: float, condition: Callable[[], bool]) -> None:
        if not self.world.run(self.world.time + seconds, condition):
            states = "; ".join(render_state(machine) for machine in self.world.machines.values())
            held = "; ".join(f"{key[1]}: {partition}" for _, key, partition in self.partitions())
            raise Violation(f"{what}: not within {seconds} s: {states}; {held}")

    def _create(self) -> None:
        configs = (CreatableTopicConfig(name="min.insync.replicas", value=str(MIN_INSYNC)),)
        topics = tuple(
            CreatableTopic(
                name=name, num_partitions=1 + (name == TOPICS[0]), replication_factor=FACTOR, configs=configs
            )
            for name in TOPICS
        )
        self.ask(CreateTopicsRequest(topics=topics, timeout_ms=1000))

    def ask(self, request: Message) -> None:
        """Whoever leads; how it is answered is all the same."""
        active = [m.id for m in self.world.up if m.node is not None and m.node.is_active]
        self.client.target = active[0] if active else self.client.target

        def failed(_: CallFailure) -> None:
            if isinstance(request, CreateTopicsRequest) and not self.partitions():
                self._create()

        self.client.send(request, lambda _: None, failed)

    rests = False
    """Nobody writes any more."""

    def _produce(self) -> None:
        if self.rests:
            return
        for _, key, _ in self.partitions():
            leaders = [each for each in self.brokers.values() if isinstance(each.roles.get(key), Leading)]
            for broker in leaders:  # Also who was deposed and does not know.
                if self.rng.random() < 0.7:
                    self._values += 1
                    try:
                        broker.produce(key, self._values)
                    except LookupError:
                        continue
        self.world.later(PRODUCE_EVERY_S, self._produce)

    def _happens(self, each: Happening) -> Callable[[], None]:
        def happen() -> None:
            self.world.trace(f"happening: {each.kind}")
            HAPPENINGS[each.kind](self, Random(each.seed))

        return happen

    # Its end.

    def _heal(self) -> None:
        world = self.world
        world.trace("everything heals")
        self.healing = True
        world.network.heal()
        for machine in world.machines.values():
            machine.paused_until = min(machine.paused_until, world.time)
            machine.resume()
            if not machine.is_up:
                world.boot(machine.id)
        for broker in self.brokers.values():
            broker.is_silent = False
            broker.sees_after_s, broker.slow_changes_s = 0.02, 0.0
            if not broker.is_up:
                broker.start(clean=broker.was_let_go)
        self.world.later(MENDS_AFTER_S, self._mend)

    def _mend(self) -> None:
        """What an administrator has to do, here as in Apache Kafka 4.3.1.

        Who supersedes a reassignment by one that removes what the first adds, and adds nobody, has a replica that is
        both: it ends when it is cancelled. And a replica that was removed stays in the ELR of a partition below its
        minimal ISR; when it is the last there, only an unclean election gives the partition a leader again.
        """
        for name, key, each in self.partitions():
            if set(each.adding_replicas) & set(each.removing_replicas):
                _reassign(self, name, key[1], None)
            if each.leader < 0 and each.elr and not {*each.isr, *each.elr} & {*each.replicas}:
                self.judge.unclean.add(key)
                chosen = (TopicPartitions(topic=name, partitions=(key[1],)),)
                self.ask(ElectLeadersRequest(election_type=1, topic_partitions=chosen, timeout_ms=1000))
        if not self._is_whole():
            self.world.later(MENDS_AFTER_S, self._mend)

    def _is_whole(self) -> bool:
        for node in sorted(self.world.ended):
            self.world.boot(node)
        for _, _, partition in self.partitions():
            if partition.leader < 0 or len(partition.replicas) != FACTOR:
                return False
            if set(partition.isr) != set(partition.replicas):
                return False
            if partition.adding_replicas or partition.removing_replicas:
                return False
        return True

    def _is_level(self) -> bool:
        for _, key, partition in self.partitions():
            ends = {self.brokers[each].replicas[key].high_watermark for each in partition.replicas}
            ends |= {self.brokers[each].replicas[key].end for each in partition.replicas}
            if len(ends) > 1:
                return False
        return True

    # What brokers go through.

    def victim(self, rng: Random) -> ReplicatingBroker:
        """Mostly one that leads."""
        leaders = [each.leader for _, _, each in self.partitions() if each.leader >= 0]
        return self.brokers[rng.choice(leaders if leaders and rng.random() < 0.6 else BROKERS)]

    def restart_later(self, broker: ReplicatingBroker, seconds: float) -> None:
        def start() -> None:
            if not broker.is_up:
                broker.start(clean=broker.was_let_go)

        self.world.later(seconds, start)

    def _left(self, broker: ReplicatingBroker) -> None:
        self.restart_later(broker, 0.02 if self.healing else self.rng.uniform(0.02, 0.6))


def kill(run: Replication, rng: Random) -> None:
    broker = run.victim(rng)
    if broker.is_up:
        broker.crash()
        run.restart_later(broker, rng.choice((0.01, 0.2, 1.0)) * rng.random())


def kill_and_cut(run: Replication, rng: Random) -> None:
    """All but one are killed one after the other, and come back in another order."""
    for broker in rng.sample(list(run.brokers.values()), 3):
        delay = 0.6 * rng.random()
        run.world.later(delay, lambda broker=broker: _kill_one(run, broker, rng))  # type: ignore[misc]


def _kill_one(run: Replication, broker: ReplicatingBroker, rng: Random) -> None:
    if broker.is_up and not run.healing:
        broker.crash()
        run.restart_later(broker, rng.uniform(0.3, 1.5))


def lose_power(run: Replication, rng: Random) -> None:
    broker = run.victim(rng)
    if broker.is_up and run.plan.has_elr and run.judge.may_lose(broker):
        run.world.trace(f"broker {broker.broker_id} loses its power")
        broker.lose_power()
        run.restart_later(broker, rng.choice((0.01, 0.2, 1.0)) * rng.random())


def shut_down(run: Replication, rng: Random) -> None:
    broker = run.victim(rng)
    if broker.is_up:
        broker.wants_shutdown = True


def silence(run: Replication, rng: Random) -> None:
    """Its heartbeats do not leave for a while: it is fenced, and goes on as if nothing were."""
    broker = run.victim(rng)
    broker.is_silent = True

    def speak() -> None:
        broker.is_silent = False

    run.world.later(rng.uniform(0.2, 1.0), speak)


def see_late(run: Replication, rng: Random) -> None:
    """From now on this broker is late to learn what is committed."""
    run.victim(rng).sees_after_s = rng.choice((0.02, 0.3, 0.8))


def slow_changes(run: Replication, rng: Random) -> None:
    """From now on what this broker asks of ISRs is long on its way."""
    run.victim(rng).slow_changes_s = rng.choice((0.0, 0.3, 1.0))


def part(run: Replication, rng: Random) -> None:
    """Links between brokers, or between one and the controllers, carry nothing for a while."""
    network, world = run.world.network, run.world
    broker = run.victim(rng)
    others = [each.id for each in run.brokers.values() if each is not broker]
    if rng.random() < 0.3:
        others = list(world.fleet.nodes)
    elif rng.random() < 0.5:
        others = [rng.choice(others)]
    links = {(broker.id, other) for other in others}
    if rng.random() < 0.7:
        links |= {(other, broker.id) for other in others}
    network.cut |= links

    def mend() -> None:
        network.cut -= links

    world.later(rng.uniform(0.1, 1.2), mend)


def lose_messages(run: Replication, rng: Random) -> None:
    run.world.network.loss = rng.choice((0.0, 0.05, 0.2))


def kill_controller(run: Replication, rng: Random) -> None:
    """The active one, mostly."""
    up = run.world.up
    active = [machine for machine in up if machine.node is not None and machine.node.is_active]
    if up:
        node = rng.choice(active or up).id
        run.world.kill(node, power_loss=rng.random() < 0.5)

        def boot() -> None:
            if not run.world.machines[node].is_up:
                run.world.boot(node)

        run.world.later(rng.uniform(0.01, 0.4), boot)


def pause_controller(run: Replication, rng: Random) -> None:
    """The active one stops, and goes on as if nothing were."""
    active = [machine for machine in run.world.up if machine.node is not None and machine.node.is_active]
    if active:
        run.world.pause(active[0].id, rng.uniform(0.1, 0.6))


def isolate_controller(run: Replication, rng: Random) -> None:
    """The active one hears brokers, and no other controller: what it decides is never committed."""
    network, world = run.world.network, run.world
    active = [machine.id for machine in world.up if machine.node is not None and machine.node.is_active]
    if active:
        links = {(active[0], other) for other in world.fleet.nodes} | {(o, active[0]) for o in world.fleet.nodes}
        network.cut |= links

        def mend() -> None:
            network.cut -= links

        world.later(rng.uniform(0.1, 0.6), mend)


def elect(run: Replication, rng: Random) -> None:
    """The preferred leaders."""
    name, key, _ = rng.choice(run.partitions())
    chosen = None if rng.random() < 0.3 else (TopicPartitions(topic=name, partitions=(key[1],)),)
    run.ask(ElectLeadersRequest(election_type=0, topic_partitions=chosen, timeout_ms=1000))


def reassign(run: Replication, rng: Random) -> None:
    name, key, _ = rng.choice(run.partitions())
    _reassign(run, name, key[1], tuple(rng.sample(BROKERS, FACTOR)))


def cancel(run: Replication, rng: Random) -> None:
    moving = [(name, key) for name, key, each in run.partitions() if each.adding_replicas or each.removing_replicas]
    if moving:
        name, key = rng.choice(moving)
        _reassign(run, name, key[1], None)


def _reassign(run: Replication, name: str, index: int, replicas: tuple[int, ...] | None) -> None:
    wanted = reassignments.ReassignablePartition(partition_index=index, replicas=replicas)
    topic = reassignments.ReassignableTopic(name=name, partitions=(wanted,))
    run.ask(reassignments.AlterPartitionReassignmentsRequest(topics=(topic,)))


HAPPENINGS: Final[dict[str, Callable[[Replication, Random], None]]] = {
    "kill": kill,
    "kill three": kill_and_cut,
    "power loss": lose_power,
    "shutdown": shut_down,
    "silence": silence,
    "sees late": see_late,
    "slow changes": slow_changes,
    "partition": part,
    "loss": lose_messages,
    "controller killed": kill_controller,
    "controller paused": pause_controller,
    "controller isolated": isolate_controller,
    "elect": elect,
    "reassign": reassign,
    "cancel": cancel,
}
