"""What a controller shows of itself: for readiness, metrics and tests."""

from __future__ import annotations

from controller_runtime.identifiers import NodeId, Offset
from controller_runtime.node.metadata_replica import MetadataReplica
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ControllerStatus:
    """For readiness, metrics and tests; a value of one moment."""

    role: str
    epoch: int
    leader_id: NodeId | None
    is_active: bool
    is_voter: bool
    high_watermark: Offset
    log_end_offset: Offset
    image_offset: Offset
    pending_replies: int
    voters: tuple[NodeId, ...]


def status_of(
    meta: MetadataReplica, image_offset: Offset, pending_replies: int, *, is_active: bool
) -> ControllerStatus:
    replica = meta.replica
    return ControllerStatus(
        type(replica.role).__name__,
        replica.epoch,
        replica.leader_id,
        is_active,
        replica.is_voter,
        meta.high_watermark,
        meta.end_offset,
        image_offset,
        pending_replies,
        replica.voters.ids,
    )


@dataclass(slots=True)
class OperationCounters:
    """For metrics: what was asked of the active controller."""

    operations: int = 0
    """Requests that were decided."""
    refused_operations: int = 0
    """Refused because too many wait for their commit."""
    refused_heartbeats: int = 0

    def refused(self, request: Message, *, overloaded: bool) -> None:
        if overloaded:
            self.refused_operations += 1
            self.refused_heartbeats += isinstance(request, BrokerHeartbeatRequest)
