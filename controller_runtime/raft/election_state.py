"""What consensus keeps of itself outside the log: the election state of `quorum-state`.

A voter's promise not to vote twice in an epoch lives here, so it is on disk before the message that reveals it leaves.
"""

from __future__ import annotations

from controller_runtime.identifiers import Epoch, NodeId, ReplicaKey
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ElectionState:
    """The content of `quorum-state`. From Kafka 4.0 on a leader and a vote may both be set.

    `kraft_version` chooses the file's version (0 or 1); `static_voters` is written by version 0 only.
    """

    epoch: Epoch
    leader_id: NodeId | None = None
    voted_key: ReplicaKey | None = None
    kraft_version: int = 0
    static_voters: tuple[NodeId, ...] = ()
