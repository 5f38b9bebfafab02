"""Who of a streams group may commit offsets, and ask for them: by its epoch, or by those at which its tasks were
assigned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from controller_runtime.coordinator.streams.group import StreamsGroup
from controller_runtime.coordinator.streams.members import StreamsMember
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import dataclass

_FIRST_VERSION_OF_MEMBERS: Final = 9
_NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Committer:
    member_id: str
    instance_id: str | None
    epoch: int
    version: int | None
    """Of OffsetCommit; None: it commits in a transaction."""


def judge_commit(group: StreamsGroup, who: Committer, places: Iterable[tuple[str, int]]) -> ErrorCode:
    """`places`: topics and partitions."""
    if who.epoch < 0 and not group.members:
        return ErrorCode.NONE
    if who.version is None and who.epoch == _NO_EPOCH and not who.member_id and who.instance_id is None:
        return ErrorCode.NONE
    member = group.members.get(who.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if who.version is not None and who.version < _FIRST_VERSION_OF_MEMBERS:
        return ErrorCode.UNSUPPORTED_VERSION
    if who.epoch == member.epoch:
        return ErrorCode.NONE
    stale = ErrorCode.ILLEGAL_GENERATION if who.version is None else ErrorCode.STALE_MEMBER_EPOCH
    if who.epoch > member.epoch or not all(_had(group, member, who.epoch, *place) for place in places):
        return stale
    return ErrorCode.NONE


def _had(group: StreamsGroup, member: StreamsMember, epoch: int, topic: str, index: int) -> bool:
    """Its task was assigned at this epoch already."""
    subtopology = None if group.topology is None else group.topology.readers.get(topic)
    since = None if subtopology is None else member.epoch_of(subtopology, index)
    return since is not None and epoch >= since


def judge_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> ErrorCode:
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.epoch else ErrorCode.STALE_MEMBER_EPOCH
