"""A controller that is not the active one: it sends askers on, and tells the active one who it is."""

from __future__ import annotations

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.node.active.pending import ControllerRequest
from controller_runtime.node.controller_registration import ControllerRegistrar
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.parts.failed_requests import not_controller


class Standby:
    def __init__(self, quorum: QuorumPart, registrar: ControllerRegistrar) -> None:
        self._quorum = quorum
        self._registrar = registrar

    def next_deadline(self) -> Instant | None:
        return self._registrar.next_deadline()

    def serve(self, call: ControllerRequest, now: Instant, wall: WallClock) -> list[QuorumEffect]:
        """Only the active controller decides."""
        del now, wall
        return [not_controller(call.asker, self._quorum.leader_id)]

    def work(self, out: list[QuorumEffect], now: Instant, wall: WallClock) -> None:
        """What goes on by itself, added to `out`."""
        del wall
        endpoint = self._quorum.leader_endpoint()
        replica = self._quorum.meta.replica
        if replica.leader_id is None or replica.is_leader or endpoint is None:
            self._registrar.rest()
        else:
            out += self._registrar.poll(self._quorum.image, endpoint, now)
