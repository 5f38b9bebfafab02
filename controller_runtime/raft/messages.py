"""What replicas say to each other, as plain values.

Versions, topics, cluster ids and error numbers end at `node/quorum/raft_rpc.py`; a name here is Kafka's. A
`QuorumResponse` says which epoch and leader its sender knows: a stale replica learns from any of them.
`leader_endpoint` is filled in at the border, because it depends on the listener a request came through. Answers about
adding and removing voters carry a message for people instead; None means Kafka's usual message for the error.
"""

from __future__ import annotations

from enum import Enum

from controller_runtime.identifiers import Endpoint, Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from controller_runtime.raft.voter_set import Listeners, Voter, VoterSet
from controller_runtime.values import dataclass

HIGH_WATERMARK_UNUSED = Offset(2**63 - 1)
"""What a Fetch below version 18 counts as: its sender does not tell what it knows."""
HIGH_WATERMARK_UNKNOWN = Offset(-1)


class RaftError(Enum):
    """Kafka's error names; `raft_rpc` finds the code by the name."""

    NONE = "none"
    NOT_LEADER_OR_FOLLOWER = "not leader"
    REQUEST_TIMED_OUT = "timed out"
    BROKER_NOT_AVAILABLE = "shutting down"
    CLUSTER_AUTHORIZATION_FAILED = "not authorised"
    UNSUPPORTED_VERSION = "unsupported version"
    INVALID_REQUEST = "invalid request"
    FENCED_LEADER_EPOCH = "stale epoch"
    UNKNOWN_LEADER_EPOCH = "future epoch"
    SNAPSHOT_NOT_FOUND = "no such snapshot"
    POSITION_OUT_OF_RANGE = "position out of range"
    INCONSISTENT_CLUSTER_ID = "other cluster"
    INVALID_VOTER_KEY = "not addressed to me"
    DUPLICATE_VOTER = "duplicate voter"
    VOTER_NOT_FOUND = "no such voter"
    UNKNOWN_SERVER_ERROR = "unknown error"


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """The first record of an epoch."""

    leader_id: NodeId
    voters: tuple[NodeId, ...]
    granting_voters: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class KRaftVersion:
    """Whether voters are static (0) or live in the log (1)."""

    level: int


ControlRecord = LeaderChange | KRaftVersion | VoterSet
"""The control records that consensus itself reads. A `VoterSet` in the log is Kafka's VotersRecord."""


@dataclass(frozen=True, slots=True)
class LogBatch:
    """One batch: what consensus needs to know about it, and its bytes, which it never looks into."""

    base_offset: Offset
    end_offset: Offset
    epoch: Epoch
    data: bytes
    control: tuple[tuple[Offset, ControlRecord], ...] = ()


@dataclass(frozen=True, slots=True)
class VoteRequest:
    candidate: ReplicaKey
    epoch: Epoch
    last: OffsetAndEpoch
    """The candidate's log end offset and the epoch of its last record."""
    pre_vote: bool
    receiver: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class VoteResponse:
    error: RaftError
    epoch: Epoch
    leader_id: NodeId | None
    granted: bool
    leader_endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochRequest:
    leader_id: NodeId
    epoch: Epoch
    listeners: Listeners = ()
    receiver: ReplicaKey | None = None


@dataclass(frozen=True, slots=True)
class BeginQuorumEpochResponse:
    error: RaftError
    epoch: Epoch
    leader_id: NodeId | None
    leader_endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class EndQuorumEpochRequest:
    leader_id: NodeId
    epoch: Epoch
    preferred: tuple[ReplicaKey, ...]
    """Who should stand next, the best first. At version 0 without directory ids."""


@dataclass(frozen=True, slots=True)
class EndQuorumEpochResponse:
    error: RaftError
    epoch: Epoch
    leader_id: NodeId | None
    leader_endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class FetchRequest:
    replica: ReplicaKey
    """A negative node id reads without counting as a replica."""
    epoch: Epoch
    offset: Offset
    last_epoch: Epoch
    high_watermark: Offset = HIGH_WATERMARK_UNUSED
    max_wait_ms: int = 0
    max_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class FetchResponse:
    """`batches` is filled on the follower's side; a leader's answer names the slice in its effect `ReplyRecords`."""

    error: RaftError
    epoch: Epoch
    leader_id: NodeId | None
    high_watermark: Offset = HIGH_WATERMARK_UNKNOWN
    log_start_offset: Offset = Offset(0)
    diverging: OffsetAndEpoch | None = None
    snapshot_id: OffsetAndEpoch | None = None
    batches: tuple[LogBatch, ...] = ()
    leader_endpoint: Endpoint | None = None
    damaged: bool = False
    """On the follower's side: there were bytes, and not one whole batch in them."""


@dataclass(frozen=True, slots=True)
class FetchSnapshotRequest:
    replica: ReplicaKey
    epoch: Epoch
    snapshot_id: OffsetAndEpoch
    position: int
    max_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class FetchSnapshotResponse:
    error: RaftError
    epoch: Epoch
    leader_id: NodeId | None
    snapshot_id: OffsetAndEpoch
    size: int = 0
    position: int = 0
    data: bytes = b""
    leader_endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class UpdateVoterRequest:
    epoch: Epoch
    voter: Voter


@dataclass(frozen=True, slots=True)
class UpdateVoterResponse:
    error: RaftError
    epoch: Epoch
    leader_id: NodeId | None
    leader_endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True)
class AddVoterRequest:
    """Make an observer a voter. Nothing is said of its versions: the leader asks the node itself."""

    voter: Voter
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True)
class AddVoterResponse:
    error: RaftError
    message: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveVoterRequest:
    key: ReplicaKey


@dataclass(frozen=True, slots=True)
class RemoveVoterResponse:
    error: RaftError
    message: str | None = None


@dataclass(frozen=True, slots=True)
class ApiVersionsRequest:
    """Asks a node that is to become a voter which levels of kraft.version it understands."""


@dataclass(frozen=True, slots=True)
class ApiVersionsResponse:
    """`kraft_versions` is None if the node says nothing about kraft.version."""

    error: RaftError
    kraft_versions: tuple[int, int] | None


Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | UpdateVoterRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | ApiVersionsRequest
)
QuorumResponse = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | UpdateVoterResponse
)
Response = QuorumResponse | AddVoterResponse | RemoveVoterResponse | ApiVersionsResponse
