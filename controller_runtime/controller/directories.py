"""Where replicas live: a broker tells which of its log directories it put each replica into (KIP-858)."""

from __future__ import annotations

from controller_runtime.controller.brokers import check_broker_epoch
from controller_runtime.controller.decision import Decision
from controller_runtime.controller.errors import Refused
from controller_runtime.controller.partition_changes import (
    PartitionChange,
    is_active,
    leader_and_isr_changes,
    policy_for,
)
from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.metadata.features import DIRECTORY_ASSIGNMENT, VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import assign_replicas_to_dirs_request as asked
from controller_runtime.protocol.messages import assign_replicas_to_dirs_response as told
from controller_runtime.values import dataclass, field


@dataclass(slots=True)
class _Assignment:
    """The answer under construction, with the records it needs."""

    image: MetadataImage
    broker: BrokerRegistration
    records: list[VersionedRecord] = field(default_factory=list)
    on_offline_directory: list[tuple[TopicImage, int, Partition]] = field(default_factory=list)

    def directory(self, asked_for: asked.DirectoryData) -> told.DirectoryData:
        topics = tuple(
            told.TopicData(
                topic_id=topic.topic_id,
                partitions=tuple(
                    told.PartitionData(
                        partition_index=p.partition_index,
                        error_code=self._assign(topic.topic_id, p.partition_index, DirectoryId(asked_for.id)),
                    )
                    for p in topic.partitions
                ),
            )
            for topic in asked_for.topics
        )
        return told.DirectoryData(id=asked_for.id, topics=topics)

    def _assign(self, topic_id: Uuid, index: int, directory: DirectoryId) -> ErrorCode:
        topic = self.image.topics.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partition(index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.broker.id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not self.broker.has_online_directory(directory):
            self.on_offline_directory.append((topic, index, partition))
        policy = policy_for(self.image, topic, partition, lambda replica: is_active(self.image, replica))
        change = PartitionChange.of(partition, topic_id, index, policy)
        change.set_directory(self.broker.id, directory)
        record = change.build()
        if record is not None:
            self.records.append(record)
        return ErrorCode.NONE


def assign_replicas(image: MetadataImage, request: asked.AssignReplicasToDirsRequest) -> Decision:
    if image.features.metadata_version < DIRECTORY_ASSIGNMENT:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    broker = check_broker_epoch(image, request.broker_id, request.broker_epoch)
    work = _Assignment(image, broker)
    directories = tuple(map(work.directory, request.directories))
    lost = leader_and_isr_changes(image, work.on_offline_directory, remove=broker.id)
    records = (*work.records, *filter(None, lost))
    return Decision(told.AssignReplicasToDirsResponse(directories=directories), records, atomic=False)
