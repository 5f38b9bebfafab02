"""What controllers' answers amount to: pure.

Every controller is asked for the leader and epoch it believes in (a Fetch as no replica, which each answers for
itself); the leader so named is asked for the quorum. The quorum is Available only if a majority of the voters that the
leader reports answered, in the same round, with that very leader and epoch. What is said of a voter compares two such
rounds: offsets and fetch times that moved. Silence proves nothing: without enough answers the state is Unknown, never
Unavailable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kraft_operator.observed import Observer, Quorum, QuorumState, QuorumVoter, VoterState

NEVER: Final = 1 << 62
"""A log end that no high watermark reaches: of a leader that is no voter (it removed itself)."""


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
    last_fetch: int = -1
    """Milliseconds by the leader's clock; -1 when it never fetched from this leader."""
    endpoints: tuple[tuple[str, str, int], ...] = ()
    """Of a voter: listener, host and port in the metadata log."""


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


@dataclass(frozen=True, slots=True)
class Round:
    """What is kept of an earlier look at an available quorum, to see whether things move."""

    leader_id: int
    epoch: int
    high_watermark: int
    log_end_offset: int
    """Of the leader."""
    voters: frozenset[tuple[int, str]]
    fetched: Mapping[tuple[int, str], int]
    """(node id, directory id) to the leader's time of its last fetch."""


def round_of(quorum: Quorum) -> Round | None:
    """None unless the quorum is available: only such a round is something to compare with."""
    if quorum.state is not QuorumState.AVAILABLE:
        return None
    fetched = {(each.node_id, each.directory_id): each.last_fetch for each in quorum.observers}
    fetched |= {each.key: each.last_fetch for each in quorum.voters}
    leader = quorum.voter(quorum.leader_id)
    end = leader.log_end_offset if leader is not None else NEVER
    voters = frozenset(each.key for each in quorum.voters)
    return Round(
        quorum.leader_id, quorum.epoch, quorum.high_watermark, log_end_offset=end, voters=voters, fetched=fetched
    )


def judge(
    beliefs: Mapping[int, Belief | None],
    described: Described | None,
    directories: Mapping[int, str | None],
    before: Round | None = None,
) -> Quorum:
    """`directories` are the ledger's directory ids; a voter under another one is not the node we know. `before` is void
    if the leadership has changed since."""
    answered = {node_id: belief for node_id, belief in beliefs.items() if belief is not None}
    leader = agreed_leader(answered)
    if (
        leader is None
        or described is None
        or (described.leader_id, described.epoch) != (leader.leader_id, leader.epoch)
    ):
        return _without_leader(answered, beliefs)
    following = sum(answered.get(each.node_id) == leader for each in described.voters)
    majority = len(described.voters) // 2 + 1
    if before is not None and (before.leader_id, before.epoch) != (leader.leader_id, leader.epoch):
        before = None
    look = _Look(answered, leader, directories, before)
    voters = tuple(look.voter(each) for each in described.voters)
    if following < majority:
        silent = sorted(each.node_id for each in voters if each.node_id not in answered)
        detail = f"{following} of {len(voters)} voters follow leader {leader.leader_id} in epoch {leader.epoch}"
        detail += f"; no answer from {_names(silent)}" if silent else ""
        state = QuorumState.UNKNOWN if following + len(silent) >= majority else QuorumState.UNAVAILABLE
        return Quorum(
            state, detail, leader.leader_id, epoch=leader.epoch, high_watermark=described.high_watermark, voters=voters
        )
    return Quorum(
        QuorumState.AVAILABLE,
        "a majority follows one leader",
        leader.leader_id,
        epoch=leader.epoch,
        high_watermark=described.high_watermark,
        voters=voters,
        observers=tuple(look.observer(each) for each in described.observers),
        proven=before is not None,
        advanced=before is not None and described.high_watermark > before.high_watermark,
        settled=before is not None
        and before.voters == {each.key for each in voters}
        and described.high_watermark >= before.log_end_offset,
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """One round of answers beside an earlier one."""

    answered: Mapping[int, Belief]
    leader: Belief
    directories: Mapping[int, str | None]
    before: Round | None

    def voter(self, replica: Replica) -> QuorumVoter:
        return QuorumVoter(
            replica.node_id, replica.directory_id, replica.log_end_offset, state=self._state(replica),
            last_fetch=replica.last_fetch, endpoints=replica.endpoints,
        )  # fmt: skip

    def observer(self, replica: Replica) -> Observer:
        caught_up = self.before is not None and self._heard_since(replica) and self._holds_the_committed(replica)
        return Observer(replica.node_id, replica.directory_id, caught_up, replica.last_fetch)

    def _state(self, replica: Replica) -> VoterState:
        if self.directories.get(replica.node_id) != replica.directory_id:
            return VoterState.UNKNOWN
        follows = self.answered.get(replica.node_id) == self.leader
        if self.before is None:
            return VoterState.LIVE if follows and self._holds_the_committed(replica) else VoterState.UNKNOWN
        heard = self._heard_since(replica)
        if follows and heard:
            return VoterState.LIVE if self._holds_the_committed(replica) else VoterState.LAGGING
        silent = replica.node_id not in self.answered and not heard
        return VoterState.DEAD if silent else VoterState.UNKNOWN

    def _heard_since(self, replica: Replica) -> bool:
        if self.before is None or replica.node_id == self.leader.leader_id:
            return True
        last = self.before.fetched.get((replica.node_id, replica.directory_id))
        return replica.last_fetch > (last if last is not None else -1)

    def _holds_the_committed(self, replica: Replica) -> bool:
        return replica.log_end_offset >= (self.before.high_watermark if self.before is not None else 0)


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
