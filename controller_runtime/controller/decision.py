"""What the controller answers to a request, and what it is told beside the request.

A request becomes records or an error; nothing else changes the cluster. The caller replays the records, appends them, and lets the
response leave only when they are committed (or, without records, when everything that the decision could have seen is).
"""

from __future__ import annotations

from controller_runtime.identifiers import NO_NODE, NodeId, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Where a request came from, and where the log stands."""

    api_version: int
    next_offset: Offset
    """The offset that the first record of the decision will get; a broker registration takes it as its epoch."""
    wall: WallClock
    listener: str = "CONTROLLER"
    """The name of the listener that the request (or the envelope around it) came in on."""
    principal: str = "User:ANONYMOUS"
    leader_id: NodeId = NO_NODE
    """The leader of the quorum as this node knows it; -1 unknown."""
    kraft_version: int = 0
    """The finalized kraft.version, which lives in the raft log and not in the image."""
    kraft_upgrade_fault: str | None = "Upgrade kraft version failed because the replica is not the current leader"
    """Why consensus cannot raise kraft.version now, in Kafka's words; None if it can."""
    forwarded: bool = False
    """A broker passes it on in an envelope."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Records to append, and the response that leaves once they are committed.

    `atomic`: the records are visible together or not at all, so they go into one batch. Others may be split, in order.
    `kraft_version`: consensus is to raise it to this, before the records.
    """

    response: Message
    records: tuple[VersionedRecord, ...] = ()
    atomic: bool = True
    kraft_version: int | None = None
