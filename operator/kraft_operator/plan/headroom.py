"""The arithmetic of a quorum: which single change keeps a majority of live voters, and by which lemma.

Headroom h is live voters minus a majority of all voters: how many more may be lost. Each function judges one change of
one voter on a proven observation and says so in words. The lemmas are those of the design notes: L1 removing a voter
that is not live never lowers h; L2 adding a caught-up one never lowers it; L3 removing a live one lowers it by one if
their number is odd; L4 restarting r is safe if the others that are live are still a majority. A quorum that is not
proven permits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from kraft_operator.observed import Quorum, QuorumState, QuorumVoter, VoterState


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a change may be made now, and the numbers that say why."""

    open: bool
    text: str


def remove(quorum: Quorum, voter: QuorumVoter) -> Gate:
    """L1 for a voter that is not live, L3 for one that is. The majority that commits the removal is one of
    the new set.
    """
    if (closed := _unproven(quorum)) is not None:
        return closed
    left = len(quorum.voters) - 1
    if left == 0:
        return Gate(False, "it is the last voter")
    live, needed = quorum.live - voter.live, left // 2 + 1
    lemma = "L3" if voter.live else "L1"
    text = f"{live} of the {left} voters that remain are live, {needed} are needed ({lemma})"
    return Gate(live >= needed, text)


def unsettled(quorum: Quorum) -> Gate:
    """Why it is not known yet whether a voter set is committed."""
    return _unproven(quorum) or Gate(False, "its removal is not known to be committed yet")


def add(quorum: Quorum, *, caught_up: bool) -> Gate:
    """L2. The new set's majority commits the addition, and the new voter counts in it."""
    if (closed := _unproven(quorum)) is not None:
        return closed
    if not caught_up:
        return Gate(False, "it has not caught up yet")
    live, needed = quorum.live + 1, (len(quorum.voters) + 1) // 2 + 1
    text = f"with it {live} of {len(quorum.voters) + 1} voters are live, {needed} are needed (L2)"
    return Gate(live >= needed, text)


def restart(quorum: Quorum, node_id: int) -> Gate:
    """L4. A controller that is no voter, or a voter that is known not to be live, can be restarted at any time. One of
    which nothing certain is known may be live after all, so the others have to be a majority without it."""
    if (closed := _unproven(quorum)) is not None:
        return closed
    voter = quorum.voter(node_id)
    if voter is None or voter.state in (VoterState.DEAD, VoterState.LAGGING):
        return Gate(True, f"{quorum.live} of {len(quorum.voters)} voters are live without it (L4)")
    live = quorum.live - voter.live
    text = f"{live} of {len(quorum.voters)} voters stay live, {quorum.majority} are needed (L4)"
    return Gate(live >= quorum.majority, text)


def _unproven(quorum: Quorum) -> Gate | None:
    if quorum.state is not QuorumState.AVAILABLE:
        return Gate(False, f"the quorum is {quorum.state.value}: {quorum.detail}")
    if not quorum.proven:
        return Gate(False, "a second look has to confirm the leader")
    return None
