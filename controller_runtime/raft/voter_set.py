"""Who votes, and since which offset.

A voter set is immutable and has one voter per node id. `VoterHistory` keeps every set of the log by the offset of its
record: a set takes effect when it is appended and is given up when its record is truncated (KIP-853). Static voters are
the answer when the log has none (kraft.version 0); the bootstrap snapshot's are deemed at offset -1.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

from controller_runtime.identifiers import NO_DIRECTORY, Endpoint, NodeId, Offset, ReplicaKey
from controller_runtime.values import dataclass, field

Listeners = tuple[tuple[str, Endpoint], ...]
"""Listener name -> endpoint, in the order in which they were announced."""

BOOTSTRAP_OFFSET: Final = Offset(-1)


@dataclass(frozen=True, slots=True)
class Voter:
    key: ReplicaKey
    listeners: Listeners
    min_kraft_version: int = 0
    max_kraft_version: int = 0

    def endpoint(self, listener: str) -> Endpoint | None:
        for name, endpoint in self.listeners:
            if name == listener:
                return endpoint
        return None


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Voters in the order of their ids."""

    voters: tuple[Voter, ...]

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> VoterSet:
        ordered = tuple(sorted(voters, key=lambda voter: voter.key.node_id))
        ids = [voter.key.node_id for voter in ordered]
        assert len(set(ids)) == len(ids), f"one voter per node id: {ids}"
        return cls(ordered)

    def __len__(self) -> int:
        return len(self.voters)

    @property
    def ids(self) -> tuple[NodeId, ...]:
        return tuple(voter.key.node_id for voter in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def by_id(self, node_id: NodeId) -> Voter | None:
        for voter in self.voters:
            if voter.key.node_id == node_id:
                return voter
        return None

    def match(self, key: ReplicaKey) -> Voter | None:
        """The voter that this replica is. A voter without a directory id (kraft.version 0) matches by node id alone."""
        voter = self.by_id(key.node_id)
        if voter is None or voter.key.directory_id not in (NO_DIRECTORY, key.directory_id):
            return None
        return voter

    def is_only(self, key: ReplicaKey) -> bool:
        return len(self.voters) == 1 and self.match(key) is not None

    def updated(self, voter: Voter) -> VoterSet:
        return VoterSet.of([*(v for v in self.voters if v.key.node_id != voter.key.node_id), voter])

    def without(self, node_id: NodeId) -> VoterSet:
        return VoterSet(tuple(voter for voter in self.voters if voter.key.node_id != node_id))

    def has_exactly(self, key: ReplicaKey) -> bool:
        """Whether this very key, directory id included, is in the set."""
        return any(voter.key == key for voter in self.voters)

    def overlaps(self, other: VoterSet) -> bool:
        """Whether every majority of one meets every majority of the other: at most one voter differs."""
        mine, theirs = {v.key for v in self.voters}, {v.key for v in other.voters}
        return len(mine - theirs) <= 1 and len(theirs - mine) <= 1 and len(mine ^ theirs) <= 1


EMPTY: Final = VoterSet(())


@dataclass(slots=True)
class VoterHistory:
    """Voter sets and kraft.version by the offset of their record, ascending."""

    static: VoterSet = EMPTY
    sets: list[tuple[Offset, VoterSet]] = field(default_factory=list)
    versions: list[tuple[Offset, int]] = field(default_factory=list)

    @property
    def latest(self) -> VoterSet:
        return self.sets[-1][1] if self.sets else self.static

    @property
    def latest_offset(self) -> Offset | None:
        """Where the latest set was written; None for static voters, -1 for those of the bootstrap snapshot."""
        return self.sets[-1][0] if self.sets else None

    @property
    def kraft_version(self) -> int:
        return self.versions[-1][1] if self.versions else 0

    def at(self, end_offset: Offset) -> tuple[int, VoterSet]:
        """kraft.version and voters as of the records below `end_offset`: what a snapshot that ends there must say."""
        sets = [voters for offset, voters in self.sets if offset < end_offset]
        versions = [level for offset, level in self.versions if offset < end_offset]
        return (versions[-1] if versions else 0, sets[-1] if sets else self.static)

    def add_voters(self, offset: Offset, voters: VoterSet) -> None:
        assert not self.sets or offset > self.sets[-1][0], f"voters at {offset} after {self.sets[-1][0]}"
        self.sets.append((offset, voters))

    def add_version(self, offset: Offset, level: int) -> None:
        assert not self.versions or offset > self.versions[-1][0], f"version at {offset} after {self.versions[-1][0]}"
        self.versions.append((offset, level))

    def truncate(self, end_offset: Offset) -> None:
        """Give up what was written at or after `end_offset`."""
        del self.sets[bisect_left(self.sets, end_offset, key=lambda entry: entry[0]) :]
        del self.versions[bisect_left(self.versions, end_offset, key=lambda entry: entry[0]) :]

    def forget_before(self, start: Offset) -> None:
        """The log begins at `start`: of what was written below, only the newest is still of use."""
        del self.sets[: max(0, bisect_left(self.sets, start, key=lambda entry: entry[0]) - 1)]
        del self.versions[: max(0, bisect_left(self.versions, start, key=lambda entry: entry[0]) - 1)]

    def reset(self, offset: Offset, kraft_version: int, voters: VoterSet | None) -> None:
        """Begin anew from a snapshot whose last record is at `offset`."""
        self.versions = [(offset, kraft_version)] if kraft_version else []
        self.sets = [(offset, voters)] if voters is not None else []


def static_voters(listener: str, endpoints: Iterable[tuple[NodeId, Endpoint]]) -> VoterSet:
    """The voters of `controller.quorum.voters`: known by id and one endpoint only."""
    return VoterSet.of(Voter(ReplicaKey(node_id), ((listener, endpoint),)) for node_id, endpoint in endpoints)
