"""A scripted broker that replicates: it leads and follows as the newest image that it has seen says, and asks the
controller to change the ISR (AlterPartition).

What it promises is Kafka's: a record counts as written when the whole maximal ISR has it (KIP-497) and the ISR is not
below `min.insync.replicas` (KIP-966); a follower cuts its log where its leader's has diverged (KIP-101, KIP-320); a
leader counts a fetch only of the incarnation that is registered (KIP-903). It acts on no image from before its own
registration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import RECOVERED, Partition
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_request as asked
from controller_runtime.protocol.messages.alter_partition_response import AlterPartitionResponse, PartitionData
from controller_runtime.protocol.schema import Message
from support.simulation.model_broker import ModelBroker
from support.simulation.replication.judge import MIN_INSYNC, Judge
from support.simulation.replication.replica import Entry, Key, Replica
from support.simulation.world import World

FETCH_EVERY_S: Final = 0.02
LAG_S: Final = 0.25
"""Kafka's `replica.lag.time.max.ms`."""
BATCH: Final = 8
FLUSH_SHARE: Final = 0.1
"""How often a fetch or an append is followed by a flush."""
MAX_WAITING: Final = 64
"""Records that wait for replicas."""


@dataclass
class Follower:
    """What a leader knows of one."""

    end: int = -1
    broker_epoch: int = -1
    caught_up_at: float = 0.0


@dataclass
class Leading:
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    starts_at: int
    followers: dict[int, Follower]
    asked: tuple[int, ...] | None = None
    """The ISR that it has asked for and does not know to be granted or refused."""
    waiting: list[tuple[int, int]] = field(default_factory=list)
    """Offsets and values that nobody was promised yet."""

    @property
    def maximal_isr(self) -> set[int]:
        return {*self.isr, *(self.asked or ())}


@dataclass
class Following:
    leader: int
    leader_epoch: int
    asked_at: float = -1.0


class ReplicatingBroker(ModelBroker):
    def __init__(self, world: World, rng: Random, broker_id: int, judge: Judge, *, version: int) -> None:
        """`version`: of AlterPartition; 2 does not name incarnations."""
        super().__init__(world, rng, broker_id)
        self.judge = judge
        self.version = version
        self.peers: dict[int, ReplicatingBroker] = {}
        self.replicas: dict[Key, Replica] = {}
        """On its disk."""
        self.roles: dict[Key, Leading | Following] = {}
        self.slow_changes_s = 0.0
        """How long what it asks of the ISR is on its way."""
        self.lost: set[Uuid] = set()
        """The runs whose unflushed records were lost with the power: the controller cannot know before the next."""
        self.crashed: set[Uuid] = set()
        """The runs up to the last that did not end in peace."""
        self._sees_itself = False

    # Its life.

    def start(self, *, clean: bool = False) -> None:
        self.roles.clear()
        self._sees_itself = False
        super().start(clean=clean)
        self.later(FETCH_EVERY_S, self._turn)

    def end(self) -> None:
        super().end()
        self.roles.clear()

    def let_go(self) -> None:
        """It leaves in peace: all is flushed."""
        for replica in self.replicas.values():
            replica.flushed = replica.end
        super().let_go()
        self.judge.left(self)

    def crash(self) -> None:
        """The process ends; what it has written is there."""
        self.crashed |= self.incarnations
        self.was_let_go = False
        self.end()

    def lose_power(self) -> None:
        self.lost |= self.incarnations
        self.crash()
        for replica in self.replicas.values():
            replica.lose_power()

    # What it sees.

    def metadata_moved(self, before: MetadataImage) -> None:
        if self.epoch < 0 or self.seen[0] <= self.epoch:
            return
        old = before if self._sees_itself else MetadataImage.empty()
        self._sees_itself = True
        image = self.seen[1]
        if image.topics is not old.topics:
            mine = {key: partition for key, partition in _partitions(image) if self.broker_id in partition.replicas}
            for key in self.replicas.keys() - mine.keys():
                del self.replicas[key]
                self.roles.pop(key, None)
            for key, partition in mine.items():
                self._become(key, partition)

    def _become(self, key: Key, partition: Partition) -> None:
        replica = self.replicas.setdefault(key, Replica())
        role = self.roles.get(key)
        epoch = partition.leader_epoch
        if role is not None and role.leader_epoch > epoch:
            return
        if partition.leader != self.broker_id:
            if not isinstance(role, Following) or role.leader_epoch < epoch:
                self.roles[key] = Following(partition.leader, epoch)
            return
        if isinstance(role, Leading) and role.leader_epoch == epoch:
            if partition.partition_epoch > role.partition_epoch:
                self._granted(role, partition.isr, partition.partition_epoch)
        else:
            now = self.world.time
            followers = {each: Follower(caught_up_at=now) for each in partition.replicas if each != self.broker_id}
            self.roles[key] = role = Leading(epoch, partition.partition_epoch, partition.isr, replica.end, followers)
            self.judge.leads(self, key, epoch, replica)
        for each in partition.replicas:
            if each != self.broker_id:
                role.followers.setdefault(each, Follower(caught_up_at=self.world.time))
        for gone in role.followers.keys() - set(partition.replicas):
            del role.followers[gone]

    # Leading.

    def produce(self, key: Key, value: int) -> None:
        """Raises LookupError if it does not lead, or may not promise anything."""
        role = self.roles.get(key)
        if not isinstance(role, Leading) or len(role.isr) < MIN_INSYNC or len(role.waiting) >= MAX_WAITING:
            raise LookupError
        replica = self.replicas[key]
        role.waiting.append((replica.end, value))
        replica.entries.append((role.leader_epoch, value))
        self._flush_perhaps(replica)

    def _flush_perhaps(self, replica: Replica) -> None:
        if self.rng.random() < FLUSH_SHARE:
            replica.flushed = replica.end

    def on_fetch(
        self, key: Key, source: int, broker_epoch: int, leader_epoch: int, end: int, last_epoch: int
    ) -> tuple[tuple[int, int] | None, list[Entry], int] | None:
        """(where it has diverged, records, high watermark), or None if it is no request for this leader."""
        role = self.roles.get(key)
        if not isinstance(role, Leading) or role.leader_epoch != leader_epoch or source not in role.followers:
            return None
        replica = self.replicas[key]
        epoch, epoch_end = replica.end_of(last_epoch)
        if end > 0 and (epoch < last_epoch or epoch_end < end):
            return (epoch, epoch_end), [], replica.high_watermark
        follower = role.followers[source]
        if broker_epoch >= follower.broker_epoch:
            follower.end, follower.broker_epoch = end, broker_epoch
            if end >= replica.end:
                follower.caught_up_at = self.world.time
            self._expand(key, role, replica, source)
            self._advance(key, role, replica)
        return None, replica.entries[end : end + BATCH], replica.high_watermark

    def _advance(self, key: Key, role: Leading, replica: Replica) -> None:
        """The high watermark follows the slowest of the maximal ISR; below the minimal ISR it stays."""
        if len(role.isr) < MIN_INSYNC:
            return
        others = (role.followers.get(each) for each in role.maximal_isr if each != self.broker_id)
        reached = min((-1 if each is None else each.end for each in others), default=replica.end)
        replica.high_watermark = max(replica.high_watermark, min(reached, replica.end))
        while role.waiting and role.waiting[0][0] < replica.high_watermark:
            self.judge.acknowledged(key, *role.waiting.pop(0))

    def _expand(self, key: Key, role: Leading, replica: Replica, source: int) -> None:
        """KIP-903: only the incarnation that is registered, and only what serves (KIP-841)."""
        follower = role.followers[source]
        if source in role.maximal_isr or role.asked is not None:
            return
        known = self.seen[1].cluster.brokers.get(NodeId(source))
        serves = known is not None and not known.fenced and not known.in_controlled_shutdown
        if known is None or not serves or known.epoch != follower.broker_epoch:
            return
        if follower.end >= max(replica.high_watermark, role.starts_at):
            self._ask_for(key, role, (*role.isr, source))

    def _shrink(self, key: Key, role: Leading, replica: Replica) -> None:
        late = [
            each
            for each in role.isr
            if each != self.broker_id
            and self.world.time - (role.followers[each].caught_up_at if each in role.followers else 0.0) > LAG_S
            and (each not in role.followers or role.followers[each].end < replica.end)
        ]
        if late and role.asked is None:
            self._ask_for(key, role, tuple(each for each in role.isr if each not in late))

    def _ask_for(self, key: Key, role: Leading, isr: tuple[int, ...]) -> None:
        role.asked = isr
        self._alter(key, role)

    def _alter(self, key: Key, role: Leading) -> None:
        """Until it is answered by a controller that knows, or the image says more."""
        isr = role.asked
        if self.roles.get(key) is not role or isr is None:
            return
        epochs_of = {each: self._epoch_of(role, each) for each in isr}
        epochs = tuple(asked.BrokerState(broker_id=each, broker_epoch=epoch) for each, epoch in epochs_of.items())
        proposal = asked.PartitionData(
            partition_index=key[1],
            leader_epoch=role.leader_epoch,
            new_isr=() if self.version >= 3 else isr,
            new_isr_with_epochs=epochs if self.version >= 3 else (),
            leader_recovery_state=RECOVERED,
            partition_epoch=role.partition_epoch,
        )
        topic = asked.TopicData(topic_id=key[0], partitions=(proposal,))
        request = asked.AlterPartitionRequest(broker_id=self.broker_id, broker_epoch=self.epoch, topics=(topic,))
        again = partial(self.later, 0.05, lambda: self._alter(key, role))
        target, of_epoch = self.target, role.partition_epoch

        def answer(reply: Message) -> None:
            assert isinstance(reply, AlterPartitionResponse)
            if reply.error_code in (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT):
                self.go_on(target)
                again()
            elif reply.error_code == ErrorCode.STALE_BROKER_EPOCH:
                again()
            elif self.roles.get(key) is role and role.asked is isr and role.partition_epoch == of_epoch:
                self._answered(key, role, reply.topics[0].partitions[0], epochs_of if self.version >= 3 else {})

        self.later(self.slow_changes_s * self.rng.random(), lambda: self.ask(request, answer, again))

    def _epoch_of(self, role: Leading, broker: int) -> int:
        """The incarnation that fetched; of itself and of who has not fetched yet, the one that is registered."""
        if broker == self.broker_id:
            return self.epoch
        fetched = role.followers[broker].broker_epoch if broker in role.followers else -1
        known = self.seen[1].cluster.brokers.get(NodeId(broker))
        return fetched if fetched >= 0 or known is None else known.epoch

    def _answered(self, key: Key, role: Leading, answer: PartitionData, epochs: dict[int, int]) -> None:
        match answer.error_code:
            case ErrorCode.NONE:
                self.judge.granted(key, answer, epochs)
                if answer.leader_id == self.broker_id and answer.leader_epoch == role.leader_epoch:
                    self._granted(role, answer.isr, answer.partition_epoch)
            case ErrorCode.INELIGIBLE_REPLICA:
                role.asked = None
            case ErrorCode.NOT_CONTROLLER:
                self.later(0.05, lambda: self._alter(key, role))
            case _:
                pass  # The image will say what is true; until then the asked ISR counts.

    def _granted(self, role: Leading, isr: tuple[int, ...], partition_epoch: int) -> None:
        role.isr, role.partition_epoch, role.asked = isr, partition_epoch, None

    # Its own turn: followers fetch, leaders look who is late.

    def _turn(self) -> None:
        for key, role in list(self.roles.items()):
            if isinstance(role, Leading):
                replica = self.replicas[key]
                self._shrink(key, role, replica)
                self._advance(key, role, replica)
            elif self.world.time - role.asked_at > LAG_S / 2:
                self._fetch(key, role)
        self.later(FETCH_EVERY_S * (0.5 + self.rng.random()), self._turn)

    def _fetch(self, key: Key, role: Following) -> None:
        """One at a time; what is lost on the way is asked again later."""
        leader = self.peers.get(role.leader)
        replica = self.replicas[key]
        if leader is None:
            return
        role.asked_at = self.world.time
        end, last_epoch, network = replica.end, replica.last_epoch, self.world.network

        def arrive() -> None:
            found = leader.on_fetch(key, self.broker_id, self.epoch, role.leader_epoch, end, last_epoch)
            if found is not None and network.carries(leader.id, self.id):
                self.later(network.delay(), lambda: self._fetched(key, role, end, found))

        if network.carries(self.id, leader.id):
            self.world.later(network.delay(), leader.while_up(self.while_up(arrive)))

    def _fetched(
        self, key: Key, role: Following, asked_from: int, found: tuple[tuple[int, int] | None, list[Entry], int]
    ) -> None:
        """KAFKA-18723, KAFKA-18991: an answer counts only for the epoch and the end that it was asked with."""
        if self.roles.get(key) is not role or self.replicas[key].end != asked_from:
            return
        replica, (diverged, entries, high_watermark) = self.replicas[key], found
        role.asked_at = -1.0
        if diverged is not None:
            epoch, epoch_end = diverged
            _, own_end = replica.end_of(epoch)
            replica.truncate(min(own_end, epoch_end))
            self._fetch(key, role)
            return
        replica.entries += entries
        replica.high_watermark = max(replica.high_watermark, min(high_watermark, replica.end))
        self._flush_perhaps(replica)
        if entries:
            self._fetch(key, role)


def _partitions(image: MetadataImage) -> Iterator[tuple[Key, Partition]]:
    for topic in image.topics:
        for index, partition in topic.partitions():
            yield (topic.id, index), partition
