"""What of a node's own dynamic configurations its shell acts on: how many connections its listeners may have,
and how many a second.

The shell begins with what the file says. What the committed image says holds from then on, on controllers and brokers
alike; topics take their values elsewhere.
"""

from __future__ import annotations

from typing import ClassVar

from controller_runtime.answers.connection_limits import connection_limits
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.configs import BROKER, ConfigsImage
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.parts.effects import LimitConnections


class OwnSettings:
    """Implements `part.Part`."""

    NAME: ClassVar = "settings"
    HEARS: ClassVar[frozenset[type]] = frozenset()
    has_left: ClassVar = True

    def __init__(self, own: OwnConfigs, quorum: QuorumPart) -> None:
        self._own = own
        self._quorum = quorum
        self._seen: tuple[object, object] = (None, None)
        self._limits = connection_limits(ConfigsImage(), {}, own)

    def on_event(self, event: object, now: Instant, wall: WallClock) -> list[LimitConnections]:
        del event, now, wall
        return []

    def poll(self, now: Instant, wall: WallClock) -> list[LimitConnections]:
        del now, wall
        image = self._quorum.image
        of_nodes, quotas = image.configs.by_type.get(BROKER), image.client_quotas
        if of_nodes is self._seen[0] and quotas is self._seen[1]:
            return []
        before, self._seen = self._limits, (of_nodes, quotas)
        self._limits = connection_limits(image.configs, quotas, self._own)
        return [] if self._limits == before else [self._limits]

    def next_deadline(self) -> None:
        return None
