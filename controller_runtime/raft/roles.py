"""The six roles of a replica, and what each remembers. Which may follow which is said in `transitions`.

A role lasts as long as its epoch and its way of taking part. The log and the voters outlive it in `Quorum`, the vote is
carried over while the epoch lasts; entering a role forgets everything else that belonged to the last one.
"""

from __future__ import annotations

from controller_runtime.identifiers import Endpoint, Epoch, Instant, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from controller_runtime.raft.voter_set import Listeners, Voter
from controller_runtime.values import dataclass, field


@dataclass(slots=True)
class Unattached:
    """Follows nobody in this epoch, though it may know the leader's name, or have voted."""

    epoch: Epoch
    election_deadline: Instant
    leader_id: NodeId | None = None
    voted: ReplicaKey | None = None


@dataclass(slots=True)
class Ballot:
    """Answers of one vote. A grant never becomes a rejection."""

    granted: set[NodeId] = field(default_factory=set)
    rejected: set[NodeId] = field(default_factory=set)
    unreachable: set[NodeId] = field(default_factory=set)
    """Asked in vain so far; they are asked again, but waiting for them alone is pointless."""

    def record(self, voter: NodeId, *, granted: bool) -> None:
        self.unreachable.discard(voter)
        if granted:
            self.granted.add(voter)
            self.rejected.discard(voter)
        elif voter not in self.granted:
            self.rejected.add(voter)


@dataclass(slots=True)
class Prospective:
    """Asks whether it could win, before it disturbs anybody (KIP-996). Its epoch and vote are as they were."""

    epoch: Epoch
    election_deadline: Instant
    ballot: Ballot
    leader_id: NodeId | None = None
    leader_listeners: Listeners = ()
    voted: ReplicaKey | None = None
    losses: int = 0


@dataclass(slots=True)
class Candidate:
    epoch: Epoch
    election_deadline: Instant
    ballot: Ballot
    losses: int = 0
    lost: bool = False


@dataclass(slots=True)
class Progress:
    """What the leader knows of a replica."""

    key: ReplicaKey
    listeners: Listeners = ()
    end_offset: Offset | None = None
    last_fetch: Instant | None = None
    last_fetch_leader_end: Offset = Offset(-1)
    """The leader's end at the replica's previous fetch: reaching it means having been caught up then, if
    there was one.
    """
    last_caught_up: Instant | None = None
    last_contact: Instant = Instant(0.0)
    """For check-quorum: the start of the epoch, then every Fetch or FetchSnapshot."""
    next_begin: Instant = Instant(0.0)
    """When BeginQuorumEpoch is due; every fetch puts it off, for who fetches knows the leader."""


@dataclass(slots=True)
class Parked:
    """A Fetch that waits for something to tell."""

    token: int
    replica: ReplicaKey
    offset: Offset
    high_watermark: Offset
    max_bytes: int
    deadline: Instant


@dataclass(slots=True)
class Adding:
    """AddRaftVoter under way: the node is asked for its versions, then its voter set is committed."""

    token: int | None
    """None once it is answered."""
    voter: Voter
    ack_when_committed: bool
    deadline: Instant
    call: int
    """Our question for its versions."""
    offset: Offset | None = None
    """Of the new set, once it is written."""


@dataclass(slots=True)
class Removing:
    """RemoveRaftVoter under way: the smaller set is in the log."""

    token: int
    offset: Offset
    deadline: Instant


VoterChange = Adding | Removing


@dataclass(slots=True)
class Leader:
    epoch: Epoch
    epoch_start: Offset
    granting: tuple[NodeId, ...]
    voters: dict[NodeId, Progress] = field(default_factory=dict)
    """Every voter of the latest set but this node."""
    observers: dict[ReplicaKey, Progress] = field(default_factory=dict)
    high_watermark: Offset | None = None
    parked: dict[int, Parked] = field(default_factory=dict)
    first_expiry: Instant | None = None
    """No parked Fetch expires before."""
    has_untold: bool = False
    """The high watermark moved, or somebody asked who does not know it, and `tell_at` is not set yet."""
    tell_at: Instant | None = None
    """When those who wait are sent the high watermark, if no records carry it to them before."""
    announced: bool = False
    """The application knows that it leads."""
    change: VoterChange | None = None
    """One at a time: the next begins when this one is committed or given up."""
    reported: dict[NodeId, Voter] = field(default_factory=dict)
    """At kraft.version 0: what the voters reported of themselves in this epoch. The upgrade writes it."""


@dataclass(slots=True)
class Follower:
    epoch: Epoch
    leader_id: NodeId
    leader_listeners: Listeners
    fetch_deadline: Instant
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    """It heard from this leader and has no sign that it is gone: so it helps nobody to depose it."""
    losses: int = 0
    update_voter_at: Instant | None = None
    """When the leader is asked (again) to correct this node's entry, or to add it."""
    told_entry: bool = False
    """This leader has answered our UpdateRaftVoter."""
    snapshot: FetchingSnapshot | None = None


@dataclass(slots=True)
class FetchingSnapshot:
    snapshot_id: OffsetAndEpoch
    position: int = 0
    written: bool = False
    """All bytes were handed over; `SnapshotFetched` is awaited."""


@dataclass(slots=True)
class Resigned:
    """Led this epoch, and tells the others that it does so no more."""

    epoch: Epoch
    election_deadline: Instant
    preferred: tuple[ReplicaKey, ...]
    unacknowledged: set[NodeId]
    voted: ReplicaKey | None = None


RaftRole = Unattached | Prospective | Candidate | Leader | Follower | Resigned


def known_endpoint(listeners: Listeners, listener: str) -> Endpoint | None:
    return next((endpoint for name, endpoint in listeners if name == listener), None)
