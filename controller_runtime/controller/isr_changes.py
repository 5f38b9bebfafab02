"""AlterPartition (KIP-497, KIP-841): the leader of a partition says who is in sync with it.

The leader proposes, the controller judges with what the metadata log says: a proposal is refused when it was made of an
older state of the partition, by a broker that does not lead it, or names a replica that may not be in the ISR. A change
that completes a reassignment may take the leadership away from the broker that asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.controller.brokers import check_broker_epoch
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces, RequestContext, written
from controller_runtime.controller.partition_changes import change_of
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import RECOVERED, RECOVERING, Partition
from controller_runtime.metadata.replay import NO_LEADER_CHANGE, merge
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_request as asked
from controller_runtime.protocol.messages import alter_partition_response as answered
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord

_ANY_EPOCH = -1
"""Up to version 2 a leader does not say which incarnation of a replica it means."""
Proposed = tuple[tuple[int, int], ...]
"""Broker ids with their epochs."""


def alter_partitions(image: MetadataImage, request: asked.AlterPartitionRequest, context: RequestContext) -> Pieces:
    """Each partition is judged alone. Raises Refused with STALE_BROKER_EPOCH for the whole request."""
    check_broker_epoch(image, request.broker_id, request.broker_epoch)
    answer = _Answer(image, request.broker_id)
    records, _ = yield from written(answer.changes(request.topics), context.next_offset)
    return Decision(answered.AlterPartitionResponse(topics=tuple(answer.topics)), records, atomic=False)


class _Answer:
    """The answer under construction."""

    def __init__(self, image: MetadataImage, sender: int) -> None:
        self._image = image
        self._sender = sender
        self.topics: list[answered.TopicData] = []

    def changes(self, topics: tuple[asked.TopicData, ...]) -> Iterator[VersionedRecord | None]:
        """The records, and a None wherever a piece may end."""
        looked_at = 0
        for named in topics:
            topic = self._image.topics.get(named.topic_id)
            results: list[answered.PartitionData] = []
            for proposal in named.partitions:
                result, record = self._partition(topic, proposal)
                results.append(result)
                if record is not None:
                    yield record
                looked_at += 1
                if looked_at % PIECE_RECORDS == 0:
                    yield None
            self.topics.append(answered.TopicData(topic_id=named.topic_id, partitions=tuple(results)))

    def _partition(
        self, topic: TopicImage | None, proposal: asked.PartitionData
    ) -> tuple[answered.PartitionData, VersionedRecord | None]:
        index = proposal.partition_index
        if topic is None:
            return _refused(index, ErrorCode.UNKNOWN_TOPIC_ID), None
        partition = topic.partition(index)
        if partition is None:
            return _refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), None
        isr = _proposed(proposal)
        fault = self._fault(partition, proposal, isr)
        if fault is not None:
            return _refused(index, fault), None
        change = change_of(self._image, topic, index, partition)
        change.isr = tuple(broker for broker, _ in isr)
        change.recovery_state = proposal.leader_recovery_state
        made = change.build()
        if made is None:
            return _state(index, partition), None
        record = made[0]
        assert isinstance(record, PartitionChangeRecord), "that is what a change is"
        if record.leader not in (self._sender, NO_LEADER_CHANGE):
            return _refused(index, ErrorCode.NEW_LEADER_ELECTED), made
        return _state(index, merge(partition, record)), made

    def _fault(self, partition: Partition, proposal: asked.PartitionData, isr: Proposed) -> ErrorCode | None:
        """In Kafka's order. Whoever knows of a later state than this controller has to look for another one."""
        if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
            return ErrorCode.NOT_CONTROLLER
        if proposal.leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if self._sender != partition.leader:
            return ErrorCode.INVALID_REQUEST
        if proposal.partition_epoch < partition.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        brokers = [broker for broker, _ in isr]
        if len(set(brokers)) != len(brokers) or not set(brokers) <= set(partition.replicas):
            return ErrorCode.INVALID_REQUEST
        if partition.leader not in brokers:
            return ErrorCode.INVALID_REQUEST
        if proposal.leader_recovery_state not in (RECOVERED, RECOVERING):
            return ErrorCode.INVALID_REQUEST  # Java's controller resigns
        if proposal.leader_recovery_state == RECOVERING:
            if len(brokers) > 1 or partition.leader_recovery_state == RECOVERED:
                return ErrorCode.INVALID_REQUEST
        if not all(self._is_eligible(broker, epoch) for broker, epoch in isr):
            return ErrorCode.INELIGIBLE_REPLICA
        return None

    def _is_eligible(self, broker_id: int, epoch: int) -> bool:
        """Registered as this incarnation, unfenced, and not on its way out."""
        broker = self._image.cluster.brokers.get(NodeId(broker_id))
        if broker is None or broker.fenced or broker.in_controlled_shutdown:
            return False
        return epoch in (_ANY_EPOCH, broker.epoch)


def _proposed(proposal: asked.PartitionData) -> Proposed:
    if proposal.new_isr_with_epochs:
        return tuple((state.broker_id, state.broker_epoch) for state in proposal.new_isr_with_epochs)
    return tuple((broker, _ANY_EPOCH) for broker in proposal.new_isr)


def _refused(index: int, error: ErrorCode) -> answered.PartitionData:
    return answered.PartitionData(partition_index=index, error_code=error)


def _state(index: int, partition: Partition) -> answered.PartitionData:
    return answered.PartitionData(
        partition_index=index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=partition.isr,
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
