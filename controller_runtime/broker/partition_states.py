"""The states of a replica on this broker, and which may follow which: one table, enforced, and drawn in
`docs/design/partition-states.md`.

`LocalPartitions` refuses every change that no row allows: it would be a bug, and the partition's clients would be told
something untrue. A state holds what belongs to it alone; the open log is handed on from state to state. A replica that
goes away (its topic is deleted, or it is moved to another broker) leaves from any state.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.broker.leader import Leader
from controller_runtime.broker.replication.follower import Follower
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Opening:
    """Its log is being recovered, or made."""


@dataclass(frozen=True, slots=True)
class Offline:
    """Its log cannot be opened, or could not be written."""

    reason: str


PartitionState = Opening | Leader | Follower | Offline


@dataclass(frozen=True, slots=True)
class Transition:
    source: type[PartitionState]
    target: type[PartitionState]
    cause: str


INITIAL: Final[dict[type[PartitionState], str]] = {
    Opening: "the image has a replica here",
}

TRANSITIONS: Final = (
    Transition(Opening, Leader, "its log is open and this broker leads"),
    Transition(Opening, Follower, "its log is open; nobody leads, or another broker"),
    Transition(Opening, Offline, "its log cannot be opened"),
    Transition(Leader, Follower, "nobody leads any more, or another broker: this one was fenced, or is leaving"),
    Transition(Leader, Offline, "its log could not be written"),
    Transition(Follower, Leader, "this broker leads"),
    Transition(Follower, Offline, "its log could not be written"),
)
"""What an image changes within a state is no transition: a leader begins a higher epoch, a follower has another
leader.
"""

_ROWS: Final = frozenset((row.source, row.target) for row in TRANSITIONS)


class IllegalTransition(Exception):
    """A change that the table does not have: a bug of ours, never the fault of a client."""


def check_transition(left: PartitionState, entered: PartitionState) -> None:
    if (type(left), type(entered)) not in _ROWS:
        change = f"{type(left).__name__} -> {type(entered).__name__}"
        raise IllegalTransition(f"there is no transition {change} of a partition's state")
