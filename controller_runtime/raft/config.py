"""What a replica is configured with; the names are Kafka's `controller.quorum.*`.

Two timers are ours, safe because pre-vote lets nobody disturb a leader that a majority still hears:
`first_election_timeout_ms` makes a cold start short, and `suspicion_ms` lets a follower whose leader's connection just
ended stand soon, not after `fetch_timeout_ms`.
"""

from __future__ import annotations

from controller_runtime.identifiers import NO_DIRECTORY, DirectoryId, Endpoint, NodeId, ReplicaKey
from controller_runtime.raft.voter_set import Listeners, Voter
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class RaftConfig:
    node_id: NodeId
    directory_id: DirectoryId = NO_DIRECTORY
    listener: str = "CONTROLLER"
    """The controller listener by which this node reaches the others: the first of `controller.listener.names`."""
    listeners: Listeners = ()
    """Where this node's own controller listeners are reached; empty on a broker."""
    can_vote: bool = True
    """A controller. Others never stand, whatever the voter set says."""
    auto_join: bool = False
    """A controller that is no voter asks the leader to make it one (KIP-1186)."""
    durable_fetch: bool = True
    """Fetch on only when all that was fetched is on disk. Controllers must, because their fetch offset is a promise."""
    bootstrap: tuple[Endpoint, ...] = ()
    election_timeout_ms: int = 1000
    first_election_timeout_ms: int = 150
    election_backoff_max_ms: int = 1000
    fetch_timeout_ms: int = 2000
    fetch_stagger_ms: int = 0
    """How much later than the one before it each follower of a silent leader stands, by their ids: together they would
    split the vote.
    """
    suspicion_ms: int = 12
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    high_watermark_linger_ms: int = 0
    """How long a leader keeps a new high watermark to itself, because the next records will carry it to everybody who
    waits.
    """
    fetch_max_bytes: int = 1 << 20
    snapshot_max_bytes: int = 1 << 20
    shutdown_timeout_ms: int = 3000

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)

    @property
    def voter(self) -> Voter:
        """This node as it wants to stand in a voter set."""
        return Voter(self.key, self.listeners, 0, 1)
