"""What was asked of the active controller; for metrics."""

from __future__ import annotations

from collections import deque
from typing import Final

from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

MAX_WAITS: Final = 512
"""The newest of them are remembered."""


@dataclass(slots=True)
class OperationCounters:
    operations: int = 0
    """Requests that were decided."""
    refused_operations: int = 0
    """Refused because too many wait for their commit, or because they waited too long for their decision."""
    refused_heartbeats: int = 0
    waits_s: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_WAITS))
    """Of what had to wait for its decision, how long; whoever shows them takes them. The others waited for nothing."""

    def refused(self, request: Message) -> None:
        self.refused_operations += 1
        self.refused_heartbeats += isinstance(request, BrokerHeartbeatRequest)
