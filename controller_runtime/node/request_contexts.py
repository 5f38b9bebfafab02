"""What requests are told of the quorum: looked up once a step, and again when consensus may have changed it."""

from __future__ import annotations

from controller_runtime.controller.decision import RequestContext
from controller_runtime.identifiers import NO_NODE, NodeId, Offset, WallClock
from controller_runtime.node.metadata_replica import MetadataReplica
from controller_runtime.node.pending import Call


class RequestContexts:
    def __init__(self, meta: MetadataReplica, listener: str) -> None:
        self._meta = meta
        self._listener = listener
        self._quorum: tuple[NodeId, int] | None = None

    def forget(self) -> None:
        """A step begins, or consensus is about to act."""
        self._quorum = None

    def of(self, call: Call, next_offset: Offset, wall: WallClock) -> RequestContext:
        forwarded = call.asker.envelope is not None
        listener, principal = call.connection.listener, call.principal
        leader, level = self._seen()
        return RequestContext(call.version, next_offset, wall, listener, principal, leader, level, forwarded=forwarded)

    def own(self, next_offset: Offset, wall: WallClock) -> RequestContext:
        """Of what the active controller asks of itself."""
        return RequestContext(0, next_offset, wall, self._listener)

    def _seen(self) -> tuple[NodeId, int]:
        if self._quorum is None:
            replica = self._meta.replica
            leader = replica.leader_id
            self._quorum = (NO_NODE if leader is None else leader, replica.voter_history.kraft_version)
        return self._quorum
