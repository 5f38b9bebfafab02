"""What may happen to a node: everything that one of its parts may hear. See `quorum.events` for the shell's duties."""

from __future__ import annotations

from controller_runtime.broker.effects import BrokerEvent
from controller_runtime.node.quorum.events import QuorumEvent
from controller_runtime.parts.events import UnreadRequest

NodeEvent = QuorumEvent | BrokerEvent | UnreadRequest
