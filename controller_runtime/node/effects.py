"""What a node asks of the shell: everything that one of its parts may ask for. See `quorum.effects` for the order."""

from __future__ import annotations

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.node.quorum.effects import QuorumEffect

NodeEffect = QuorumEffect | BrokerEffect
