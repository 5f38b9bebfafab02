"""A schedule without faults in which everything that touches thousands of partitions is asked of a quorum whose steps
take time (`processor`): no election may follow, and nobody who beats may be fenced.

Timers are a twelfth of Kafka's, and the processor is two and a half times as slow as the one that was measured: what
4,000 partitions do here to a fetch timeout of 160 ms, 125,000 do to Kafka's 2 s. A piece of a decision takes its part
of that, too: here it is thirty times as long beside the timers as it is in production.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassignments
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message, Struct
from support.simulation.client import Asker
from support.simulation.fleet import Fleet, Timings
from support.simulation.model_broker import ModelBroker
from support.simulation.processor import Processor
from support.simulation.trace import render_state
from support.simulation.world import Invariant, Violation, World

PARTITIONS: Final = 4_000
SLOW: Final = 2.5
"""How many times as slow as the measured one the processor is."""
PER_TOPIC: Final = 250
LARGE: Final = 2_000
"""Partitions of the largest topic."""
IN_TIME_S: Final = 60.0
GRANTED: Final = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
"""The last one: it is being added and is not in sync yet."""
TIMINGS: Final = Timings(
    election_timeout_ms=80,
    first_election_timeout_ms=30,
    fetch_timeout_ms=160,
    request_timeout_ms=160,
    fetch_max_wait_ms=53,
    session_timeout_s=0.75,
    heartbeat_interval_s=0.167,
)
LEAVES: Final = 201
"""The broker that has most partitions, falls silent, shuts down and is unregistered."""
STAYS: Final = 202


@dataclass(frozen=True)
class Done:
    """What the schedule did, when no election followed."""

    steps: int
    virtual_s: float
    longest_step_s: float
    heartbeats: int
    most_partitions: int


class Work:
    def __init__(self, seed: int, invariants: Sequence[Invariant] = ()) -> None:
        self.rng = Random(seed)
        fleet = Fleet(
            tuple(NodeId(n) for n in (1, 2, 3)),
            (),
            dynamic=True,
            brokers=(),
            segment_bytes=1 << 20,
            timings=TIMINGS,
            snapshot_bytes=0,
        )
        self.processor = Processor(SLOW)
        self.world = World(seed, fleet, invariants, processor=self.processor)
        self.most = 0
        self.client = Asker(self.world, Random(self.rng.random()), 1)
        self.leaves = ModelBroker(self.world, Random(self.rng.random()), LEAVES)
        self.stays = ModelBroker(self.world, Random(self.rng.random()), STAYS)
        self._epoch = -1
        self._counted = (self.world.newest[1].topics, 0)
        self._unfenced: dict[NodeId, int | None] = {}
        """The broker epochs that were unfenced when this looked last."""

    def run(self) -> Done:
        """Raises Violation."""
        world = self.world
        for node in world.fleet.voters:
            world.boot(node)
        self.until("a leader", lambda: any(m.node is not None and m.node.is_active for m in world.up))
        self._epoch = self._epoch_now()
        self.leaves.start()
        self.until("a broker serves", lambda: not self.leaves.is_fenced)
        self._create()
        self.stays.start()
        self.until("another broker serves", lambda: not self.stays.is_fenced)
        self._ask_for_much()
        self._leave_and_come_back()
        self._delete()
        for machine in world.machines.values():
            if not machine.is_up:
                raise Violation(f"n{machine.id} ended")
        return Done(world.steps, world.time, self.processor.longest_s, self.leaves.beats + self.stays.beats, self.most)

    # What is asked.

    def _create(self) -> None:
        count = (PARTITIONS - LARGE) // PER_TOPIC
        topics = tuple(
            CreatableTopic(name=f"t-{n}", num_partitions=PER_TOPIC, replication_factor=1) for n in range(count)
        )
        half = count // 2
        self.asked(CreateTopicsRequest(topics=topics[:half]), CreateTopicsRequest(topics=topics[half:]))
        large = CreatableTopic(name="large", num_partitions=LARGE // 2, replication_factor=1)
        self.asked(CreateTopicsRequest(topics=(large,)))
        self.asked(
            CreatePartitionsRequest(
                topics=(CreatePartitionsTopic(name="large", count=LARGE, assignments=None),), timeout_ms=60_000
            )
        )
        self.most = sum(1 for topic in self.image.topics for _ in topic.partitions())
        if self.most != PARTITIONS:
            raise Violation(f"{self.most} partitions were made of {PARTITIONS}")

    def _ask_for_much(self) -> None:
        """All at the same time: reassignments, their end, elections."""
        moved = self._reassign((STAYS,))
        self.asked(moved, ElectLeadersRequest(topic_partitions=None, timeout_ms=1000))
        if sum(1 for _ in self.named("large").reassigning()) != LARGE:
            raise Violation("the reassignments were not begun")
        self.asked(ElectLeadersRequest(topic_partitions=None, timeout_ms=1000), self._reassign(None))

    def _reassign(self, replicas: tuple[int, ...] | None) -> Message:
        wanted = tuple(reassignments.ReassignablePartition(partition_index=n, replicas=replicas) for n in range(LARGE))
        topics = (reassignments.ReassignableTopic(name="large", partitions=wanted),)
        return reassignments.AlterPartitionReassignmentsRequest(topics=topics)

    def _leave_and_come_back(self) -> None:
        self.leaves.is_silent = True
        self.until("the silent broker is fenced", lambda: self.broker(LEAVES).fenced)
        self.leaves.is_silent = False
        self.until("it is unfenced", lambda: not self.broker(LEAVES).fenced and not self.leaderless())
        self.leaves.end()
        self.leaves.start()
        self.until("it is back after a crash", lambda: not self.leaves.is_fenced and not self.leaderless())
        self.leaves.wants_shutdown = True
        self.until("it is let go", lambda: self.leaves.was_let_go)
        if self.leaderless() < PARTITIONS:
            raise Violation(f"of a broker that left, {self.leaderless()} partitions have no leader")
        self.leaves.start(clean=True)
        self.until("it is back", lambda: not self.leaves.is_fenced and not self.leaderless())

    def _delete(self) -> None:
        names = tuple(topic.name for topic in self.image.topics)
        states = tuple(DeleteTopicState(name=name) for name in names if name != "t-0")
        self.asked(DeleteTopicsRequest(topics=states, timeout_ms=1000))
        self.leaves.end()
        self.asked(UnregisterBrokerRequest(broker_id=LEAVES))
        if len(self.image.topics) != 1 or LEAVES in self.image.cluster.brokers:
            raise Violation("something was not deleted")

    # How it is asked, and what may not follow.

    @property
    def image(self) -> MetadataImage:
        return self.world.newest[1]

    def named(self, topic: str) -> TopicImage:
        found = self.image.topics.named(topic)
        assert found is not None, topic
        return found

    def broker(self, broker_id: int) -> BrokerRegistration:
        return self.image.cluster.brokers[NodeId(broker_id)]

    def leaderless(self) -> int:
        """Of the newest image that anybody has; looked at once for each."""
        topics = self.image.topics
        if self._counted[0] is not topics:
            self._counted = topics, sum(1 for topic in topics for _, each in topic.partitions() if each.leader < 0)
        return self._counted[1]

    def asked(self, *requests: Message) -> None:
        """All of them at once, until they are answered without an error, committed, and seen by somebody."""
        left = len(requests)

        def answered(reply: Message) -> None:
            nonlocal left
            left -= 1
            refused = [code for code in _errors(reply) if code not in GRANTED]
            if refused:
                raise Violation(f"{type(reply).__name__}: error {refused[0]}")

        for request in requests:
            self._send(request, answered)
        self.until(type(requests[-1]).__name__, lambda: left == 0)

    def _send(self, request: Message, answered: Callable[[Message], None]) -> None:
        def failed(why: object) -> None:
            raise Violation(f"{type(request).__name__}: {why}")

        active = next(m for m in self.world.up if m.node is not None and m.node.is_active)
        self.client.target = active.id
        self.client.send(request, answered, failed)

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        """Until it is so, for whoever has replayed most. Raises Violation when there is another election."""

        def over() -> bool:
            self._look(what)
            return condition()

        if not self.world.run(self.world.time + IN_TIME_S, over):
            states = "; ".join(render_state(machine) for machine in self.world.machines.values())
            raise Violation(f"{what}: not within {IN_TIME_S} s: {states}")

    def _look(self, what: str) -> None:
        epoch = self._epoch_now()
        if -1 < self._epoch < epoch:
            longest_ms = self.processor.longest_s * 1000
            raise Violation(f"an election without a fault, until {what}; the longest step took {longest_ms:.0f} ms")
        for broker in (self.leaves, self.stays):
            known = self.image.cluster.brokers.get(broker.broker_id)
            was = self._unfenced.get(broker.broker_id)
            fenced = known is None or known.fenced
            beats = broker.is_up and not broker.is_silent and not broker.wants_shutdown
            if known is not None and fenced and was == known.epoch == broker.epoch and beats:
                raise Violation(f"broker {broker.broker_id} beats, and was fenced, until {what}")
            self._unfenced[broker.broker_id] = None if known is None or fenced else known.epoch

    def _epoch_now(self) -> int:
        return max((m.node.meta.replica.epoch for m in self.world.up if m.node is not None), default=-1)


def _errors(answer: object) -> Iterator[int]:
    """Every error code in it, however deep."""
    if isinstance(answer, tuple):
        for each in answer:
            yield from _errors(each)
    elif isinstance(answer, Struct):
        for name in type(answer).__slots__:
            value = getattr(answer, name)
            if name == "error_code":
                yield value
            else:
                yield from _errors(value)
