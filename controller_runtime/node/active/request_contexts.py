"""What decisions know of the quorum: looked up again only when consensus has done something."""

from __future__ import annotations

from controller_runtime.controller.decision import RequestContext
from controller_runtime.identifiers import NO_NODE, NodeId, Offset, WallClock
from controller_runtime.node.active.pending import ControllerRequest
from controller_runtime.node.quorum.part import QuorumPart


class RequestContexts:
    def __init__(self, quorum: QuorumPart) -> None:
        self._quorum = quorum
        self._listener = quorum.meta.config.listener
        self._found: tuple[NodeId, int] = (NO_NODE, 0)
        self._seen_at = -1

    def of(self, call: ControllerRequest, next_offset: Offset, wall: WallClock) -> RequestContext:
        forwarded = call.asker.envelope is not None
        listener, principal = call.connection.listener, call.principal
        leader, level = self._seen()
        return RequestContext(
            call.version,
            next_offset,
            wall,
            listener=listener,
            principal=principal,
            leader_id=leader,
            kraft_version=level,
            forwarded=forwarded,
            client_id=call.client_id,
            authenticated=call.connection.authenticated,
            token_authenticated=call.token_authenticated,
            connection_id=call.connection.connection_id,
        )

    def own(self, next_offset: Offset, wall: WallClock) -> RequestContext:
        """Of what the active controller asks of itself."""
        return RequestContext(0, next_offset, wall, self._listener)

    def _seen(self) -> tuple[NodeId, int]:
        meta = self._quorum.meta
        if self._seen_at != meta.changes:
            self._seen_at = meta.changes
            self._found = (self._quorum.leader_id, meta.replica.voter_history.kraft_version)
        return self._found
