"""Where replicas live: a broker tells which of its log directories it put each replica into (KIP-858)."""

from __future__ import annotations

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.brokers import Changes, Found, check_broker_epoch
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces, RequestContext, written
from controller_runtime.controller.partition_changes import Election, change_of, leader_and_isr_changes
from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.metadata.features import DIRECTORY_ASSIGNMENT, VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import assign_replicas_to_dirs_request as asked
from controller_runtime.protocol.messages import assign_replicas_to_dirs_response as answered


def assign_replicas(
    image: MetadataImage, request: asked.AssignReplicasToDirsRequest, context: RequestContext
) -> Pieces:
    """Raises Refused with UNSUPPORTED_VERSION or STALE_BROKER_EPOCH for the whole request."""
    if image.features.metadata_version < DIRECTORY_ASSIGNMENT:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    answer = _Answer(image, check_broker_epoch(image, request.broker_id, request.broker_epoch))
    records, _ = yield from written(answer.changes(request.directories), context.next_offset)
    return Decision(answered.AssignReplicasToDirsResponse(directories=tuple(answer.directories)), records, atomic=False)


class _Answer:
    """The answer under construction."""

    def __init__(self, image: MetadataImage, broker: BrokerRegistration) -> None:
        self._image = image
        self._broker = broker
        self._looked_at = 0
        self._lost: dict[tuple[Uuid, int], Found] = {}
        """What was put into a directory that is not online, each once, however often it was."""
        self.directories: list[answered.DirectoryData] = []

    def changes(self, directories: tuple[asked.DirectoryData, ...]) -> Changes:
        """The assignments, and then who leaves ISRs for a directory that is not online; a None wherever a piece may
        end.
        """
        for named in directories:
            topics = []
            for topic in named.topics:
                results: list[answered.PartitionData] = []
                yield from self._topic(DirectoryId(named.id), topic, results)
                topics.append(answered.TopicData(topic_id=topic.topic_id, partitions=tuple(results)))
            self.directories.append(answered.DirectoryData(id=named.id, topics=tuple(topics)))
        yield from leader_and_isr_changes(self._image, self._lost.values(), remove=self._broker.id)

    def _topic(self, directory: DirectoryId, named: asked.TopicData, results: list[answered.PartitionData]) -> Changes:
        topic = self._image.topics.get(named.topic_id)
        for each in named.partitions:
            error, record = self._one(directory, topic, each.partition_index)
            results.append(answered.PartitionData(partition_index=each.partition_index, error_code=error))
            if record is not None:
                yield record
            self._looked_at += 1
            if self._looked_at % PIECE_RECORDS == 0:
                yield None

    def _one(
        self, directory: DirectoryId, topic: TopicImage | None, index: int
    ) -> tuple[ErrorCode, VersionedRecord | None]:
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID, None
        partition = topic.partition(index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        if self._broker.id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, None
        if not self._broker.has_online_directory(directory):
            self._lost[topic.id, index] = topic, index, partition
        change = change_of(self._image, topic, index, partition)
        change.election = Election.ONLINE  # as Kafka's: what a topic allows is not asked here
        change.set_directory(self._broker.id, directory)
        return ErrorCode.NONE, change.build()
