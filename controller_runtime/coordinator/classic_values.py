"""What groups of the classic protocol speak in: states, timers, and what they want to be done."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from controller_runtime.coordinator.classic_members import Asked, Member
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.messages.group_metadata_value import GroupMetadataValue
from controller_runtime.values import dataclass


class State(StrEnum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"


class TimerKind(StrEnum):
    SESSION = "session"
    JOIN = "join"
    SYNC = "sync"
    REBALANCE = "rebalance"
    """Of a member of the consumer protocol."""
    FIRST_REBALANCE = "first rebalance"
    """Of a streams group that waits for more members."""


class Timer(NamedTuple):
    kind: TimerKind
    group_id: str
    member_id: str = ""


@dataclass(frozen=True, slots=True)
class AssignmentStored:
    """The assignment of this generation is written down."""

    generation: int
    assignments: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ReplacementStored:
    """A static member that came back is written down under its new id."""

    asked: Asked
    old: Member
    """As it was."""
    new_id: str
    old_leader: str


Stored = AssignmentStored | ReplacementStored


@dataclass(frozen=True, slots=True)
class Store:
    """Write the group down; `then` is told when that is committed, or why it is not."""

    value: GroupMetadataValue
    then: Stored | None = None


GroupEffect = Respond | Store
Effects = list[GroupEffect]
