"""What the authorizer says of requests about streams groups: members need Read on the group, and Describe on
every topic of the topology that they tell; who looks needs Describe on the group and on all topics of its topology.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final, NoReturn

from controller_runtime.answers.rights.verdict import Judged, Judging, Refused
from controller_runtime.coordinator.consumer.refusal import Refused as Fault
from controller_runtime.coordinator.streams.judging import judge_names
from controller_runtime.coordinator.streams.topology import names_in
from controller_runtime.coordinator.streams_requests import FEATURE
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.authorized_operations import ALL_OF_GROUP, NOT_ASKED, Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.streams_group_describe_request import StreamsGroupDescribeRequest
from controller_runtime.protocol.messages.streams_group_describe_response import (
    DescribedGroup,
    StreamsGroupDescribeResponse,
)
from controller_runtime.protocol.messages.streams_group_heartbeat_request import StreamsGroupHeartbeatRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
_TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_HIDDEN: Final = "The described group uses topics that the client is not authorized to describe."


def _is_enabled(judged: Judged) -> bool:
    """If not, everybody is told that first."""
    return judged.image.features.level(FEATURE) >= 1


def heartbeat(judged: Judged, request: StreamsGroupHeartbeatRequest) -> Judging:
    if not _is_enabled(judged):
        return None
    if not judged.asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return Refused(refusal(request, _GROUP_DENIED))
    if request.topology is None:
        return None
    try:
        judge_names(request.topology)
    except Fault:
        return None  # He is told that these are no topics of a topology.
    may = True
    for name in names_in(request.topology):
        may = judged.asking.may(Operation.DESCRIBE, Resource.TOPIC, name) and may
        yield None
    return None if may else Refused(refusal(request, _TOPIC_DENIED))


def describe(judged: Judged, request: StreamsGroupDescribeRequest) -> Judging:
    if not _is_enabled(judged):
        return None
    may = partial(judged.asking.may, Operation.DESCRIBE, Resource.GROUP)
    allowed: list[str] = []
    denied: list[str] = []
    for group_id in request.group_ids:
        (allowed if may(group_id) else denied).append(group_id)
        yield None
    said = tuple(DescribedGroup(group_id=each, error_code=_GROUP_DENIED) for each in denied)

    def complete(answer: Message) -> InPieces[NoReturn, Message]:
        assert isinstance(answer, StreamsGroupDescribeResponse), "it answers what is asked"
        groups: list[DescribedGroup] = []
        for each in answer.groups:
            groups.append((yield from _seen(judged, each)))
        return replace(answer, groups=(*said, *groups))

    return Narrowed(request, replace(request, group_ids=tuple(allowed)), complete)


def _seen(judged: Judged, group: DescribedGroup) -> InPieces[NoReturn, DescribedGroup]:
    may = True
    for name in dict.fromkeys(_topics_of(group)):
        may = may and judged.asking.could(Operation.DESCRIBE, Resource.TOPIC, name)
        yield None
    if not may:
        return DescribedGroup(group_id=group.group_id, error_code=_TOPIC_DENIED, error_message=_HIDDEN)
    bits = group.authorized_operations
    if bits != NOT_ASKED:
        bits = judged.asking.operations(ALL_OF_GROUP, Resource.GROUP, group.group_id)
    return replace(group, authorized_operations=bits)


def _topics_of(group: DescribedGroup) -> Iterator[str]:
    topology = group.topology
    for each in () if topology is None else topology.subtopologies or ():
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (one.name for one in each.repartition_source_topics)
        yield from (one.name for one in each.state_changelog_topics)
