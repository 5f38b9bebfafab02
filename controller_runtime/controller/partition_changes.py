"""How a partition changes when replicas come and go: who stays in the ISR, who may still lead, who leads (KIP-966
included).

`PartitionChange` takes a partition and what should be different, and yields the PartitionChangeRecord that says so, or
None when nothing is. The order of its steps is Kafka's: first a reassignment that is complete, then the eligible leader
replicas, then the election, then the epoch bumps, so that the same request gives the same record as on a Java
controller (a test compares thousands of them with Java's PartitionChangeBuilder), but for one fault of Java's: who is
removed stays eligible there (docs/deviations.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any, Final

from controller_runtime.controller.placement import default_directory
from controller_runtime.identifiers import DirectoryId, NodeId, Uuid
from controller_runtime.metadata.config_values import integer
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC
from controller_runtime.metadata.features import (
    DIRECTORY_ASSIGNMENT,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    VersionedRecord,
    record_version,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import NO_LEADER, RECOVERED, RECOVERING, Partition
from controller_runtime.metadata.replay import NO_LEADER_CHANGE
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.values import dataclass

SKIP_LEADER_EPOCH_BUMP: Final = 12
"""From this metadata.version on, a smaller ISR alone does not raise the leader epoch."""

NO_BROKER: Final = -1


class Election(Enum):
    """How a leader is chosen."""

    ONLINE = "online"
    """The present leader stays while it may; else the first replica of the ISR that may lead."""
    PREFERRED = "preferred"
    """The first replica leads if it may."""
    UNCLEAN = "unclean"
    """Any replica that lives may lead, before there is no leader at all."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides besides the partition itself."""

    metadata_version: int
    elr_enabled: bool
    may_lead: Callable[[int], bool]
    """Whether this replica's broker is active and its directory online."""
    min_insync_replicas: int = 1
    unclean_election: bool = False


def no_new_replicas(broker_id: int) -> DirectoryId:
    """Of changes that add nobody."""
    raise AssertionError(f"broker {broker_id} becomes a replica, and nobody says in which directory")


@dataclass(slots=True)
class PartitionChange:
    """One change under construction. Set the targets, then `build`."""

    partition: Partition
    topic_id: Uuid
    index: int
    policy: Policy
    isr: tuple[int, ...]
    directories: tuple[DirectoryId, ...]
    unclean_shutdown: tuple[int, ...] = ()
    """Replicas whose brokers lost their unsynced tail: they may not be elected from the ELR."""
    elr: tuple[int, ...] = ()
    replicas: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    recovery_state: int = RECOVERED
    election: Election = Election.ONLINE
    default_directory: Callable[[int], DirectoryId] = no_new_replicas
    """Where a broker that becomes a replica keeps it."""

    @classmethod
    def of(cls, partition: Partition, topic_id: Uuid, index: int, policy: Policy) -> PartitionChange:
        return cls(
            partition=partition,
            topic_id=topic_id,
            index=index,
            policy=policy,
            isr=partition.isr,
            directories=partition.directories,
            elr=partition.elr,
            replicas=partition.replicas,
            removing=partition.removing_replicas,
            adding=partition.adding_replicas,
            recovery_state=partition.leader_recovery_state,
            election=Election.UNCLEAN if policy.unclean_election else Election.ONLINE,
        )

    def set_directory(self, broker_id: int, directory: DirectoryId) -> None:
        position = self.partition.replicas.index(broker_id)
        self.directories = (*self.directories[:position], directory, *self.directories[position + 1 :])

    def build(self) -> VersionedRecord | None:
        """The record, or None when nothing would change."""
        self._complete_reassignment()
        self._update_elr()
        leader, unclean = self._elect()
        changes: dict[str, Any] = {}  # fields of the record: making it once is a tenth of the price of changing it
        if leader != self.partition.leader:
            changes["leader"] = leader
            if unclean:
                self.isr, self.elr = (leader,), ()
                if self.partition.leader_recovery_state != RECOVERING:
                    self.recovery_state = RECOVERING
            elif leader != NO_LEADER and leader not in self.isr:  # it comes from the ELR
                self.isr = (leader,)
                self.elr = tuple(replica for replica in self.elr if replica != leader)
        self._bump_epoch(changes)
        self._name_replica_sets(changes)
        self._name_assignment(changes)
        if self.recovery_state != self.partition.leader_recovery_state:
            changes["leader_recovery_state"] = self.recovery_state
        if not changes:
            return None
        record = PartitionChangeRecord(partition_id=self.index, topic_id=self.topic_id, **changes)
        return record, record_version(PartitionChangeRecord, self.policy.metadata_version)

    def _complete_reassignment(self) -> None:
        """When all that were added are in sync, those who are to go are gone. When the partition gets fewer replicas,
        all that stay have to be in sync.
        """
        if not self.removing and not self.adding:
            return
        stay = tuple(replica for replica in self.replicas if replica not in self.removing)
        in_sync = tuple(replica for replica in self.isr if replica not in self.removing)
        needed = stay if len(self.adding) < len(self.removing) else self.adding
        if in_sync and set(self.adding) <= set(in_sync) and set(needed) <= set(in_sync):
            self.replicas, self.isr, self.removing, self.adding = stay, in_sync, (), ()

    def _update_elr(self) -> None:
        old = self.partition
        if not self.policy.elr_enabled:
            return
        if len(self.isr) >= self.policy.min_insync_replicas:
            self.elr = ()
            return
        # Of those who were replicas and are: who was removed keeps no log, and has an empty one when it is added again.
        stay = {*old.isr, *old.elr} & {*old.replicas} & {*self.replicas}
        self.elr = tuple(r for r in sorted(stay) if r not in self.isr and r not in self.unclean_shutdown)

    def _may_be_elected(self, replica: int) -> bool:
        from_elr = self.policy.elr_enabled and not self.isr and replica in self.elr
        return (replica in self.isr or from_elr) and self.policy.may_lead(replica)

    def _elect(self) -> tuple[int, bool]:
        """(leader, whether the election may lose data)."""
        old, may_lead = self.partition, self.policy.may_lead
        if self.election is Election.PREFERRED and self._may_be_elected(self.replicas[0]):
            return self.replicas[0], False
        if self._may_be_elected(old.leader):
            return old.leader, False
        found = next(filter(self._may_be_elected, self.replicas), None)
        if found is not None:
            return found, False
        last = old.last_known_elr if old.leader == NO_LEADER else ()  # somebody leads: what is remembered is stale
        if self.policy.elr_enabled and not self.elr and not self.isr and len(last) == 1 and may_lead(last[0]):
            return last[0], True
        if self.election is Election.UNCLEAN:
            found = next(filter(may_lead, self.replicas), None)
            if found is not None:
                return found, True
        return NO_LEADER, False

    def _bump_epoch(self, changes: dict[str, Any]) -> None:
        """A record that names a leader raises the leader epoch, also if it is the present one: those who are replicas
        no more, or in sync no more, must not be believed.
        """
        if "leader" in changes:
            return
        shrinks = self.policy.metadata_version < SKIP_LEADER_EPOCH_BUMP and not set(self.partition.isr) <= set(self.isr)
        if shrinks or not set(self.partition.replicas) <= set(self.replicas):
            changes["leader"] = self.partition.leader

    def _name_replica_sets(self, changes: dict[str, Any]) -> None:
        old, elr_enabled = self.partition, self.policy.elr_enabled
        if not elr_enabled:
            self.elr = ()
        if self.elr != old.elr:
            changes["eligible_leader_replicas"] = self.elr
        # Without the ELR the last member stays in the ISR of a partition that nobody leads.
        if (self.isr or elr_enabled) and self.isr != old.isr:
            changes["isr"] = self.isr
        self._name_last_known_leader(changes)

    def _name_assignment(self, changes: dict[str, Any]) -> None:
        old = self.partition
        directories = self.directories
        if self.replicas != old.replicas:
            changes["replicas"] = self.replicas
            where = dict(zip(old.replicas, self.directories, strict=True))
            directories = tuple(
                where[replica] if replica in where else self.default_directory(replica) for replica in self.replicas
            )
        if (directories != old.directories or "replicas" in changes) and (
            "replicas" not in changes or self.policy.metadata_version >= DIRECTORY_ASSIGNMENT
        ):
            changes["directories"] = directories
        if self.removing != old.removing_replicas:
            changes["removing_replicas"] = self.removing
        if self.adding != old.adding_replicas:
            changes["adding_replicas"] = self.adding

    def _name_last_known_leader(self, changes: dict[str, Any]) -> None:
        """Remember who led when there is no leader any more; forget it when there is one again, also while the feature
        is off: who led before others did has not what they wrote (Apache Kafka 4.3.1 would elect it again).
        """
        old, leader = self.partition, changes.get("leader", NO_LEADER_CHANGE)
        known = old.last_known_elr
        if leader == NO_LEADER and (old.leader != NO_LEADER or not known):  # -1 where nobody led, as Apache Kafka's
            known = (old.leader,) if self.policy.elr_enabled else ()
        elif leader >= 0:
            known = ()
        known = tuple(replica for replica in known if replica in self.replicas)  # who was removed keeps no log
        if known != old.last_known_elr:
            changes["last_known_elr"] = known


def elr_enabled(image: MetadataImage) -> bool:
    """Its level depends on a metadata.version whose records can say it; no feature update breaks that."""
    return image.features.level(ELIGIBLE_LEADER_REPLICAS_VERSION) >= 1


def is_active(image: MetadataImage, broker_id: int) -> bool:
    """Registered, unfenced and not on its way out."""
    broker = image.cluster.unfenced(broker_id)
    return broker is not None and not broker.in_controlled_shutdown


@dataclass(frozen=True, slots=True)
class TopicRules:
    """What the configuration says about all partitions of a topic."""

    min_insync_replicas: int
    unclean_election: bool

    @classmethod
    def of(cls, image: MetadataImage, topic: TopicImage) -> TopicRules:
        unclean = _config(image, topic.name, "unclean.leader.election.enable", "false")
        return cls(_min_insync_replicas(image, topic), unclean.strip().lower() == "true")


def policy_for(
    image: MetadataImage,
    topic: TopicImage,
    partition: Partition,
    may_be_active: Callable[[int], bool],
    rules: TopicRules | None = None,
) -> Policy:
    """The policy for one partition; `may_be_active` stands in for `is_active` where a change is about to happen."""
    rules = rules or TopicRules.of(image, topic)

    def may_lead(replica: int) -> bool:
        if replica not in partition.replicas or not may_be_active(replica):
            return False
        broker = image.cluster.brokers.get(NodeId(replica))
        return broker is None or broker.has_online_directory(partition.directory(replica))

    return Policy(
        metadata_version=image.features.metadata_version,
        elr_enabled=elr_enabled(image),
        may_lead=may_lead,
        min_insync_replicas=rules.min_insync_replicas,
        unclean_election=rules.unclean_election,
    )


def change_of(
    image: MetadataImage, topic: TopicImage, index: int, partition: Partition, rules: TopicRules | None = None
) -> PartitionChange:
    """A change under construction, with the brokers as they are; new replicas go where each broker keeps them."""
    policy = policy_for(image, topic, partition, lambda replica: is_active(image, replica), rules)
    change = PartitionChange.of(partition, topic.id, index, policy)
    change.default_directory = lambda broker: default_directory(image.cluster.brokers[NodeId(broker)])
    return change


def _min_insync_replicas(image: MetadataImage, topic: TopicImage) -> int:
    first = topic.partition(0)
    configured = integer(_config(image, topic.name, "min.insync.replicas", "1")) or 1
    return configured if first is None else min(configured, len(first.replicas))


def _config(image: MetadataImage, topic: str, name: str, default: str) -> str:
    """What the topic says, else the dynamic default of all brokers; this node's configuration file has no say over
    others' topics.
    """
    configs = image.configs
    return configs.of(TOPIC, topic).get(name) or configs.of(BROKER, ALL_BROKERS).get(name) or default


def leader_and_isr_changes(
    image: MetadataImage,
    partitions: Iterable[tuple[TopicImage, int, Partition] | None],
    *,
    remove: int = NO_BROKER,
    add: int = NO_BROKER,
    unclean: int = NO_BROKER,
) -> Iterator[VersionedRecord | None]:
    """The changes of these partitions when a broker stops being usable (`remove`), comes back (`add`), or returns from
    a crash (`unclean`: it may have lost records, so it leads nothing until it is back, whatever its session says).
    Partitions for which nothing changes yield nothing; a None among them stands for itself (see `decision.written`)."""

    def may_be_active(replica: int) -> bool:
        return replica not in (remove, unclean) and (replica == add or is_active(image, replica))

    of: TopicImage | None = None
    rules: TopicRules | None = None
    for found in partitions:
        if found is None:
            yield None
            continue
        topic, index, partition = found
        if topic is not of:
            of, rules = topic, TopicRules.of(image, topic)
        policy = policy_for(image, topic, partition, may_be_active, rules)
        change = PartitionChange.of(partition, topic.id, index, policy)
        change.isr = tuple(replica for replica in partition.isr if replica not in (remove, unclean))
        change.unclean_shutdown = () if unclean == NO_BROKER else (unclean,)
        record = change.build()
        if record is not None:
            yield record
