"""The broker's part of a node: its decisions, with what the metadata log says and where the active controller is."""

from __future__ import annotations

from typing import ClassVar, Protocol, get_args

from controller_runtime.broker.effects import BrokerEffect, BrokerEvent
from controller_runtime.broker.service import BrokerService
from controller_runtime.identifiers import Endpoint, Instant, Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import (
    CallFailed,
    ConnectionClosed,
    RequestReceived,
    ResponseReceived,
    ShutdownRequested,
    UnreadRequest,
)


class SeenMetadata(Protocol):
    """What a broker sees of the metadata log: of its own node's replica."""

    @property
    def image(self) -> MetadataImage:
        """The newest committed image."""
        ...

    @property
    def image_offset(self) -> Offset:
        """Where it ends."""
        ...

    @property
    def kraft_version(self) -> int: ...

    @property
    def is_known(self) -> bool:
        """How far the log is committed is known, and the image has come so far."""
        ...

    def leader_endpoint(self) -> Endpoint | None:
        """Where the active controller is reached now."""
        ...


class BrokerPart:
    """Implements `part.Part`."""

    NAME: ClassVar = "broker"
    HEARS: ClassVar = frozenset({UnreadRequest, ConnectionClosed, *get_args(BrokerEvent)})

    def __init__(self, service: BrokerService, metadata: SeenMetadata) -> None:
        self.service = service
        self._metadata = metadata

    @property
    def has_left(self) -> bool:
        """The controlled shutdown is over."""
        return self.service.has_left

    def on_event(self, event: object, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        return self.service.completed(self._on_event(event, now, wall), now, wall)

    def _on_event(self, event: object, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        if isinstance(event, BrokerEvent):
            return self.service.on_data(event, now, wall)
        match event:
            case RequestReceived():
                return self.service.on_request(event, now, wall)
            case UnreadRequest():
                return self.service.on_unread(event, now)
            case ResponseReceived(call_id, _, body):
                return self.service.on_response(call_id, body, now)
            case CallFailed(call_id, why):
                return self.service.on_failure(call_id, why, now)
            case ConnectionClosed(connection_id):
                return self.service.on_connection_closed(connection_id, now, wall)
            case ShutdownRequested():
                self.service.shut_down(now)
            case _:
                pass
        return []

    def poll(self, now: Instant, wall: WallClock) -> list[BrokerEffect]:
        seen = self._metadata
        moved = self.service.metadata_moved(
            seen.image, seen.image_offset, seen.kraft_version, controller=seen.leader_endpoint(), now=now
        )
        found = moved + self.service.poll(now, wall)
        if self.service.admission is not None:
            guard = self.service.admission.guard
            guard.is_ready = guard.is_ready or seen.is_known
        return self.service.completed(found, now, wall)

    def next_deadline(self) -> Instant | None:
        return self.service.next_deadline()
