"""Which partitions live on this broker, which of them it leads, and what their logs are doing.

The image says what should be here; opening a log takes time, so a partition is served only once it is opened and led. A
partition with more replicas than this one is neither opened nor served: nothing of it is copied to them, so what was
acknowledged could be lost. A topic that vanished from the image is deleted here; a topic of the same name made later is
another one, by its id.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.broker.append_rules import AppendRules
from controller_runtime.broker.partition import LedPartition, PartitionKey
from controller_runtime.identifiers import ZERO_UUID, NodeId, Uuid
from controller_runtime.metadata.cluster import MIGRATING, UNASSIGNED
from controller_runtime.metadata.configs import ConfigsImage
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topic_configs import topic_configs
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.node.broker_effects import (
    BrokerEffect,
    ClosePartition,
    OpenPartition,
    PartitionFailed,
    PartitionOpened,
)
from controller_runtime.node.effects import Log, NodeEffect
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass


@dataclass(slots=True)
class _Local:
    """A replica on this broker. `state` is there once its log is open; it is led while `leads`."""

    topic: str
    partition: Partition
    leads: bool
    asked: bool = False
    """Its log is open or being opened."""
    told: bool = False
    """That it is not served was said."""
    state: LedPartition | None = None
    failure: str | None = None

    def lead(self) -> None:
        assert self.state is not None, "its log is open"
        if self.serves:
            self.state.lead(self.partition.leader_epoch)
        else:
            self.state.leader_epoch = self.partition.leader_epoch

    @property
    def is_alone(self) -> bool:
        return len(self.partition.replicas) == 1

    @property
    def serves(self) -> bool:
        return self.leads and self.is_alone


class LocalPartitions:
    def __init__(self, node_id: NodeId, node_configs: Mapping[str, str]) -> None:
        self._node_id = node_id
        self._node_configs = node_configs
        self._image = MetadataImage.empty()
        self._local: dict[PartitionKey, _Local] = {}
        self._rules: dict[str, AppendRules] = {}
        self._rules_of: ConfigsImage | None = None

    def on_image(self, image: MetadataImage) -> list[NodeEffect | BrokerEffect]:
        """Open, close and lead what changed since the last image."""
        before, self._image = self._image, image
        out: list[NodeEffect | BrokerEffect] = []
        if image.topics is not before.topics:
            for old, new in image.topics.changes_since(before.topics):
                if new is None:
                    assert old is not None, "a change has two sides"
                    out += self._close_topic(old)
                else:
                    for index, partition in new.changes_since(old):
                        out += self._on_partition(new, index, partition)
        return out

    def _on_partition(self, topic: TopicImage, index: int, partition: Partition) -> list[NodeEffect | BrokerEffect]:
        key = PartitionKey(topic.id, index)
        local = self._local.get(key)
        if self._node_id not in partition.replicas:
            if local is None:
                return []
            del self._local[key]
            return [ClosePartition(key, delete=True)]
        leads = partition.leader == self._node_id
        if local is None:
            local = self._local[key] = _Local(topic.name, partition, leads)
        local.partition, local.leads = partition, leads
        if local.state is not None:
            local.lead()
        if not local.is_alone:
            return self._not_served(local, index)
        if local.asked:
            return []
        local.asked, local.told = True, False
        directory = partition.directory(self._node_id)
        known = None if directory in (UNASSIGNED, MIGRATING) else directory
        return [OpenPartition(key, topic.name, known, self._configs(topic.name))]

    def _not_served(self, local: _Local, index: int) -> list[NodeEffect | BrokerEffect]:
        if local.told or not local.leads:
            return []
        local.told = True
        where = ", ".join(map(str, local.partition.replicas))
        return [
            Log(
                "error",
                f"move {local.topic}-{index} to Java brokers or to one replica: its replicas are {where}, "
                "this broker leads it and copies nothing to the others, so it serves nothing of it",
            )
        ]

    def _close_topic(self, topic: TopicImage) -> list[NodeEffect | BrokerEffect]:
        keys = [PartitionKey(topic.id, index) for index in range(topic.partition_count)]
        gone = [key for key in keys if self._local.pop(key, None) is not None]
        return [ClosePartition(key, delete=True) for key in gone]

    def on_opened(self, event: PartitionOpened) -> None:
        local = self._local.get(event.key)
        if local is None:
            return  # Its topic was deleted meanwhile; closing it is already on its way.
        local.state = LedPartition(
            event.key,
            local.topic,
            local.partition.leader_epoch,
            event.start_offset,
            event.end_offset,
            event.end_offset,
            list(event.epoch_starts),
            dict(event.producers),
        )

        local.lead()

    def on_failed(self, event: PartitionFailed) -> None:
        if event.key is not None and (local := self._local.get(event.key)) is not None:
            local.failure, local.state = event.reason, None

    # Looking up.

    @property
    def replica_count(self) -> int:
        return len(self._local)

    @property
    def leader_count(self) -> int:
        return sum(local.serves for local in self._local.values())

    @property
    def not_served_count(self) -> int:
        """Partitions that it should lead and does not serve, because they have more replicas."""
        return sum(local.leads and not local.is_alone for local in self._local.values())

    def written(self, key: PartitionKey, end_offset: int) -> None:
        local = self._local.get(key)
        if local is not None and local.state is not None:
            local.state.written(end_offset)

    def led(self, key: PartitionKey) -> LedPartition | None:
        local = self._local.get(key)
        return local.state if local is not None and local.serves else None

    def is_opening(self, name: str, topic_id: Uuid, index: int) -> bool:
        """The partition is led here, but its log is still being recovered."""
        local = self._find_local(name, topic_id, index)
        return local is not None and local.serves and local.state is None and local.failure is None

    def has_too_few(self, name: str, topic_id: Uuid, index: int) -> bool:
        """The partition is led here, and fewer replicas are in sync than an acknowledgement by all of them needs.

        As in Kafka no more are asked for than there are.
        """
        local = self._find_local(name, topic_id, index)
        if local is None or not local.leads:
            return False
        needed = min(self.rules(local.topic).min_insync_replicas, len(local.partition.replicas))
        return len(local.partition.isr) < needed

    def _find_local(self, name: str, topic_id: Uuid, index: int) -> _Local | None:
        topic = self._image.topics.named(name) if topic_id == ZERO_UUID else self._image.topics.get(topic_id)
        return None if topic is None else self._local.get(PartitionKey(topic.id, index))

    def find(self, name: str, topic_id: Uuid, index: int, leader_epoch: int = -1) -> LedPartition | ErrorCode:
        """The led partition that a request means, by topic id if it has one, or why it cannot be served."""
        if topic_id != ZERO_UUID:
            topic = self._image.topics.get(topic_id)
        else:
            topic = self._image.topics.named(name)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic_id == ZERO_UUID else ErrorCode.UNKNOWN_TOPIC_ID
        if not 0 <= index < topic.partition_count:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        local = self._local.get(PartitionKey(topic.id, index))
        if local is not None and local.failure is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if local is None or not local.serves or local.state is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        error = local.state.check_epoch(leader_epoch)
        return local.state if error == ErrorCode.NONE else error

    def rules(self, topic: str) -> AppendRules:
        """What the topic's configuration says about appends; computed once for each state of the configuration."""
        if self._rules_of is not self._image.configs:
            self._rules, self._rules_of = {}, self._image.configs
        found = self._rules.get(topic)
        if found is None:
            found = self._rules[topic] = AppendRules.of(self._configs(topic))
        return found

    def _configs(self, topic: str) -> Mapping[str, str]:
        return topic_configs(self._image.configs, topic, self._node_id, self._node_configs)
