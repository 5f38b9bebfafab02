"""A node that is controller and broker in one process (process.roles=broker,controller).

One metadata log, one image: the controller follows and writes it, the broker is told about every new one. They meet
only there: the broker speaks to the active controller over the network, even when that is itself, so the two roles
behave as they do apart. The listener decides whose request it is. On shutdown the broker leaves first, while there is
still a controller to take leave of.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.broker_effects import (
    BrokerEvent,
    PartitionFailed,
    PartitionOpened,
    PartitionWritten,
    RecordsRead,
    TimestampFound,
)
from controller_runtime.node.broker_node import as_node_effects
from controller_runtime.node.broker_service import BrokerService, Effects
from controller_runtime.node.controller_node import ControllerNode
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import (
    CallFailed,
    ConnectionClosed,
    NodeEvent,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
)

_DATA: Final = (PartitionOpened, PartitionFailed, PartitionWritten, RecordsRead, TimestampFound)


class CombinedNode:
    """Implements `ports.Node`."""

    def __init__(self, controller: ControllerNode, broker: BrokerService, controller_listeners: frozenset[str]) -> None:
        """Both were given the same `CallIds`."""
        self.controller = controller
        self.service = broker
        self._controller_listeners = controller_listeners
        self._leaving = False
        self._handed_over = False

    def start(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self._finish([*self.controller.start(now, wall)], now, wall)

    def step(self, event: NodeEvent | BrokerEvent, now: Instant, wall: WallClock) -> list[NodeEffect]:
        return self._finish(self._on_event(event, now, wall), now, wall)

    def next_deadline(self) -> Instant | None:
        wanted = (self.controller.next_deadline(), self.service.next_deadline())
        return min((at for at in wanted if at is not None), default=None)

    def _on_event(self, event: NodeEvent | BrokerEvent, now: Instant, wall: WallClock) -> Effects:
        if isinstance(event, _DATA):
            return self.service.on_data(event, now, wall)
        match event:
            case RequestReceived() if event.connection.listener not in self._controller_listeners:
                return self.service.on_request(event, now, wall)
            case ResponseReceived(call_id, _, body) if self.service.owns(call_id):
                return self.service.on_response(call_id, body, now)
            case CallFailed(call_id, why) if self.service.owns(call_id):
                return self.service.on_failure(call_id, why, now)
            case ShutdownRequested():
                self._leaving = True
                self.service.shut_down(now)
                return []
            case ConnectionClosed(connection_id):
                self.service.on_connection_closed(connection_id)
            case _:
                pass
        return [*self.controller.step(event, now, wall)]

    def _finish(self, out: Effects, now: Instant, wall: WallClock) -> list[NodeEffect]:
        replica = self.controller.meta.replica
        active = replica.leader_endpoint(self.controller.config.raft.listener)
        kraft_version = replica.voter_history.kraft_version
        out += self.service.metadata_moved(
            self.controller.image, self.controller.image_offset, kraft_version, active, now, wall
        )
        out += self.service.poll(now)
        if self._leaving and self.service.has_left and not self._handed_over:
            self._handed_over = True
            out += self.controller.step(ShutdownRequested(), now, wall)
        return as_node_effects(out)
