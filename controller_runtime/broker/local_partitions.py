"""Which partitions live on this broker, which of them it leads, and what their logs are doing.

The image says what should be here; `local_changes` hands on what it changes. Opening a log takes time, so a partition
is served only once it is opened and led. A topic that vanished from the image is deleted here; a topic of the same name
made later is another one, by its id. The states of a replica, and why one follows another, are in `partition_states`;
what a leader knows of the other replicas is in `replication`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from controller_runtime.broker.append_rules import AppendRules
from controller_runtime.broker.effects import (
    BrokerEffect,
    ClosePartition,
    ConfigureLog,
    LogCut,
    OpenPartition,
    PartitionFailed,
    PartitionOpened,
)
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.openings import Openings
from controller_runtime.broker.partition import OpenLog, check_epoch
from controller_runtime.broker.partition_states import (
    Offline,
    Opening,
    PartitionState,
    check_transition,
)
from controller_runtime.broker.replication.follower import Follower
from controller_runtime.broker.replication.in_sync_counts import InSyncCounts, count_in_sync
from controller_runtime.broker.replication.led_replicas import LedReplicas, Surroundings
from controller_runtime.broker.topic_rules import TopicRules
from controller_runtime.broker.wished_homes import WishedHomes
from controller_runtime.identifiers import ZERO_UUID, DirectoryId, Instant, NodeId, PartitionId, Uuid
from controller_runtime.metadata.cluster import MIGRATING, UNASSIGNED
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import NO_LEADER, Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass


@dataclass(slots=True)
class _Replica:
    """A replica on this broker, as the image has it and as it is here."""

    topic: str
    registered: Partition
    state: PartitionState


class LocalPartitions:
    def __init__(self, node_id: NodeId, node_configs: Mapping[str, str], now: Instant, max_lag_s: float = 30.0) -> None:
        self.node_id = node_id
        self._topic_rules = TopicRules(node_id, node_configs)
        self.now = now
        """Of this step: whoever begins one says it."""
        self.max_lag_s = max_lag_s
        """How long a follower may lag and stay in sync (`replica.lag.time.max.ms`)."""
        self.cordoned: tuple[DirectoryId, ...] = ()
        """They take no new replicas."""
        self.with_followers: dict[PartitionId, Leader] = {}
        """What is led here and has other replicas."""
        self.following: dict[NodeId, dict[PartitionId, Follower]] = {}
        """What others lead, by who leads it."""
        self._risen: dict[PartitionId, Leader | Follower] = {}
        self._image = MetadataImage.empty()
        self.is_behind = False
        """Something in the image was not acted on yet."""
        self._replicas: dict[PartitionId, _Replica] = {}
        self._changed: list[PartitionId] = []
        self._openings = Openings()
        self.wishes = WishedHomes()
        """Where replicas that may come are wanted (AlterReplicaLogDirs)."""

    @property
    def image(self) -> MetadataImage:
        """The newest: what requests name is looked up in it."""
        return self._image

    def see(self, image: MetadataImage) -> None:
        """What follows from it comes by and by (`local_changes`)."""
        self._image = image

    @property
    def has_opening(self) -> bool:
        """Logs of replicas are being opened."""
        return bool(self._openings)

    @property
    def may_open(self) -> bool:
        """`is_opening` may be true of some partition."""
        return self.is_behind or bool(self._openings)

    def take_changed(self) -> list[PartitionId]:
        """Replicas that came, went, or whose state or epoch changed since this was asked last."""
        changed, self._changed = self._changed, []
        return changed

    def take_risen(self) -> list[Leader | Follower]:
        """Whose high watermark rose since this was asked last, otherwise than by what this broker wrote."""
        if not self._risen:
            return []
        risen, self._risen = self._risen, {}
        return [state for key, state in risen.items() if (it := self._replicas.get(key)) and it.state is state]

    def on_partition(
        self, topic: TopicImage, index: int, partition: Partition, *, is_first: bool = False
    ) -> list[BrokerEffect]:
        """It is new, or not what it was. `is_first`: it is in the first image, so its log may be here."""
        key = PartitionId(topic.id, index)
        if self.node_id not in partition.replicas:
            return self.close(key)
        replica = self._replicas.get(key)
        if replica is None:
            return self._arrive(key, _Replica(topic.name, partition, Opening()), is_new=not is_first)
        replica.registered = partition
        match replica.state:
            case Leader(log) | Follower(log):
                self._take_part(key, replica, log)
            case Opening() | Offline():
                pass
            case _ as unknown:
                assert_never(unknown)
        return []

    def _arrive(self, key: PartitionId, replica: _Replica, *, is_new: bool) -> list[BrokerEffect]:
        self._replicas[key] = replica
        self._changed.append(key)
        return [self._opened_from(key, replica, is_new=is_new)]

    def _opened_from(self, key: PartitionId, replica: _Replica, *, is_new: bool) -> OpenPartition:
        self._openings.begin(key)
        directory = replica.registered.directory(self.node_id)
        known = None if directory in (UNASSIGNED, MIGRATING) else directory
        known = (self.wishes.take(replica.topic, key.index) if is_new else None) or known
        return OpenPartition(key, replica.topic, known, self._configs(replica.topic), is_new, avoid=self.cordoned)

    def _take_part(self, key: PartitionId, replica: _Replica, log: OpenLog) -> None:
        """The part in its partition that the image gives it, now that its log is open."""
        registered, state = replica.registered, replica.state
        if registered.leader != self.node_id:
            self._follow(key, replica, log)
            return
        if isinstance(state, Follower) and state.is_cut:
            return  # It is led as soon as it is known what is left of its log (`on_cut`).
        if not isinstance(state, Leader):
            leader = Leader(log, registered.leader_epoch, LedReplicas())
            leader.lead(self.node_id, registered, self.now, led=False)
            self._enter(key, replica, leader)
        else:
            leader = state
            if registered.leader_epoch != leader.epoch:
                leader.lead(self.node_id, registered, self.now, led=True)
                self._changed.append(key)
            else:
                leader.replicas.see(self.node_id, registered)
        if leader.replicas.remotes:
            self.with_followers[key] = leader
        else:
            self.with_followers.pop(key, None)
        self.advance(leader)

    def _follow(self, key: PartitionId, replica: _Replica, log: OpenLog) -> None:
        state, registered = replica.state, replica.registered
        if not isinstance(state, Follower):
            state = Follower(log)
            self._enter(key, replica, state)
        self._leave_leader(key, state)
        state.follow(registered.leader, registered.leader_epoch)
        if registered.leader != NO_LEADER:
            self.following.setdefault(NodeId(registered.leader), {})[key] = state

    def _leave_leader(self, key: PartitionId, state: PartitionState) -> None:
        if isinstance(state, Follower):
            leader = NodeId(state.leader)
            followed = self.following.get(leader, {})
            followed.pop(key, None)
            if not followed:
                self.following.pop(leader, None)

    def _enter(self, key: PartitionId, replica: _Replica, state: PartitionState) -> None:
        check_transition(replica.state, state)
        self._leave_leader(key, replica.state)
        replica.state = state
        self._openings.end(key)
        self.with_followers.pop(key, None)
        self._changed.append(key)

    def advance(self, leader: Leader) -> None:
        """What counts for its high watermark may have changed."""
        reached = leader.log.written_offset
        if leader.replicas.remotes:
            reached = leader.replicas.high_watermark(reached, self.around(leader))
        if leader.raise_high_watermark(reached):
            self._risen[leader.log.key] = leader

    def around(self, leader: Leader) -> Surroundings:
        least = self.rules(leader.log.topic).min_insync_replicas
        return Surroundings(self.now, self._image.cluster, self.max_lag_s, least)

    def close(self, key: PartitionId) -> list[BrokerEffect]:
        """It is no replica of this broker any more."""
        replica = self._replicas.pop(key, None)
        if replica is None:
            return []
        if isinstance(replica.state, Opening):
            self._openings.outdate(key)
        self.with_followers.pop(key, None)
        self._leave_leader(key, replica.state)
        self._changed.append(key)
        return [ClosePartition(key, delete=True)]

    def configure(self, key: PartitionId) -> list[BrokerEffect]:
        """A changed value reaches its log if it is open, or being opened."""
        replica = self._replicas.get(key)
        return [] if replica is None else [ConfigureLog(key, self._configs(replica.topic))]

    # What became of their logs.

    def on_opened(self, event: PartitionOpened) -> bool:
        """False: it is no replica of this broker any more; closing it is already on its way."""
        replica = self._replicas.get(event.key)
        if self._openings.is_outdated(event.key) or replica is None or not isinstance(replica.state, Opening):
            return False
        log = OpenLog(
            event.key,
            replica.topic,
            start_offset=event.start_offset,
            end_offset=event.end_offset,
            written_offset=event.end_offset,
            high_watermark=min(max(event.start_offset, event.high_watermark), event.end_offset),
            epoch_starts=list(event.epoch_starts),
            producers=dict(event.producers),
            directory_id=event.directory_id,
        )
        self._take_part(event.key, replica, log)
        return True

    def on_cut(self, event: LogCut) -> None:
        """A follower's log ends, or begins, elsewhere now."""
        replica = self._replicas.get(event.key)
        if replica is None or not isinstance(state := replica.state, Follower) or not state.is_cut:
            return  # It was given up meanwhile, or begun anew with what followed.
        log, state.is_cut = state.log, False
        log.start_offset, log.end_offset, log.written_offset = event.start_offset, event.end_offset, event.end_offset
        log.high_watermark = min(max(log.high_watermark, event.start_offset), event.end_offset)
        log.take_what_is_left(event.epoch_starts, event.producers)
        self._take_part(event.key, replica, log)

    def on_failed(self, event: PartitionFailed) -> None:
        if event.key is None or self._openings.is_outdated(event.key):
            return
        replica = self._replicas.get(event.key)
        if replica is not None and not isinstance(replica.state, Offline):
            self._enter(event.key, replica, Offline(event.reason))

    def lose(self, key: PartitionId, directory_id: DirectoryId, reason: str) -> None:
        """The directory is offline, and with it a log that lies there. One that is being opened there will be said to
        have failed.
        """
        replica = self._replicas.get(key)
        log = None if replica is None else _open_log(replica.state)
        if replica is not None and log is not None and log.directory_id == directory_id:
            self._enter(key, replica, Offline(reason))

    def written(self, key: PartitionId, end_offset: int) -> Leader | int | None:
        """The partition if it is led here: more of it may be read now. Of one that is followed, where it begins by now
        if that is later than it did.
        """
        replica = self._replicas.get(key)
        match None if replica is None else replica.state:
            case Leader() as leader:
                leader.log.written(end_offset)
                self.advance(leader)
                return leader
            case Follower(log) as follower:
                log.written(end_offset)
                return self.settle(follower)
            case _:
                pass  # Its log was given up, or is a new one that is being opened.
        return None

    def settle(self, follower: Follower) -> int | None:
        """`Follower.settle`, and consumers may read on."""
        before, start = follower.log.high_watermark, follower.settle()
        if follower.log.high_watermark > before:
            self._risen[follower.log.key] = follower
        return start

    # Looking up.

    def here(self) -> list[PartitionId]:
        """Every replica of this broker."""
        return list(self._replicas)

    @property
    def replica_count(self) -> int:
        return len(self._replicas)

    @property
    def leader_count(self) -> int:
        return sum(isinstance(replica.state, Leader) for replica in self._replicas.values())

    def in_sync_counts(self) -> InSyncCounts:
        led = ((it.replicas, self.rules(it.log.topic).min_insync_replicas) for it in self.with_followers.values())
        return count_in_sync(led, self.leader_count - len(self.with_followers))

    def high_watermarks(self) -> dict[PartitionId, int]:
        """Of every partition whose log is open."""
        return {key: log.high_watermark for key in self._replicas if (log := self.open_log(key)) is not None}

    def open_log(self, key: PartitionId) -> OpenLog | None:
        """Of a replica here, whatever its part in the partition."""
        replica = self._replicas.get(key)
        return None if replica is None else _open_log(replica.state)

    def led(self, key: PartitionId) -> Leader | None:
        return it.state if (it := self._replicas.get(key)) and isinstance(it.state, Leader) else None

    def why_not_led(self, key: PartitionId) -> ErrorCode:
        is_offline = (replica := self._replicas.get(key)) is not None and isinstance(replica.state, Offline)
        return ErrorCode.KAFKA_STORAGE_ERROR if is_offline else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def is_opening(self, key: PartitionId) -> bool:
        """This broker leads the partition, but its log is still being opened, or will be."""
        replica = self._replicas.get(key)
        if replica is None and self.is_behind:
            registered = self._image.topics.partition(key.topic_id, key.index)
        else:
            registered = replica.registered if replica is not None and isinstance(replica.state, Opening) else None
        return registered is not None and registered.leader == self.node_id

    def has_too_few(self, leader: Leader, *, maximal: bool = False) -> bool:
        """Fewer replicas are in sync than an acknowledgement by all of them needs. `maximal`: also those count who may
        be by now.
        """
        replicas = leader.replicas
        count = len(replicas.maximal_isr) if maximal else len(replicas.isr)
        return count < replicas.needed(self.rules(leader.log.topic).min_insync_replicas)

    def key(self, name: str, topic_id: Uuid, index: int) -> PartitionId | None:
        """The partition that a request means, by topic id if it has one."""
        topic = self._topic(name, topic_id)
        return None if topic is None else PartitionId(topic.id, index)

    def _topic(self, name: str, topic_id: Uuid) -> TopicImage | None:
        return self._image.topics.named(name) if topic_id == ZERO_UUID else self._image.topics.get(topic_id)

    def find(self, name: str, topic_id: Uuid, index: int, leader_epoch: int = -1) -> Leader | ErrorCode:
        """The led partition that a request means, or why it cannot be served."""
        found = self.find_replica(name, topic_id, index, leader_epoch)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if isinstance(found, Follower) else found

    def find_replica(self, name: str, topic_id: Uuid, index: int, leader_epoch: int) -> Leader | Follower | ErrorCode:
        """Whatever its part. As in Kafka the client's idea of the epoch is judged before who leads."""
        topic = self._topic(name, topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic_id == ZERO_UUID else ErrorCode.UNKNOWN_TOPIC_ID
        if not 0 <= index < topic.partition_count:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        replica = self._replicas.get(PartitionId(topic.id, index))
        if replica is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        match replica.state:
            case Leader() as leader:
                return check_epoch(leader_epoch, leader.epoch) or leader
            case Offline():
                return ErrorCode.KAFKA_STORAGE_ERROR
            case Follower() as follower:
                return check_epoch(leader_epoch, replica.registered.leader_epoch) or follower
            case Opening():
                return check_epoch(leader_epoch, replica.registered.leader_epoch) or ErrorCode.NOT_LEADER_OR_FOLLOWER
            case _ as unknown:
                assert_never(unknown)

    def rules(self, topic: str) -> AppendRules:
        """What the topic's configuration says about appends."""
        return self._topic_rules.of(self._image.configs, topic)

    def _configs(self, topic: str) -> Mapping[str, str]:
        return self._topic_rules.configs(self._image.configs, topic)


def _open_log(state: PartitionState) -> OpenLog | None:
    return state.log if isinstance(state, Leader | Follower) else None
