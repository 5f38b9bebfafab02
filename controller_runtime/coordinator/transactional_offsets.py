"""TxnOffsetCommit: offsets that count when the transaction of their producer is committed.

The group judges who commits as it does without a transaction, but for members of a rebalance that is under way; as in
Kafka a member of another epoch is told ILLEGAL_GENERATION.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any, Final

from controller_runtime.coordinator import classic_requests as classic
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, told_of
from controller_runtime.coordinator.offsets_records import Committed, OffsetPlace, OffsetRecord
from controller_runtime.coordinator.streams.offsets import Committer, judge_commit
from controller_runtime.identifiers import ZERO_UUID, Instant, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
)
from controller_runtime.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from controller_runtime.values import replace

_AT_ONCE: Final = 100
"""Offsets of one batch, so that no step is long."""
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def commit_offsets(
    groups: GroupCoordinator,
    event: RequestReceived,
    request: TxnOffsetCommitRequest,
    verification: Any,
    *,
    now: Instant,
    wall: WallClock,
) -> InPieces[Respond, list[Respond]]:
    """`verification`: what the log's leader has noted of the transaction, or why it is not to be written to."""
    records: list[OffsetRecord] = []
    topics: list[TxnOffsetCommitResponseTopic] = []
    for topic in request.topics:
        known = groups.topic.image.topics.named(topic.name)
        codes: list[TxnOffsetCommitResponsePartition] = []
        for each in topic.partitions:
            yield None
            if known is None or not 0 <= each.partition_index < known.partition_count:
                code = _UNKNOWN
            elif _units(each) > groups.settings.offset_metadata_max_bytes:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                code = ErrorCode.NONE
                place = OffsetPlace(request.group_id, topic.name, each.partition_index)
                committed = Committed(
                    each.committed_offset, each.committed_leader_epoch, each.committed_metadata or "", wall,
                    topic_id=known.id,
                )  # fmt: skip
                records.append(OffsetRecord(place, committed))
            codes.append(TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code))
        topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=tuple(codes)))
    answer = TxnOffsetCommitResponse(topics=tuple(topics))
    if not any(code.error_code != _UNKNOWN for topic in topics for code in topic.partitions):
        return [Respond(event.request_id, answer)]
    found: GroupPartition | ErrorCode | None = verification if isinstance(verification, ErrorCode) else None
    if found is None:
        found = yield from _written(groups, request, records, verification, now=now, wall=wall)
    if isinstance(found, ErrorCode):
        return [Respond(event.request_id, (yield from _refused(answer, found)))]
    if not records:
        return [Respond(event.request_id, answer)]
    return found.wait(Answer(event.request_id, request, answer), now)


def _units(each: TxnOffsetCommitRequestPartition) -> int:
    """Kafka counts UTF-16 units."""
    return len((each.committed_metadata or "").encode("utf-16-be", "surrogatepass")) // 2


def _written(
    groups: GroupCoordinator,
    request: TxnOffsetCommitRequest,
    records: list[OffsetRecord],
    verification: Any,
    *,
    now: Instant,
    wall: WallClock,
) -> InPieces[Respond, GroupPartition | ErrorCode]:
    """A batch for each few: the first one begins the transaction here, the others are of one that is open."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    found = groups.find(request.group_id)
    if isinstance(found, ErrorCode):
        return found
    error = _judge(found, request, records)
    if error:
        return error
    if request.group_id not in found.consumers and request.group_id not in found.streams.by_id:
        classic.has_committed(found.group_of(request.group_id), request.member_id, now)
    for first in range(0, len(records), _AT_ONCE):
        some = records[first : first + _AT_ONCE]
        error = found.append_pending(some, request.producer_id, request.producer_epoch, wall, verification)
        if error:
            return told_of(error)
        yield from repeat(None, len(some))
    return found


def _judge(partition: GroupPartition, request: TxnOffsetCommitRequest, records: list[OffsetRecord]) -> ErrorCode:
    group, generation, member_id = partition.groups.get(request.group_id), request.generation_id, request.member_id
    consumers = partition.consumers.get(request.group_id)
    if request.group_id in partition.shares.by_id:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if consumers is not None:
        return _judge_member(consumers, request, records)
    streams = partition.streams.by_id.get(request.group_id)
    if streams is not None:
        who = Committer(member_id, request.group_instance_id, generation, None)
        return judge_commit(streams, who, [(each.place.topic, each.place.partition) for each in records])
    if group is None:
        return ErrorCode.NONE if generation < 0 else ErrorCode.ILLEGAL_GENERATION
    return classic.judge_commit(group, member_id, request.group_instance_id, generation, in_transaction=True)


def _judge_member(group: ConsumerGroup, request: TxnOffsetCommitRequest, records: list[OffsetRecord]) -> ErrorCode:
    """Of a group of the consumer protocol: by its epoch, or by those at which the partitions were assigned to it."""
    epoch = request.generation_id
    names_nobody = not request.member_id and request.group_instance_id is None
    if epoch < 0 and (not group.members or names_nobody):
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch == member.epoch:
        return ErrorCode.NONE
    for each in records if epoch < member.epoch else ():
        topic_id = ZERO_UUID if each.committed is None else each.committed.topic_id
        since = member.epoch_of(topic_id, each.place.partition)
        if since is None or epoch < since:
            return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE if epoch < member.epoch else ErrorCode.ILLEGAL_GENERATION


def _refused(answer: TxnOffsetCommitResponse, error: ErrorCode) -> InPieces[Respond, TxnOffsetCommitResponse]:
    topics: list[TxnOffsetCommitResponseTopic] = []
    for topic in answer.topics:
        codes: list[TxnOffsetCommitResponsePartition] = []
        for each in topic.partitions:
            codes.append(each if each.error_code == _UNKNOWN else replace(each, error_code=error))
            yield None
        topics.append(replace(topic, partitions=tuple(codes)))
    return TxnOffsetCommitResponse(topics=tuple(topics))
