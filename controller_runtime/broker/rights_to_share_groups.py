"""What the authorizer says of requests about offsets of share groups: who looks needs Describe on the group and on
topics, who alters them Read on the group, who deletes them Delete, and these both Read on every topic that they name.
"""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.answers.rights.verdict import Judged, Judging, Refused, narrowed, parted
from controller_runtime.coordinator.share_requests import FEATURE
from controller_runtime.identifiers import ZERO_UUID
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
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
from controller_runtime.protocol.messages.describe_share_group_offsets_request import DescribeShareGroupOffsetsRequest
from controller_runtime.protocol.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_GROUP_WORDS: Final = "Group authorization failed."
_TOPIC_WORDS: Final = "Topic authorization failed."


def describe(judged: Judged, request: DescribeShareGroupOffsetsRequest) -> Judging:
    """Groups are answered in the order in which they are asked for."""
    if judged.image.features.level(FEATURE) < 1:
        return None
    said: dict[int, Any] = {}
    left: list[Any] = []
    hidden: list[tuple[Any, ...]] = []
    for place, group in enumerate(request.groups):
        yield None
        if not judged.asking.may(Operation.DESCRIBE, Resource.GROUP, group.group_id):
            said[place] = DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, error_code=_GROUP_DENIED)
        elif group.topics is None:
            left.append(group)
            hidden.append(())
        else:
            allowed, denied = yield from parted(group.topics, lambda topic: _may_describe(judged, topic.topic_name))
            left.append(replace(group, topics=tuple(allowed)))
            hidden.append(tuple(map(_hidden, denied)))

    def complete(answer: Message) -> Message:
        assert isinstance(answer, DescribeShareGroupOffsetsResponse), "it answers DescribeShareGroupOffsets"
        found = iter(zip(answer.groups, left, hidden, strict=True))
        groups: list[Any] = []
        for place in range(len(request.groups)):
            groups.append(said[place] if place in said else _seen(judged, *next(found)))
        return replace(answer, groups=tuple(groups))

    rest = replace(request, groups=tuple(left))
    return (yield from narrowed(request, rest, not left, complete, DescribeShareGroupOffsetsResponse()))


def _may_describe(judged: Judged, name: str) -> bool:
    return judged.asking.may(Operation.DESCRIBE, Resource.TOPIC, name)


def _seen(judged: Judged, group: Any, asked: Any, hidden: tuple[Any, ...]) -> Any:
    """Of all offsets those of topics that may be described."""
    if asked.topics is None:
        kept = (
            each for each in group.topics if judged.asking.could(Operation.DESCRIBE, Resource.TOPIC, each.topic_name)
        )
        return replace(group, topics=tuple(kept))
    return replace(group, topics=(*group.topics, *hidden))


def _hidden(topic: Any) -> DescribeShareGroupOffsetsResponseTopic:
    parts = tuple(
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, start_offset=-1, error_code=_TOPIC_DENIED, error_message=_TOPIC_WORDS
        )
        for index in topic.partitions
    )
    return DescribeShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=parts)


def alter(judged: Judged, request: AlterShareGroupOffsetsRequest) -> Judging:
    def denied(topic: Any) -> AlterShareGroupOffsetsResponseTopic:
        known = judged.image.topics.named(topic.topic_name)
        parts = tuple(
            AlterShareGroupOffsetsResponsePartition(
                partition_index=each.partition_index, error_code=_TOPIC_DENIED, error_message=_TOPIC_WORDS
            )
            for each in topic.partitions
        )
        return AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name, topic_id=ZERO_UUID if known is None else known.id, partitions=parts
        )

    return (yield from _judged(judged, request, Operation.READ, denied, AlterShareGroupOffsetsResponse()))


def delete(judged: Judged, request: DeleteShareGroupOffsetsRequest) -> Judging:
    def denied(topic: Any) -> DeleteShareGroupOffsetsResponseTopic:
        return DeleteShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name, error_code=_TOPIC_DENIED, error_message=_TOPIC_WORDS
        )

    return (yield from _judged(judged, request, Operation.DELETE, denied, DeleteShareGroupOffsetsResponse()))


def _judged(judged: Judged, request: Any, operation: Operation, refused: Any, empty: Message) -> Judging:
    if judged.image.features.level(FEATURE) < 1:
        return None
    if not judged.asking.may(operation, Resource.GROUP, request.group_id):
        return Refused(refusal(request, _GROUP_DENIED, _GROUP_WORDS))
    allowed, denied = yield from parted(
        request.topics, lambda topic: judged.asking.may(Operation.READ, Resource.TOPIC, topic.topic_name)
    )
    if not denied:
        return None
    said = tuple(refused(topic) for topic in denied)

    def complete(answer: Message) -> Message:
        whole: Any = answer
        if whole.error_code:
            return answer
        changed: Message = replace(whole, responses=(*said, *whole.responses))
        return changed

    return (yield from narrowed(request, replace(request, topics=tuple(allowed)), False, complete, empty))
