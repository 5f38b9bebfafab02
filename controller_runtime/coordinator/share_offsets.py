"""AlterShareGroupOffsets and DeleteShareGroupOffsets, of share groups without members: where their states begin anew,
and topics that they forget. The answer leaves when share coordinators have answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.coordinator.consumer.refusal import Refused
from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.group_partition import GroupPartition
from controller_runtime.coordinator.log_waits import Answer, StatesGone, told_of
from controller_runtime.coordinator.share import states
from controller_runtime.coordinator.share.group import ShareGroup
from controller_runtime.coordinator.share.members import Shared
from controller_runtime.coordinator.share.values import AnswerLater, ShareChange, StatesWanted
from controller_runtime.coordinator.share_requests import is_enabled, is_of_others, known_group, unlike
from controller_runtime.coordinator.share_state.partition import WORDS
from controller_runtime.identifiers import ZERO_UUID, Instant, Uuid, WallClock
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId, RequestReceived
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
)
from controller_runtime.protocol.messages.alter_share_group_offsets_response import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from controller_runtime.protocol.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from controller_runtime.protocol.messages.delete_share_group_offsets_response import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_WORDS: Final = {
    **WORDS,
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    ErrorCode.UNSUPPORTED_VERSION: "The version of API is not supported.",
}
UNKNOWN_WORDS: Final = "This server does not host this topic-partition."
_NOT_EMPTY: Final = "The group is not empty."
_NOTHING: Final = "There is no offset information to delete."
Responds = list[Respond]
Place = tuple[Uuid, int]


def _found(groups: GroupCoordinator, group_id: str) -> GroupPartition:
    """Raises Refused."""
    if not is_enabled(groups):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if not group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    found = groups.find(group_id)
    if isinstance(found, ErrorCode):
        raise Refused(found)
    return found


def _judge_empty(group: ShareGroup) -> None:
    if group.members:
        raise Refused(ErrorCode.NON_EMPTY_GROUP, _NOT_EMPTY)


def alter_offsets(
    groups: GroupCoordinator, event: RequestReceived, request: AlterShareGroupOffsetsRequest, now: Instant,
    wall: WallClock,
) -> Responds:  # fmt: skip
    group_id = request.group_id
    try:
        partition = _found(groups, group_id)
        if is_of_others(partition, group_id):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, unlike(group_id))
        group = partition.shares.by_id.get(group_id) or ShareGroup(group_id)
        _judge_empty(group)
    except Refused as refused:
        return [_refused(event.request_id, request, refused)]
    topics = [(each, groups.topic.image.topics.named(each.topic_name)) for each in request.topics]
    body = AlterShareGroupOffsetsResponse(responses=tuple(_begun(each, topic) for each, topic in topics))
    offsets = {
        topic.id: {one.partition_index: one.start_offset for one in each.partitions if _has(topic, one.partition_index)}
        for each, topic in topics
        if topic is not None
    }
    asked = {topic.id: Shared(topic.name, frozenset(offsets[topic.id])) for _, topic in topics if topic is not None}
    if not any(offsets.values()):
        return [Respond(event.request_id, body)]
    world = partition.share_world(wall)
    error = partition.act(ShareChange(group_id, [states.begun(group, asked, world)]), now, wall)
    if error:
        return [Respond(event.request_id, refusal(request, told_of(error)))]
    later = AnswerLater(event.request_id, request, body)
    return partition.wait(StatesWanted(group_id, group.epoch, offsets, later), now)


def _refused(request_id: RequestId, request: Message, why: Refused) -> Respond:
    return Respond(request_id, refusal(request, why.code, why.words or _WORDS.get(why.code)))


def _has(topic: TopicImage, index: int) -> bool:
    return 0 <= index < topic.partition_count


def _begun(asked: AlterShareGroupOffsetsRequestTopic, topic: TopicImage | None) -> AlterShareGroupOffsetsResponseTopic:
    def one(index: int) -> AlterShareGroupOffsetsResponsePartition:
        if topic is not None and _has(topic, index):
            return AlterShareGroupOffsetsResponsePartition(partition_index=index)
        return AlterShareGroupOffsetsResponsePartition(
            partition_index=index, error_code=_UNKNOWN, error_message=UNKNOWN_WORDS
        )

    return AlterShareGroupOffsetsResponseTopic(
        topic_name=asked.topic_name,
        topic_id=ZERO_UUID if topic is None else topic.id,
        partitions=tuple(one(each.partition_index) for each in asked.partitions),
    )


def altered(later: AnswerLater, results: Mapping[Place, Any]) -> Respond:
    """Share coordinators have answered for these partitions."""
    topics = []
    for topic in later.body.responses:
        parts = []
        for each in topic.partitions:
            said = results.get((topic.topic_id, each.partition_index))
            if said is not None and said.error_code:
                each = replace(each, error_code=said.error_code, error_message=said.error_message)
            parts.append(each)
        topics.append(replace(topic, partitions=tuple(parts)))
    return Respond(later.request_id, replace(later.body, responses=tuple(topics)))


def delete_offsets(
    groups: GroupCoordinator, event: RequestReceived, request: DeleteShareGroupOffsetsRequest, now: Instant,
    wall: WallClock,
) -> Responds:  # fmt: skip
    try:
        partition = _found(groups, request.group_id)
        group = known_group(partition, request.group_id)
        _judge_empty(group)
    except Refused as refused:
        return [_refused(event.request_id, request, refused)]
    image, topics = groups.topic.image, group.topics
    said: list[DeleteShareGroupOffsetsResponseTopic] = []
    gone: dict[Uuid, frozenset[int]] = {}
    for each in request.topics:
        topic = image.topics.named(each.topic_name)
        if topic is not None and topic.id in topics.initialized:
            gone[topic.id] = topics.initialized[topic.id].partitions
        elif topic is not None and topic.id in topics.deleting:
            gone[topic.id] = frozenset(range(topic.partition_count))
        else:
            words = UNKNOWN_WORDS if topic is None else _NOTHING
            said.append(
                DeleteShareGroupOffsetsResponseTopic(
                    topic_name=each.topic_name, error_code=_UNKNOWN, error_message=words
                )
            )
    body = DeleteShareGroupOffsetsResponse(responses=tuple(said))
    if not gone:
        return [Respond(event.request_id, body)]
    error = partition.act(states.deleting(group, gone, partition.share_world(wall)), now, wall)
    if error:
        return [Respond(event.request_id, refusal(request, told_of(error)))]
    later = AnswerLater(event.request_id, request, body)
    return partition.wait(StatesGone(request.group_id, gone, later), now)


def deleted(
    groups: GroupCoordinator, asked: StatesGone, results: Mapping[Place, Any], now: Instant, wall: WallClock
) -> Responds:
    """Share coordinators have answered: what they have forgotten is forgotten."""
    later = asked.told
    assert isinstance(later, AnswerLater), "it is of DeleteShareGroupOffsets"
    names = states.named(list(asked.partitions), groups.topic.image)
    said, done = list(later.body.responses), list[Uuid]()
    for topic_id, indexes in asked.partitions.items():
        failed = next((one for index in indexes if (one := results[topic_id, index]).error_code), None)
        if failed is None:
            done.append(topic_id)
            continue
        said.append(
            DeleteShareGroupOffsetsResponseTopic(
                topic_name=names[topic_id],
                topic_id=topic_id,
                error_code=failed.error_code,
                error_message=failed.error_message,
            )
        )
    found = groups.find(asked.group_id)
    group = None if isinstance(found, ErrorCode) else found.shares.by_id.get(asked.group_id)
    if isinstance(found, ErrorCode) or group is None:
        error = found if isinstance(found, ErrorCode) else ErrorCode.GROUP_ID_NOT_FOUND
        return [Respond(later.request_id, refusal(later.request, error))]
    said += (DeleteShareGroupOffsetsResponseTopic(topic_name=names[each], topic_id=each) for each in done)
    body = DeleteShareGroupOffsetsResponse(responses=tuple(said))
    if not done:
        return [Respond(later.request_id, body)]
    failure = found.act(states.deleted(group, done, found.share_world(wall)), now, wall)
    if failure:
        return [Respond(later.request_id, refusal(later.request, told_of(failure)))]
    return found.answered(Answer(later.request_id, later.request, body), now)
