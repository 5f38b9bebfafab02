"""Which role may follow which: one table, enforced, and drawn in `docs/design/raft-roles.md`.

`Quorum.enter` refuses every change that no row allows, before anything of it can leave the node: the process stops with
the row that is missing. The rules are Kafka 4.x's: only a Prospective becomes a Candidate, only a Candidate becomes a
Leader, an observer is only ever Unattached or a Follower, and who led an epoch before a restart only resigns from it.
The vote of an epoch is kept as long as the epoch lasts.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from controller_runtime.identifiers import ReplicaKey
from controller_runtime.raft.roles import Candidate, Follower, Leader, Prospective, RaftRole, Resigned, Unattached
from controller_runtime.values import dataclass


class Epochs(Enum):
    """How the epoch may change with the role."""

    SAME = "same"
    NEXT = "next"
    HIGHER = "higher"
    ANY = "same or higher"


@dataclass(frozen=True, slots=True)
class Transition:
    source: type[RaftRole]
    target: type[RaftRole]
    epochs: Epochs
    cause: str


TRANSITIONS: Final = (
    Transition(
        Unattached, Unattached, Epochs.ANY, "a higher epoch is seen, or who leads this one, but not how to reach it"
    ),
    Transition(Unattached, Prospective, Epochs.SAME, "the election timer of a voter ends; a sole voter does not wait"),
    Transition(Unattached, Follower, Epochs.ANY, "the leader is known and can be reached"),
    Transition(
        Prospective, Unattached, Epochs.ANY, "a higher epoch is seen; the pre-vote is lost and there is no leader"
    ),
    Transition(Prospective, Candidate, Epochs.NEXT, "a majority would vote for it, or a voter does not know pre-votes"),
    Transition(Prospective, Follower, Epochs.ANY, "somebody leads; the pre-vote is lost and the leader can be reached"),
    Transition(Candidate, Unattached, Epochs.ANY, "a higher epoch is seen, or it is no voter any more"),
    Transition(Candidate, Prospective, Epochs.SAME, "the election timer ends"),
    Transition(Candidate, Leader, Epochs.SAME, "a majority voted for it"),
    Transition(Candidate, Follower, Epochs.ANY, "somebody else leads"),
    Transition(Leader, Unattached, Epochs.HIGHER, "a higher epoch is seen"),
    Transition(Leader, Follower, Epochs.HIGHER, "somebody leads a higher epoch"),
    Transition(Leader, Resigned, Epochs.SAME, "no majority fetches, it is asked to, it stops, or it was removed"),
    Transition(Follower, Unattached, Epochs.HIGHER, "a higher epoch is seen"),
    Transition(Follower, Prospective, Epochs.SAME, "the fetch timer of a voter ends"),
    Transition(Follower, Follower, Epochs.HIGHER, "somebody leads a higher epoch"),
    Transition(Resigned, Unattached, Epochs.HIGHER, "the election timer ends, or a higher epoch is seen"),
    Transition(Resigned, Follower, Epochs.HIGHER, "somebody leads a higher epoch"),
)

INITIAL: Final[dict[type[RaftRole], str]] = {
    Unattached: "nothing is stored, or a leader that cannot be reached, or the log is of a later epoch",
    Candidate: "it voted for itself",
    Follower: "the stored leader can be reached",
    Resigned: "it led",
}
"""Where a restart may begin (kraft-facts 3.2): never as Leader, and never as Prospective."""

FOR_VOTERS: Final[frozenset[type[RaftRole]]] = frozenset({Prospective, Candidate, Leader})
"""An observer never enters these. A leader that removed itself does resign, though it is no voter then."""


class IllegalTransition(Exception):
    """A change of role that the table does not have. Never the fault of a peer: the replica that raises it
    must stop.
    """


def check_transition(left: RaftRole, entered: RaftRole, voted: ReplicaKey | None, *, is_voter: bool) -> None:
    """Raise IllegalTransition unless the table has this change. `voted`: this node's vote so far in the epoch that is
    entered.
    """
    fault = _fault(left, entered, voted, is_voter=is_voter)
    if fault is not None:
        change = f"{type(left).__name__} of epoch {left.epoch} -> {type(entered).__name__} of epoch {entered.epoch}"
        raise IllegalTransition(f"illegal transition {change}: {fault}")


def _fault(left: RaftRole, entered: RaftRole, voted: ReplicaKey | None, *, is_voter: bool) -> str | None:
    row = _ROWS.get((type(left), type(entered)))
    if row is None:
        return "there is no such transition"
    if not _is_allowed(row.epochs, entered.epoch - left.epoch):
        return f"the epoch must be {row.epochs.value}"
    if type(entered) in FOR_VOTERS and not is_voter:
        return "this node is an observer"
    if voted is not None and not isinstance(entered, Candidate | Leader) and entered.voted != voted:
        return f"the vote for {voted} must be kept"
    return None


_ROWS: Final = {(row.source, row.target): row for row in TRANSITIONS}


def _is_allowed(epochs: Epochs, growth: int) -> bool:
    match epochs:
        case Epochs.SAME:
            return growth == 0
        case Epochs.NEXT:
            return growth == 1
        case Epochs.HIGHER:
            return growth > 0
        case Epochs.ANY:
            return growth >= 0
