"""What the authorizer says of requests about groups of the consumer and the share protocol: members need Read on the
group, and Describe on every topic that they name; who looks needs Describe on the group and on all topics that it
would be shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from controller_runtime.answers.rights.verdict import Judged, Judging, Refused
from controller_runtime.coordinator import consumer_requests, share_requests
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED, Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.share_group_describe_response import ShareGroupDescribeResponse
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_Described = ConsumerGroupDescribeResponse | ShareGroupDescribeResponse
_HIDDEN: Final = "The group has described topic(s) that the client is not authorized to describe."


_FEATURES: Final[Mapping[type[Message], str]] = {
    ConsumerGroupHeartbeatRequest: consumer_requests.FEATURE,
    ConsumerGroupDescribeRequest: consumer_requests.FEATURE,
    ShareGroupHeartbeatRequest: share_requests.FEATURE,
    ShareGroupDescribeRequest: share_requests.FEATURE,
}


def _is_enabled(judged: Judged, request: Message) -> bool:
    """If not, everybody is told that first."""
    return judged.image.features.level(_FEATURES[type(request)]) >= 1


def heartbeat(judged: Judged, request: ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest) -> Judging:
    if not _is_enabled(judged, request):
        return None
    if not judged.asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return Refused(refusal(request, _GROUP_DENIED))
    may = True
    for name in dict.fromkeys(request.subscribed_topic_names or ()):
        may = judged.asking.may(Operation.DESCRIBE, Resource.TOPIC, name) and may
        yield None
    return None if may else Refused(refusal(request, _TOPIC_DENIED))


def describe(judged: Judged, request: ConsumerGroupDescribeRequest | ShareGroupDescribeRequest) -> Judging:
    if not _is_enabled(judged, request):
        return None
    may = partial(judged.asking.may, Operation.DESCRIBE, Resource.GROUP)
    allowed: list[str] = []
    denied: list[str] = []
    for group_id in request.group_ids:
        (allowed if may(group_id) else denied).append(group_id)
        yield None
    refused = refusal(replace(request, group_ids=tuple(denied)), _GROUP_DENIED)
    assert isinstance(refused, _Described), "it refuses what is asked"
    said: tuple[Any, ...] = refused.groups

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, _Described), "it answers what is asked"
        groups: list[Any] = []
        for each in answer.groups:
            groups.append((yield from _seen(judged, each)))
        whole: Any = answer
        described: Message = replace(whole, groups=(*said, *groups))
        return described

    return Narrowed(request, replace(request, group_ids=tuple(allowed)), complete)


def _seen(judged: Judged, group: Any) -> InPieces[NoReturn, Any]:
    may = True
    for name in dict.fromkeys(_topics_of(group)):
        may = may and judged.asking.could(Operation.DESCRIBE, Resource.TOPIC, name)
        yield None
    if not may:
        return type(group)(group_id=group.group_id, error_code=_TOPIC_DENIED, error_message=_HIDDEN)
    bits = group.authorized_operations
    if bits != NOT_ASKED:
        bits = judged.asking.operations(ALL_OF_GROUP, Resource.GROUP, group.group_id)
    return replace(group, authorized_operations=bits)


def _topics_of(group: Any) -> Iterator[str]:
    """Members of share groups have no target of their own."""
    for member in group.members:
        for assignment in (member.assignment, getattr(member, "target_assignment", None)):
            for topic in () if assignment is None else assignment.topic_partitions:
                yield topic.topic_name
