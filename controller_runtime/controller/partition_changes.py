"""How a partition changes when replicas come and go: who stays in the ISR, who may still lead, who leads (KIP-966
included).

`PartitionChange` takes a partition and what should be different, and yields the PartitionChangeRecord that says so, or
None when nothing is. The order of its steps is Kafka's: first the eligible leader replicas, then the election, then the
epoch bumps, so that the same request gives the same record as on a Java controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from controller_runtime.identifiers import DirectoryId, NodeId, Uuid
from controller_runtime.metadata.config_values import integer
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER, TOPIC
from controller_runtime.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION, VersionedRecord, record_version
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import NO_LEADER, RECOVERING, Partition
from controller_runtime.metadata.replay import NO_LEADER_CHANGE
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.values import dataclass

SKIP_LEADER_EPOCH_BUMP: Final = 12
"""From this metadata.version on, a smaller ISR alone does not raise the leader epoch."""

NO_BROKER: Final = -1


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides besides the partition itself."""

    metadata_version: int
    elr_enabled: bool
    may_lead: Callable[[int], bool]
    """Whether this replica's broker is active and its directory online."""
    min_insync_replicas: int = 1
    unclean_election: bool = False


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
        )

    def set_directory(self, broker_id: int, directory: DirectoryId) -> None:
        position = self.partition.replicas.index(broker_id)
        self.directories = (*self.directories[:position], directory, *self.directories[position + 1 :])

    def build(self) -> VersionedRecord | None:
        """The record, or None when nothing would change."""
        self._update_elr()
        leader, unclean = self._elect()
        changes: dict[str, Any] = {}  # fields of the record: making it once is a tenth of the price of changing it
        if leader != self.partition.leader:
            changes["leader"] = leader
            if unclean:
                self.isr, self.elr = (leader,), ()
                if self.partition.leader_recovery_state != RECOVERING:
                    changes["leader_recovery_state"] = RECOVERING
            elif leader != NO_LEADER and leader not in self.isr:  # it comes from the ELR
                self.isr = (leader,)
                self.elr = tuple(replica for replica in self.elr if replica != leader)
        self._bump_epoch(changes)
        self._name_replica_sets(changes)
        if self.directories != self.partition.directories:
            changes["directories"] = self.directories
        if not changes:
            return None
        record = PartitionChangeRecord(partition_id=self.index, topic_id=self.topic_id, **changes)
        return record, record_version(PartitionChangeRecord, self.policy.metadata_version)

    def _update_elr(self) -> None:
        old = self.partition
        if not self.policy.elr_enabled:
            return
        if len(self.isr) >= min(self.policy.min_insync_replicas, len(old.replicas)):
            self.elr = ()
            return
        candidates = sorted({*old.isr, *old.elr})
        self.elr = tuple(r for r in candidates if r not in self.isr and r not in self.unclean_shutdown)

    def _may_be_elected(self, replica: int) -> bool:
        from_elr = self.policy.elr_enabled and not self.isr and replica in self.elr
        return (replica in self.isr or from_elr) and self.policy.may_lead(replica)

    def _elect(self) -> tuple[int, bool]:
        """(leader, whether the election may lose data). The present leader stays while it may."""
        old, may_lead = self.partition, self.policy.may_lead
        if self._may_be_elected(old.leader):
            return old.leader, False
        found = next(filter(self._may_be_elected, old.replicas), None)
        if found is not None:
            return found, False
        last = old.last_known_elr
        if self.policy.elr_enabled and not self.elr and not self.isr and len(last) == 1 and may_lead(last[0]):
            return last[0], True
        if self.policy.unclean_election:
            found = next(filter(may_lead, old.replicas), None)
            if found is not None:
                return found, True
        return NO_LEADER, False

    def _bump_epoch(self, changes: dict[str, Any]) -> None:
        """A record that names a leader raises the leader epoch, also if it is the present one."""
        if "leader" in changes or self.policy.metadata_version >= SKIP_LEADER_EPOCH_BUMP:
            return
        if not set(self.partition.isr) <= set(self.isr):
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
        if elr_enabled:
            self._name_last_known_leader(changes)

    def _name_last_known_leader(self, changes: dict[str, Any]) -> None:
        """Remember who led when the ISR became empty; forget it when there is a leader again."""
        old = self.partition
        leader = changes.get("leader", NO_LEADER_CHANGE)
        leads = leader >= 0 or NO_LEADER not in (old.leader, leader)
        if changes.get("isr") == () and old.last_known_elr != (old.leader,):
            changes["last_known_elr"] = (old.leader,)
        elif leads and old.last_known_elr:
            changes["last_known_elr"] = ()


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
