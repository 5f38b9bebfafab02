"""DescribeShareGroupOffsets: where share groups are in partitions, by what their leaders have kept at the share
coordinator, and how much of each partition is still to be read.

Nothing is asked of the group but its topics, if the request names none: so a group that is not there has no offsets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller_runtime.coordinator.coordinator import GroupCoordinator
from controller_runtime.coordinator.share_requests import is_enabled
from controller_runtime.coordinator.share_state.partition import WORDS
from controller_runtime.coordinator.share_state.values import NO_COUNT, UNKNOWN_OFFSET
from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequestGroup,
)
from controller_runtime.protocol.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from controller_runtime.values import dataclass, field

Place = tuple[Uuid, int]
_NO_LAG: Final = -1


@dataclass(slots=True, eq=False)
class Described:
    """An answer whose groups become known one by one."""

    request_id: RequestId
    groups: list[DescribeShareGroupOffsetsResponseGroup | None] = field(default_factory=list)

    def put(self, place: int, group: DescribeShareGroupOffsetsResponseGroup) -> list[Respond]:
        self.groups[place] = group
        return self.whole()

    def whole(self) -> list[Respond]:
        known = [each for each in self.groups if each is not None]
        if len(known) < len(self.groups):
            return []
        return [Respond(self.request_id, DescribeShareGroupOffsetsResponse(groups=tuple(known)))]


@dataclass(frozen=True, slots=True)
class SumsWanted:
    """Of these partitions of a group; topics that are not there are answered behind."""

    group_id: str
    names: Mapping[Uuid, str]
    places: tuple[Place, ...]
    unknown: tuple[DescribeShareGroupOffsetsResponseTopic, ...] = ()


def wanted(
    groups: GroupCoordinator, asked: DescribeShareGroupOffsetsRequestGroup
) -> SumsWanted | DescribeShareGroupOffsetsResponseGroup:
    """What is to be summed up, or the answer."""
    group_id, topics = asked.group_id, groups.topic.image.topics
    if not is_enabled(groups):
        return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    names: dict[Uuid, str] = {}
    places: list[Place] = []
    unknown: list[DescribeShareGroupOffsetsResponseTopic] = []
    if asked.topics is None:
        found = groups.find(group_id)
        if isinstance(found, ErrorCode):
            return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=found)
        group = found.shares.by_id.get(group_id)
        for topic_id, shared in ({} if group is None else group.topics.initialized).items():
            topic = topics.get(topic_id)
            if topic is not None:
                names[topic_id] = topic.name
                places += ((topic_id, index) for index in sorted(shared.partitions))
    for each in asked.topics or ():
        topic = topics.named(each.topic_name)
        if topic is not None:
            names[topic.id] = topic.name
            places += ((topic.id, index) for index in each.partitions)
        else:
            parts = tuple(_nowhere(index) for index in each.partitions)
            unknown.append(
                DescribeShareGroupOffsetsResponseTopic(topic_name=each.topic_name, topic_id=ZERO_UUID, partitions=parts)
            )
    is_wrong = not group_id or any(not each.partitions or min(each.partitions) < 0 for each in asked.topics or ())
    if names and is_wrong:
        error = ErrorCode.UNKNOWN_SERVER_ERROR  # As by Kafka, whose own request to a share coordinator it would be.
        return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, error_code=error, error_message=WORDS[error])
    if not places:
        return DescribeShareGroupOffsetsResponseGroup(group_id=group_id, topics=tuple(unknown))
    return SumsWanted(group_id, names, tuple(dict.fromkeys(places)), tuple(unknown))


def _nowhere(index: int) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=UNKNOWN_OFFSET)


def lacks_end(summary: Any) -> bool:
    """How much is to be read depends on where the partition ends."""
    known = not summary.error_code and summary.start_offset != UNKNOWN_OFFSET
    return bool(known and summary.delivery_complete_count != NO_COUNT)


def summed(
    asked: SumsWanted, summaries: Mapping[Place, Any], ends: Mapping[Place, int | ErrorCode]
) -> DescribeShareGroupOffsetsResponseGroup:
    """`ends`: of those partitions that lack it."""
    topics: dict[Uuid, list[DescribeShareGroupOffsetsResponsePartition]] = {}
    for place in asked.places:
        topics.setdefault(place[0], []).append(_shown(place[1], summaries[place], ends.get(place)))
    shown = tuple(
        DescribeShareGroupOffsetsResponseTopic(
            topic_name=asked.names[topic_id], topic_id=topic_id, partitions=tuple(parts)
        )
        for topic_id, parts in topics.items()
    )
    return DescribeShareGroupOffsetsResponseGroup(group_id=asked.group_id, topics=(*shown, *asked.unknown))


def _shown(index: int, summary: Any, end: int | ErrorCode | None) -> DescribeShareGroupOffsetsResponsePartition:
    if summary.error_code:
        return _nowhere(index)
    if isinstance(end, ErrorCode):
        return DescribeShareGroupOffsetsResponsePartition(
            partition_index=index, start_offset=UNKNOWN_OFFSET, error_code=end
        )
    lag = _NO_LAG if end is None else end - summary.start_offset - summary.delivery_complete_count
    return DescribeShareGroupOffsetsResponsePartition(
        partition_index=index, start_offset=summary.start_offset, leader_epoch=summary.leader_epoch, lag=lag
    )
