"""OffsetFetch: what groups have committed, as far as it is committed in the log.

Up to version 7 a request asks for one group, later for several; up to version 9 topics have names, later ids. Who wants
stable offsets (`require_stable`) is told of those that a transaction may still change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.offsets_records import Committed, OffsetPlace
from controller_runtime.coordinator.streams.offsets import judge_fetch
from controller_runtime.identifiers import ZERO_UUID, Instant, Uuid, WallClock
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestReceived
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from controller_runtime.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from controller_runtime.values import dataclass

FIRST_VERSION_OF_SEVERAL: Final = 8
_FIRST_VERSION_WITH_MEMBERS: Final = 9
_FIRST_VERSION_BY_ID: Final = 10
_FIRST_VERSION_WITH_ALL: Final = 2
"""From this version on no topics mean all of them, and an error can stand at the top."""
_NONE: Final = Committed(-1, -1, "")
Answering = InPieces[Respond, list[Respond]]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A topic of a request; `name` is None if nobody knows its id."""

    name: str | None
    topic_id: Uuid
    indexes: tuple[int, ...]


def fetch_offsets(
    groups: GroupCoordinator, event: RequestReceived, request: OffsetFetchRequest, now: Instant, wall: WallClock
) -> Answering:
    del now, wall
    version = event.api_version
    if version >= FIRST_VERSION_OF_SEVERAL:
        answers: list[OffsetFetchResponseGroup] = []
        for each in request.groups:
            wanted = None if each.topics is None else _named(groups, each, version)
            error = _judge(groups, each, version)
            if error:
                answers.append(OffsetFetchResponseGroup(group_id=each.group_id, error_code=error))
            else:
                answers.append((yield from _of_group(groups, each.group_id, wanted, request, version)))
        return [Respond(event.request_id, OffsetFetchResponse(groups=tuple(answers)))]
    if request.topics is None:
        wanted = None
    else:
        wanted = [_Wanted(topic.name, ZERO_UUID, topic.partition_indexes) for topic in request.topics]
    found = yield from _of_group(groups, request.group_id, wanted, request, version)
    if found.error_code and version < _FIRST_VERSION_WITH_ALL:
        return [Respond(event.request_id, refusal(request, ErrorCode(found.error_code)))]
    return [Respond(event.request_id, _as_one(found))]


def _judge(groups: GroupCoordinator, group: OffsetFetchRequestGroup, version: int) -> ErrorCode:
    """Members of the consumer protocol say who they are, and their epoch."""
    found = groups.find(group.group_id)
    if isinstance(found, ErrorCode):
        return ErrorCode.NONE
    streams = found.streams.by_id.get(group.group_id)
    if version >= _FIRST_VERSION_WITH_MEMBERS and streams is not None:
        return judge_fetch(streams, group.member_id, group.member_epoch)
    consumers = found.consumers.get(group.group_id)
    is_nobody = group.member_id is None and group.member_epoch < 0
    if version < _FIRST_VERSION_WITH_MEMBERS or consumers is None or is_nobody:
        return ErrorCode.NONE
    member = consumers.members.get(group.member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.member_epoch == member.epoch:
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION


def _named(groups: GroupCoordinator, group: OffsetFetchRequestGroup, version: int) -> list[_Wanted]:
    topics = groups.topic.image.topics
    wanted: list[_Wanted] = []
    for topic in group.topics or ():
        if version < _FIRST_VERSION_BY_ID:
            wanted.append(_Wanted(topic.name, ZERO_UUID, topic.partition_indexes))
        else:
            known = topics.get(topic.topic_id)
            wanted.append(_Wanted(None if known is None else known.name, topic.topic_id, topic.partition_indexes))
    return wanted


def _of_group(
    groups: GroupCoordinator, group_id: str, wanted: list[_Wanted] | None, request: OffsetFetchRequest, version: int
) -> InPieces[Respond, OffsetFetchResponseGroup]:
    found = groups.find(group_id)
    if isinstance(found, ErrorCode):
        return OffsetFetchResponseGroup(group_id=group_id, error_code=found)
    if wanted is None:
        wanted = yield from _all(groups, found, group_id, version)
    topics: list[OffsetFetchResponseTopics] = []
    for topic in wanted:
        partitions: list[OffsetFetchResponsePartitions] = []
        for index in topic.indexes:
            partitions.append(_one(found, group_id, topic, index, stable=request.require_stable))
            yield None
        topics.append(
            OffsetFetchResponseTopics(name=topic.name or "", topic_id=topic.topic_id, partitions=tuple(partitions))
        )
    return OffsetFetchResponseGroup(group_id=group_id, topics=tuple(topics))


def _all(
    groups: GroupCoordinator, partition: GroupPartition, group_id: str, version: int
) -> InPieces[Respond, list[_Wanted]]:
    """Everything that the group has committed; by id only what is there still."""
    indexes: dict[str, list[int]] = {}
    for name, index in partition.offsets.keys_of(group_id):
        if partition.offsets.shown(OffsetPlace(group_id, name, index)) is not None:
            indexes.setdefault(name, []).append(index)
        yield None
    wanted: list[_Wanted] = []
    for name, found in indexes.items():
        known = groups.topic.image.topics.named(name)
        if version < _FIRST_VERSION_BY_ID:
            wanted.append(_Wanted(name, ZERO_UUID, tuple(found)))
        elif known is not None:
            wanted.append(_Wanted(name, known.id, tuple(found)))
    return wanted


def _one(
    partition: GroupPartition, group_id: str, topic: _Wanted, index: int, *, stable: bool
) -> OffsetFetchResponsePartitions:
    error = ErrorCode.NONE
    found: Committed | None = None
    if topic.name is None:
        error = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        place = OffsetPlace(group_id, topic.name, index)
        if stable and partition.offsets.is_pending(place):
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
        else:
            found = partition.offsets.shown(place)
    if found is not None and ZERO_UUID not in (found.topic_id, topic.topic_id) and found.topic_id != topic.topic_id:
        found = None  # It was committed for an older topic of this name.
    shown = found or _NONE
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=shown.offset,
        committed_leader_epoch=shown.leader_epoch,
        metadata=shown.metadata,
        error_code=error,
    )


def _as_one(found: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """The answer of a version that asks for one group."""
    return OffsetFetchResponse(
        error_code=found.error_code,
        topics=tuple(
            OffsetFetchResponseTopic(name=topic.name, partitions=tuple(_each_as_one(topic.partitions)))
            for topic in found.topics
        ),
    )


def _each_as_one(partitions: Iterable[OffsetFetchResponsePartitions]) -> Iterable[OffsetFetchResponsePartition]:
    return (
        OffsetFetchResponsePartition(
            partition_index=each.partition_index,
            committed_offset=each.committed_offset,
            committed_leader_epoch=each.committed_leader_epoch,
            metadata=each.metadata,
            error_code=each.error_code,
        )
        for each in partitions
    )
