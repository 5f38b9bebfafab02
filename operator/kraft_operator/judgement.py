"""What controllers' answers amount to: pure.

Every controller is asked for the leader and epoch it believes in (a Fetch as no replica, which each answers for itself); the leader so named
is asked for the quorum. The quorum is Available only if a majority of the voters that the leader reports answered, in the same round, with
that very leader and epoch. Silence proves nothing: without enough answers the state is Unknown, never Unavailable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kraft_operator.observed import Quorum, QuorumState, Voter


@dataclass(frozen=True, slots=True)
class Belief:
    """Whom a controller follows; leader -1 when it knows none."""

    leader_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Replica:
    node_id: int
    directory_id: str
    log_end_offset: int


@dataclass(frozen=True, slots=True)
class Described:
    """DescribeQuorum at the leader."""

    leader_id: int
    epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...] = ()


def agreed_leader(beliefs: Mapping[int, Belief | None]) -> Belief | None:
    """The belief in the highest epoch that names a leader: whom to ask next."""
    named = [belief for belief in beliefs.values() if belief is not None and belief.leader_id >= 0]
    return max(named, key=lambda belief: (belief.epoch, -belief.leader_id), default=None)


def judge(
    beliefs: Mapping[int, Belief | None], described: Described | None, directories: Mapping[int, str | None]
) -> Quorum:
    """`directories` are the ledger's directory ids; a voter under another one is not the node we know."""
    answered = {node_id: belief for node_id, belief in beliefs.items() if belief is not None}
    leader = agreed_leader(answered)
    if (
        leader is None
        or described is None
        or (described.leader_id, described.epoch) != (leader.leader_id, leader.epoch)
    ):
        return _without_leader(answered, beliefs)
    voters = tuple(
        Voter(each.node_id, each.directory_id, each.log_end_offset, _live(each, answered, leader, directories))
        for each in described.voters
    )
    following = sum(answered.get(each.node_id) == leader for each in described.voters)
    majority = len(voters) // 2 + 1
    if following < majority:
        silent = sorted(each.node_id for each in voters if each.node_id not in answered)
        detail = f"{following} of {len(voters)} voters follow leader {leader.leader_id} in epoch {leader.epoch}"
        detail += f"; no answer from {_names(silent)}" if silent else ""
        state = QuorumState.UNKNOWN if following + len(silent) >= majority else QuorumState.UNAVAILABLE
        return Quorum(state, detail, leader.leader_id, leader.epoch, described.high_watermark, voters)
    return Quorum(
        QuorumState.AVAILABLE,
        "a majority follows one leader",
        leader.leader_id,
        leader.epoch,
        described.high_watermark,
        voters,
        tuple((each.node_id, each.directory_id) for each in described.observers),
    )


def _live(
    replica: Replica, answered: Mapping[int, Belief], leader: Belief, directories: Mapping[int, str | None]
) -> bool:
    known = directories.get(replica.node_id)
    return answered.get(replica.node_id) == leader and known == replica.directory_id and replica.log_end_offset >= 0


def _without_leader(answered: Mapping[int, Belief], beliefs: Mapping[int, Belief | None]) -> Quorum:
    silent = sorted(set(beliefs) - set(answered))
    majority = len(beliefs) // 2 + 1
    if len(answered) < majority:
        detail = f"no answer from controllers {_names(silent)}" if silent else "no controller is there to be asked"
        return Quorum(QuorumState.UNKNOWN, detail)
    if any(belief.leader_id >= 0 for belief in answered.values()):
        return Quorum(QuorumState.UNKNOWN, "the leader that controllers name did not describe the quorum")
    return Quorum(QuorumState.UNAVAILABLE, f"controllers {_names(sorted(answered))} answer and know no leader")


def _names(node_ids: list[int]) -> str:
    return ", ".join(map(str, node_ids)) or "none"
