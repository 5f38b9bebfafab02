"""A node: parts in order, and the way of each event to the part that it is for.

Every node has a replica of the metadata log, its upkeep and its own settings; a controller, a broker or both make its
roles, and nothing else tells one node from another. Roles meet only in the image: the broker of a combined node speaks
to the active controller over the network, even when that is itself.

- A request goes by the listener that it came in at, an answer to the part that made the call, anything else to the part
  that hears its kind. What no part hears (a call that was cancelled) is nobody's.
- A step takes its events one after another, then polls each part once: requests that came together are decided, written
  and released together. What only the broker hears touches nothing but the broker: then it is polled alone.
- On shutdown the parts take their leave from the last to the first, each while those before it are still there: a
  broker leaves while there is still a controller to take leave of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from controller_runtime.identifiers import Instant, Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.own_settings import OwnSettings
from controller_runtime.node.part import Part
from controller_runtime.node.quorum.faults import UnreadableLog
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.node.quorum.upkeep import LogUpkeep
from controller_runtime.parts.call_ids import CallTable
from controller_runtime.parts.effects import Stop
from controller_runtime.parts.events import CallFailed, RequestReceived, ResponseReceived, ShutdownRequested

if TYPE_CHECKING:  # a node loads only the parts that it has
    from controller_runtime.node.broker_part import BrokerPart
    from controller_runtime.node.controller_part import ControllerPart


class Node:
    """Implements `ports.DrivenNode`. `compose` makes it."""

    def __init__(
        self,
        calls: CallTable,
        quorum: QuorumPart,
        upkeep: LogUpkeep,
        settings: OwnSettings,
        *,
        controller: ControllerPart | None,
        broker: BrokerPart | None,
        controller_listeners: Iterable[str] = (),
    ) -> None:
        """`controller_listeners` are the controller's where there is a broker too."""
        self.quorum = quorum
        self.upkeep = upkeep
        self.controller = controller
        self.broker = broker
        found: tuple[Part | None, ...] = (quorum, controller, upkeep, settings, broker)
        self.parts: tuple[Part, ...] = tuple(part for part in found if part is not None)
        self._calls = calls
        self._last = self.parts[-1:]
        self._named: dict[str | None, Part] = {part.NAME: part for part in self.parts}
        self._hearing: dict[type, Part] = {kind: part for part in self.parts for kind in part.HEARS}
        self._front: Part = self.parts[-1] if controller is None else broker or controller
        self._fronts: dict[str, Part] = {} if controller is None else dict.fromkeys(controller_listeners, controller)
        self._staying: list[Part] | None = None
        """While it shuts down: those that were not asked to leave yet."""
        self._stopped = False
        self.heard: Callable[[NodeEvent], None] | None = None
        """Called after each event: who measures tells one event's work from the next one's."""

    # What others may know.

    @property
    def meta(self) -> MetadataReplica:
        return self.quorum.meta

    @property
    def image(self) -> MetadataImage:
        """The newest committed image, without a metadata transaction that is still open."""
        return self.quorum.image

    @property
    def image_offset(self) -> Offset:
        """Where the newest committed image ends."""
        return self.quorum.image_offset

    @property
    def is_active(self) -> bool:
        """It is the active controller."""
        return self.controller is not None and self.controller.is_active

    @property
    def working_on(self) -> int | None:
        """The API whose decision takes long, and goes on when the parts are polled."""
        return None if self.controller is None else self.controller.working_on

    # Driving it.

    def start(self, now: Instant, wall: WallClock) -> list[NodeEffect]:
        self.quorum.begin_step()
        out: list[NodeEffect] = [*self.quorum.start(now, wall)]
        self._poll(self.parts, out, now, wall)
        return out

    def step(self, events: Sequence[NodeEvent], now: Instant, wall: WallClock) -> list[NodeEffect]:
        self.quorum.begin_step()
        out: list[NodeEffect] = []
        polled: Sequence[Part] = self._last
        try:
            for event in events:
                heard_by = self._hear(event, out, now, wall)
                if heard_by is None or heard_by is not self.broker:
                    polled = self.parts
                if self.heard is not None:
                    self.heard(event)
            self._poll(polled, out, now, wall)
        except UnreadableLog as unreadable:
            return [Stop(str(unreadable), fault=True)]
        return out

    def next_deadline(self) -> Instant | None:
        earliest: Instant | None = None
        for part in self.parts:
            at = part.next_deadline()
            if at is not None and (earliest is None or at < earliest):
                earliest = at
        return earliest

    def _hear(self, event: NodeEvent, out: list[NodeEffect], now: Instant, wall: WallClock) -> Part | None:
        """Returns the part that heard it; None: no single one did."""
        part: Part | None = None
        match event:
            case RequestReceived():
                part = self._fronts.get(event.connection.listener, self._front)
            case ResponseReceived() | CallFailed():
                part = self._named.get(self._calls.end(event.call_id))
            case ShutdownRequested():
                if self._staying is None:
                    self._staying = list(self.parts)
                    self._dismiss(out, now, wall)
            case _:
                part = self._hearing.get(type(event))
        if part is not None:
            out += part.on_event(event, now, wall)
        return part

    def _poll(self, parts: Sequence[Part], out: list[NodeEffect], now: Instant, wall: WallClock) -> None:
        for part in parts:
            out += part.poll(now, wall)
        while self._staying and self._dismiss(out, now, wall):
            for part in self.parts:
                out += part.poll(now, wall)
        if self._staying == [] and self.quorum.has_left and not self._stopped:
            self._stopped = True
            out.append(Stop("shut down"))

    def _dismiss(self, out: list[NodeEffect], now: Instant, wall: WallClock) -> bool:
        """Ask the next ones to leave, as long as those after them have left. False: nobody was asked."""
        assert self._staying is not None, "it shuts down"
        dismissed = False
        while self._staying and all(part.has_left for part in self.parts[len(self._staying) :]):
            out += self._staying.pop().on_event(ShutdownRequested(), now, wall)
            dismissed = True
        return dismissed
