"""What the controller answers to a request, and what it gets beside the request.

A request becomes records or an error; nothing else changes the cluster. The caller replays the records, appends them,
and lets the response leave only when they are committed (or, without records, when everything that the decision could
have seen is).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Final

from controller_runtime.identifiers import NO_NODE, NodeId, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.parts.events import ConnectionId
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, replace


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
    client_id: str | None = None
    """Of the client, also when a broker passes it on."""
    authenticated: bool = False
    """Who sent it has shown who he is."""
    token_authenticated: bool = False
    """The principal came with a delegation token."""
    connection_id: ConnectionId | None = None
    """On which it came in; None: this node asks itself."""


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


Pieces = Generator[tuple[VersionedRecord, ...], Offset, Decision]
"""A decision made in pieces, so that consensus and heartbeats are served between them.

Each piece is written as soon as it is there, before the rest is known; it may be empty. What is sent back is the offset
that follows it. The decision at the end has the last records. What has to be atomic yields empty pieces only. The image
it was begun with has to stay the newest but for its own pieces; a leader that is replaced in the middle leaves what it
has written, as Kafka does with what is not atomic.
"""

PIECE_RECORDS: Final = 250
"""A piece has so many records at most: a few milliseconds of work."""


def written(
    changes: Iterable[VersionedRecord | None], next_offset: Offset
) -> Generator[tuple[VersionedRecord, ...], Offset, tuple[tuple[VersionedRecord, ...], Offset]]:
    """Yield these changes in pieces; the last of them, not yielded, and the offset of its first record. None: a piece
    may end here.
    """
    piece: list[VersionedRecord] = []
    for change in changes:
        if change is not None:
            piece.append(change)
        if change is None or len(piece) >= PIECE_RECORDS:
            next_offset = yield tuple(piece)
            piece.clear()
    return tuple(piece), next_offset


def at_once(pieces: Pieces, next_offset: Offset) -> Decision:
    """The whole decision, when nobody waits."""
    records: list[VersionedRecord] = []
    try:
        records += next(pieces)
        while True:
            records += pieces.send(Offset(next_offset + len(records)))
    except StopIteration as done:
        decision: Decision = done.value
        return replace(decision, records=(*records, *decision.records)) if records else decision
