"""Who waits for what was written into a log of groups, and what a client is told of an error of the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.coordinator.classic_values import Stored
from controller_runtime.coordinator.share.values import AnswerLater, StatesWanted
from controller_runtime.identifiers import Instant, Uuid
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

_CODES: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""What a client is told of an error of the log."""


def told_of(error: ErrorCode) -> ErrorCode:
    return _CODES.get(error, error)


@dataclass(slots=True)
class Gathering:
    """An answer whose parts are written by several partitions."""

    request_id: RequestId
    names: list[str]
    codes: list[ErrorCode]
    open: int = 0
    is_whole: bool = False
    """All parts were asked for."""

    def tell(self, place: int, code: ErrorCode) -> bool:
        """What became of a part; whether that was the last one."""
        self.codes[place] = code
        self.open -= 1
        return self.open == 0 and self.is_whole


@dataclass(frozen=True, slots=True)
class Answer:
    """To `request`, when what it asked for is committed."""

    request_id: RequestId
    request: Message
    body: Message


@dataclass(frozen=True, slots=True)
class GroupStored:
    group_id: str
    stored: Stored


@dataclass(frozen=True, slots=True)
class PartStored:
    gathering: Gathering
    place: int


@dataclass(frozen=True, slots=True)
class StatesGone:
    """The share coordinator is to forget states of a group; `told`: whose part that is."""

    group_id: str
    partitions: Mapping[Uuid, frozenset[int]]
    told: PartStored | AnswerLater


Then = Answer | GroupStored | PartStored | StatesWanted | StatesGone
"""Who is told what became of a write."""


@dataclass(frozen=True, slots=True)
class Waiting:
    end_offset: int
    deadline: Instant
    then: Then
