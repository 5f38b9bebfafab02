"""CreatePartitions: a topic gets more partitions, each with as many replicas as its first one."""

from __future__ import annotations

from collections import Counter

from controller_runtime.answers.refused import Refused
from controller_runtime.answers.topic_names import MAX_PARTITIONS_PER_REQUEST
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces
from controller_runtime.controller.mutation_quota import UNLIMITED, MutationQuota
from controller_runtime.controller.patience import check_time
from controller_runtime.controller.placement import Below, check_replicas, place_replicas
from controller_runtime.controller.topics import Pausing, check_somebody_leads, new_partition
from controller_runtime.metadata.features import VersionedRecord, record_version
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.snapshot import partition_record
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_partitions_response import (
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from controller_runtime.protocol.messages.partition_record import PartitionRecord


def create_partitions(
    image: MetadataImage, request: CreatePartitionsRequest, below: Below, quota: MutationQuota = UNLIMITED
) -> Pieces:
    """Each topic is judged alone; all new partitions are one atomic batch. The pieces are empty."""
    times = Counter(topic.name for topic in request.topics)
    results = [
        _result(name, Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        for name, count in times.items()
        if count > 1
    ]
    if len(results) < len(times):
        check_time(request.timeout_ms)
    records: list[VersionedRecord] = []
    for topic in request.topics:
        if times[topic.name] > 1:
            continue
        found = image.topics.named(topic.name)
        if found is None:  # without words, as Kafka's
            nowhere = CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            results.append(nowhere)
            continue
        try:
            records += yield from _grown(image, found, topic, below, quota)
        except Refused as error:
            results.append(_result(topic.name, error))
        else:
            results.append(_result(topic.name))
        if len(records) > MAX_PARTITIONS_PER_REQUEST:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    answer = CreatePartitionsResponse(results=tuple(results))
    return Decision(answer, () if request.validate_only else tuple(records))


def _result(name: str, error: Refused | None = None) -> CreatePartitionsTopicResult:
    if error is None:
        return CreatePartitionsTopicResult(name=name)
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)


def _grown(
    image: MetadataImage, topic: TopicImage, wanted: CreatePartitionsTopic, below: Below, quota: MutationQuota
) -> Pausing[list[VersionedRecord]]:
    more = _additional(topic, wanted)
    quota.take(more)
    assignments = _assignments(image, topic, wanted, more, below)
    level = image.features.metadata_version
    version = record_version(PartitionRecord, level)
    records: list[VersionedRecord] = []
    for index, replicas in enumerate(assignments, topic.partition_count):
        partition = new_partition(image, replicas)
        records.append((partition_record(topic.id, index, partition, level), version))
        if len(records) % PIECE_RECORDS == 0:
            yield ()
    return records


def _additional(topic: TopicImage, wanted: CreatePartitionsTopic) -> int:
    present = topic.partition_count
    if wanted.count == present:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if wanted.count < present:
        why = f"The topic {topic.name} currently has {present} partition(s); {wanted.count} would not be an increase."
        raise Refused(ErrorCode.INVALID_PARTITIONS, why)
    more = wanted.count - present
    if wanted.assignments is not None and len(wanted.assignments) != more:
        why = (
            f"Attempted to add {more} additional partition(s), but only {len(wanted.assignments)} assignment(s) were "
            "specified."
        )
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    if more > MAX_PARTITIONS_PER_REQUEST:
        raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
    return more


def _assignments(
    image: MetadataImage, topic: TopicImage, wanted: CreatePartitionsTopic, more: int, below: Below
) -> list[list[int]]:
    first = topic.partition(0)
    if first is None:
        why = f"Invalid state: topic {topic.name} appears to have no partitions."
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, why)
    factor = len(first.replicas)
    if wanted.assignments is None:
        return place_replicas(image.cluster.brokers, more, factor, below)
    found = [list(assignment.broker_ids) for assignment in wanted.assignments]
    for index, replicas in enumerate(found, topic.partition_count):
        check_replicas(image, replicas, factor)
        check_somebody_leads(image, index, replicas)
    return found
