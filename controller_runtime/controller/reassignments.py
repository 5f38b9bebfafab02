"""Partitions that exchange their replicas (KIP-455): what is started, superseded, cancelled, and what is under way.

A reassignment adds the new replicas to the old ones; when the new ones are in sync, an AlterPartition of the leader
completes it (`partition_changes`). Another target supersedes the first, and cancelling takes out what was being added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces
from controller_runtime.controller.partition_changes import TopicRules, change_of
from controller_runtime.controller.patience import check_time
from controller_runtime.controller.placement import check_replicas
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_reassignments_request as asked
from controller_runtime.protocol.messages import alter_partition_reassignments_response as answered
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def list_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Those of the named partitions, or of all; what does not exist is left out, as Kafka does."""
    topics = []
    for topic, wanted in _asked(image, request):
        found = tuple(
            _ongoing(index, partition) for index, partition in topic.reassigning() if wanted is None or index in wanted
        )
        if found:
            topics.append(OngoingTopicReassignment(name=topic.name, partitions=found))
    return ListPartitionReassignmentsResponse(error_message=None, topics=tuple(topics))


def _asked(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> Iterator[tuple[TopicImage, frozenset[int] | None]]:
    if request.topics is None:
        yield from ((topic, None) for topic in image.topics)
        return
    for named in request.topics:
        topic = image.topics.named(named.name)
        if topic is not None:
            yield topic, frozenset(named.partition_indexes)


def _ongoing(index: int, partition: Partition) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=index,
        replicas=partition.replicas,
        adding_replicas=partition.adding_replicas,
        removing_replicas=partition.removing_replicas,
    )


MAX_RECORDS: Final = 10_000
"""Kafka's bound for the records of one request."""


def alter_reassignments(image: MetadataImage, request: asked.AlterPartitionReassignmentsRequest) -> Pieces:
    """Each partition is judged alone; what is granted is one atomic batch. The pieces are empty."""
    if not request.topics:
        return Decision(answered.AlterPartitionReassignmentsResponse())
    check_time(request.timeout_ms)
    records: list[VersionedRecord] = []
    topics: list[answered.ReassignableTopicResponse] = []
    looked_at = 0
    may_change_factor = request.allow_replication_factor_change
    for named in request.topics:
        results: list[answered.ReassignablePartitionResponse] = []
        for wanted in named.partitions:
            try:
                record = _altered(image, named.name, wanted, may_change_factor=may_change_factor)
            except Refused as error:
                results.append(_result(wanted, error))
            else:
                results.append(_result(wanted))
                records += [] if record is None else [record]
            looked_at += 1
            if looked_at % PIECE_RECORDS == 0:
                yield ()
        topics.append(answered.ReassignableTopicResponse(name=named.name, partitions=tuple(results)))
    if len(records) > MAX_RECORDS:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    answer = answered.AlterPartitionReassignmentsResponse(
        error_message=None, allow_replication_factor_change=may_change_factor, responses=tuple(topics)
    )
    return Decision(answer, tuple(records))


def _result(
    wanted: asked.ReassignablePartition, error: Refused | None = None
) -> answered.ReassignablePartitionResponse:
    return answered.ReassignablePartitionResponse(
        partition_index=wanted.partition_index,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
    )


def _altered(
    image: MetadataImage, name: str, wanted: asked.ReassignablePartition, *, may_change_factor: bool
) -> VersionedRecord | None:
    topic = image.topics.named(name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    index = wanted.partition_index
    partition = topic.partition(index)
    if partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    if wanted.replicas is None:
        return _cancelled(image, topic, index, partition)
    return _started(image, topic, index, partition, wanted.replicas, may_change_factor=may_change_factor)


def _cancelled(image: MetadataImage, topic: TopicImage, index: int, partition: Partition) -> VersionedRecord | None:
    if not partition.adding_replicas and not partition.removing_replicas:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    stay = tuple(replica for replica in partition.replicas if replica not in partition.adding_replicas)
    in_sync = tuple(replica for replica in partition.isr if replica not in partition.adding_replicas)
    if not stay:
        why = "Invalid replica assignment: addingReplicas contains all replicas."
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    rules = TopicRules.of(image, topic)
    if not in_sync and not rules.unclean_election:
        why = (
            f"Unable to revert partition assignment for {topic.name}:{index} because it would require an unclean "
            "leader election."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    change = change_of(image, topic, index, partition, rules)
    change.replicas, change.isr = stay, in_sync or stay[:1]
    change.removing, change.adding = (), ()
    return change.build()


def _started(
    image: MetadataImage,
    topic: TopicImage,
    index: int,
    partition: Partition,
    target: tuple[int, ...],
    *,
    may_change_factor: bool,
) -> VersionedRecord | None:
    check_replicas(image, target)
    if not may_change_factor:
        _check_factor(partition, target)
    removing = tuple(sorted({*partition.replicas} - {*target}))
    adding = tuple(sorted({*target} - {*partition.replicas}))
    change = change_of(image, topic, index, partition)
    change.replicas = (*target, *removing)
    # Those of a reassignment under way stay, where the new target has none: as Kafka's.
    change.removing, change.adding = removing or change.removing, adding or change.adding
    return change.build()


def _check_factor(partition: Partition, target: tuple[int, ...]) -> None:
    """How many replicas it would have if the reassignment under way were complete."""
    present = len({*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas})
    if present != len(target):
        why = f"The replication factor is changed from {present} to {len(target)}"
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why)
