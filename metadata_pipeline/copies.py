"""Words that lake and canon share: whose log it is, which epochs it holds where, who votes. Offsets end exclusively."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WIRE_NODE: Final = -1
WIRE_DIRECTORY: Final = "wire"
"""A living quorum's log is a copy that no node holds."""


@dataclass(frozen=True, slots=True, order=True)
class CopyKey:
    """One copy of one cluster's metadata log: which disk of which node holds it."""

    cluster: str
    node: int
    directory: str

    def __str__(self) -> str:
        return f"{self.cluster}/node {self.node}/{self.directory}"


@dataclass(frozen=True, slots=True, order=True)
class Run:
    """Whole, undamaged records of one epoch."""

    start: int
    end: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Neighbouring undamaged batches that name one epoch, believed or not. `leader`: it is one batch that begins with a
    LeaderChangeMessage.
    """

    start: int
    end: int
    epoch: int
    batches: int
    leader: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaKey:
    node: int
    directory: str | None = None
    """None while the quorum knows its voters by id only (kraft.version 0)."""


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Who votes from this record on. `offset` is -1 for the set of the bootstrap snapshot."""

    offset: int
    epoch: int
    voters: tuple[ReplicaKey, ...]
    from_record: bool = True
    """A VotersRecord names directories; a LeaderChangeMessage (False) tells the ids alone and gives way to
    any record.
    """
