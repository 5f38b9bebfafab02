"""OffsetCommit, OffsetFetch, OffsetDelete: how far groups have read.

Topics that nobody knows are answered for one by one, before the group is asked. Version 10 names topics by id.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Final

from controller_runtime.coordinator import classic_requests as classic
from controller_runtime.coordinator.classic_group import ClassicGroup
from controller_runtime.coordinator.classic_members import CONSUMER
from controller_runtime.coordinator.classic_values import State
from controller_runtime.coordinator.consumer.group import ConsumerGroup
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, told_of
from controller_runtime.coordinator.offsets_records import Committed, OffsetPlace, OffsetRecord
from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.offsets import Committer, judge_commit
from controller_runtime.identifiers import ZERO_UUID, Instant, Uuid, WallClock
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
)
from controller_runtime.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from controller_runtime.protocol.messages.offset_delete_request import OffsetDeleteRequest
from controller_runtime.protocol.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

_FIRST_COMMIT_BY_ID: Final = 10
_AT_ONCE: Final = 100
"""Offsets of one batch: of a larger request each batch is judged and written for itself, so that no step is long."""
_UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_FIRST_COMMIT_OF_UNKNOWN_GROUPS: Final = 9
"""From this version on a group that is not there is called that."""
Answering = InPieces[Respond, list[Respond]]


def commit_offsets(
    groups: GroupCoordinator, event: RequestReceived, request: OffsetCommitRequest, now: Instant, wall: WallClock
) -> Answering:
    by_id = event.api_version >= _FIRST_COMMIT_BY_ID
    records: list[OffsetRecord] = []
    spots: list[tuple[int, int]] = []
    answers: list[OffsetCommitResponseTopic] = []
    wanted = False
    for topic_place, topic in enumerate(request.topics):
        known = _topic(groups, topic.name, topic.topic_id, by_id=by_id)
        codes: list[OffsetCommitResponsePartition] = []
        for part_place, each in enumerate(topic.partitions):
            error = _judge_partition(known, each, groups.settings.offset_metadata_max_bytes, by_id=by_id)
            wanted |= error in (ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE)
            if known is not None and not error:
                place = OffsetPlace(request.group_id, known.name, each.partition_index)
                records.append(OffsetRecord(place, _committed(request, each, known.id, wall)))
                spots.append((topic_place, part_place))
            codes.append(OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error))
            yield None
        answers.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=tuple(codes)))
    answer = OffsetCommitResponse(topics=tuple(answers))
    if not wanted:
        return [Respond(event.request_id, answer)]
    left: set[tuple[int, int]] = set()
    error = ErrorCode.NONE
    written: GroupPartition | None = None
    for first in range(0, max(1, len(records)), _AT_ONCE):
        some = records[first : first + _AT_ONCE]
        if not error:
            taken = _commit_some(groups, event.api_version, request, some, now=now, wall=wall)
            if isinstance(taken, ErrorCode):
                error = taken
            elif some:
                written = taken
        if error:
            left.update(spots[first : first + _AT_ONCE])
        yield from repeat(None, len(some))
    if error:
        answer = _refused(answer, error, left if written is not None else None)
    if written is None:
        return [Respond(event.request_id, answer)]
    return written.wait(Answer(event.request_id, request, answer), now)


def _commit_some(
    groups: GroupCoordinator,
    version: int,
    request: OffsetCommitRequest,
    records: list[OffsetRecord],
    *,
    now: Instant,
    wall: WallClock,
) -> GroupPartition | ErrorCode:
    """One batch of them, if the group takes it now: where it is written."""
    found = groups.find(request.group_id)
    if isinstance(found, ErrorCode):
        return found
    if request.group_id in found.shares.by_id:
        return ErrorCode.GROUP_ID_NOT_FOUND
    consumers, streams = found.consumers.get(request.group_id), found.streams.by_id.get(request.group_id)
    if streams is not None:
        epoch = request.generation_id_or_member_epoch
        who = Committer(request.member_id, request.group_instance_id, epoch, version)
        error = judge_commit(streams, who, [(each.place.topic, each.place.partition) for each in records])
    elif consumers is None:
        error = _judge_group(found, request, version)
    else:
        error = _judge_member(consumers, request, version, records)
    if error:
        return error
    if consumers is None and streams is None:
        classic.has_committed(found.group_of(request.group_id), request.member_id, now)
    error = found.append(records, wall) if records else ErrorCode.NONE
    return told_of(error) if error else found


def _topic(groups: GroupCoordinator, name: str, topic_id: Uuid, *, by_id: bool) -> TopicImage | None:
    topics = groups.topic.image.topics
    return topics.get(topic_id) if by_id else topics.named(name)


def _judge_partition(
    topic: TopicImage | None, wanted: OffsetCommitRequestPartition, most_bytes: int, *, by_id: bool
) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not 0 <= wanted.partition_index < topic.partition_count:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # Kafka counts UTF-16 units, whatever the configuration's name says.
    units = len((wanted.committed_metadata or "").encode("utf-16-be", "surrogatepass")) // 2
    return ErrorCode.OFFSET_METADATA_TOO_LARGE if units > most_bytes else ErrorCode.NONE


def _judge_group(partition: GroupPartition, request: OffsetCommitRequest, version: int) -> ErrorCode:
    group, generation = partition.groups.get(request.group_id), request.generation_id_or_member_epoch
    if group is not None:
        return classic.judge_commit(group, request.member_id, request.group_instance_id, generation)
    if generation < 0:
        return ErrorCode.NONE
    is_named = version >= _FIRST_COMMIT_OF_UNKNOWN_GROUPS
    return ErrorCode.GROUP_ID_NOT_FOUND if is_named else ErrorCode.ILLEGAL_GENERATION


def _judge_member(
    group: ConsumerGroup, request: OffsetCommitRequest, version: int, records: Iterable[OffsetRecord]
) -> ErrorCode:
    """Of a group of the consumer protocol: by its epoch, or by those at which the partitions were assigned to it."""
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    member = group.members.get(request.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.classic is None and version < _FIRST_COMMIT_OF_UNKNOWN_GROUPS:
        return ErrorCode.UNSUPPORTED_VERSION
    stale = ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
    if epoch == member.epoch:
        return ErrorCode.NONE
    if epoch > member.epoch:
        return stale
    for each in records:
        topic_id = ZERO_UUID if each.committed is None else each.committed.topic_id
        since = member.epoch_of(topic_id, each.place.partition)
        if since is None or epoch < since:
            return stale
    return ErrorCode.NONE


def _committed(
    request: OffsetCommitRequest, each: OffsetCommitRequestPartition, topic_id: Uuid, wall: WallClock
) -> Committed:
    kept = request.retention_time_ms
    return Committed(
        each.committed_offset,
        each.committed_leader_epoch,
        each.committed_metadata or "",
        wall,
        expire_timestamp=-1 if kept < 0 else wall + kept,
        topic_id=topic_id,
    )


def _refused(answer: OffsetCommitResponse, error: ErrorCode, left: set[tuple[int, int]] | None) -> OffsetCommitResponse:
    """What was refused for its topic stays refused for that. `left`: what is not written, by its place in the answer;
    None: nothing is.
    """
    topics: list[OffsetCommitResponseTopic] = []
    for topic_place, topic in enumerate(answer.topics):
        partitions = tuple(
            OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
            if each.error_code not in _UNKNOWN and (left is None or (topic_place, place) in left)
            else each
            for place, each in enumerate(topic.partitions)
        )
        topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return OffsetCommitResponse(topics=tuple(topics))


def delete_offsets(
    groups: GroupCoordinator, event: RequestReceived, request: OffsetDeleteRequest, now: Instant, wall: WallClock
) -> Answering:
    image = groups.topic.image
    found = groups.find(request.group_id) if request.group_id else ErrorCode.INVALID_GROUP_ID
    if isinstance(found, ErrorCode):
        return [Respond(event.request_id, refusal(request, found))]
    group_id = request.group_id
    group = found.consumers.get(group_id) or found.streams.by_id.get(group_id) or found.groups.get(group_id)
    error = _judge_deletion(group)
    if error or group is None:
        return [Respond(event.request_id, refusal(request, error))]
    records: list[OffsetRecord] = []
    answers: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        known = image.topics.named(topic.name)
        codes: list[OffsetDeleteResponsePartition] = []
        for each in topic.partitions:
            place = OffsetPlace(request.group_id, topic.name, each.partition_index)
            if known is None or not 0 <= each.partition_index < known.partition_count:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif is_subscribed(group, topic.name):
                code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            else:
                code = ErrorCode.NONE
                if found.offsets.newest(place) is not None or found.offsets.is_pending(place):
                    records.append(OffsetRecord(place, None))
            codes.append(OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=code))
            yield None
        if codes:
            answers.append(OffsetDeleteResponseTopic(name=topic.name, partitions=tuple(codes)))
    answer = OffsetDeleteResponse(topics=tuple(answers))
    found = groups.find(request.group_id)
    error = found if isinstance(found, ErrorCode) else ErrorCode.NONE
    records = _each_once(records)
    for first in range(0, len(records), _AT_ONCE):
        if not error and not isinstance(found, ErrorCode):
            error = told_of(found.append(records[first : first + _AT_ONCE], wall))
        yield from repeat(None, min(_AT_ONCE, len(records)))
    if error or isinstance(found, ErrorCode):
        return [Respond(event.request_id, refusal(request, error))]
    if not records:
        return [Respond(event.request_id, answer)]
    return found.wait(Answer(event.request_id, request, answer), now)


def _judge_deletion(group: ClassicGroup | ConsumerGroup | StreamsGroup | None) -> ErrorCode:
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if not isinstance(group, ClassicGroup):
        return ErrorCode.NONE
    is_other = group.state is not State.EMPTY and group.protocol_type != CONSUMER
    return ErrorCode.NON_EMPTY_GROUP if is_other else ErrorCode.NONE


def is_subscribed(group: ClassicGroup | ConsumerGroup | StreamsGroup, topic: str) -> bool:
    """Of consumers whose words cannot be read nobody knows what they want."""
    if not isinstance(group, ClassicGroup):
        return group.reads(topic)
    return topic in group.subscribed if group.subscribed is not None else True


def _each_once(records: Iterable[OffsetRecord]) -> list[OffsetRecord]:
    return list({each.place: each for each in records}.values())
