"""How a controller tells the active one who it is: its incarnation, listeners and feature levels.

It asks until its own incarnation is in the committed image, with a growing back-off. Features are finalized only at
levels that every registered controller supports, so a controller that stays silent would hold back an upgrade, not the
quorum.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.answers.api_versions import SUPPORTED_LEVELS
from controller_runtime.identifiers import Endpoint, Instant, NodeId, Uuid
from controller_runtime.metadata.features import CONTROLLER_REGISTRATION
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.messages.controller_registration_request import (
    ControllerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

CHANNEL: Final = "registration"
TIMEOUT_MS: Final = 5000
MIN_BACKOFF_S: Final = 0.1
MAX_BACKOFF_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class ControllerIdentity:
    """Who a controller is in this run. The incarnation is new with every start; endpoints are the advertised ones."""

    node_id: NodeId
    incarnation_id: Uuid
    listeners: tuple[tuple[str, Endpoint, int], ...] = ()
    """Name, endpoint, security protocol (0 is PLAINTEXT)."""
    supported: dict[str, tuple[int, int]] = field(default_factory=lambda: dict(SUPPORTED_LEVELS))


class ControllerRegistrar:
    def __init__(self, identity: ControllerIdentity, calls: CallIds) -> None:
        self._identity = identity
        self._calls = calls
        self._in_flight: CallId | None = None
        self._not_before = Instant(0.0)
        self._backoff_s = MIN_BACKOFF_S
        self._wanted = False

    def next_deadline(self) -> Instant | None:
        return self._not_before if self._wanted and self._in_flight is None else None

    def _is_due(self, image: MetadataImage, now: Instant) -> bool:
        known = image.cluster.controllers.get(self._identity.node_id)
        may = image.features.metadata_version >= CONTROLLER_REGISTRATION
        self._wanted = may and (known is None or known.incarnation_id != self._identity.incarnation_id)
        return self._wanted and self._in_flight is None and now >= self._not_before

    def rest(self) -> None:
        """There is nobody to ask now; a new leader will be an event."""
        self._wanted = False

    def own_request(self, image: MetadataImage, now: Instant) -> Message | None:
        """What the active controller decides about itself, if its newest image does not know this incarnation."""
        if not self._is_due(image, now):
            return None
        self._back_off(now)
        return self._request()

    def poll(self, image: MetadataImage, leader: Endpoint, now: Instant) -> list[QuorumEffect]:
        if not self._is_due(image, now):
            return []
        self._in_flight = self._calls.next()
        return [Call(self._in_flight, CHANNEL, leader, self._request(), TIMEOUT_MS)]

    def on_response(self, call_id: CallId, body: Message, now: Instant) -> None:
        if call_id != self._in_flight:
            return
        self._in_flight = None
        self._back_off(now)
        if isinstance(body, ControllerRegistrationResponse) and body.error_code == 0:
            self._backoff_s = MIN_BACKOFF_S

    def on_failure(self, call_id: CallId, now: Instant) -> None:
        if call_id == self._in_flight:
            self._in_flight = None
            self._back_off(now)

    def _back_off(self, now: Instant) -> None:
        """Until the registration is in the image, asking again soon would only repeat it."""
        self._not_before = Instant(now + self._backoff_s)
        self._backoff_s = min(self._backoff_s * 2, MAX_BACKOFF_S)

    def _request(self) -> Message:
        me = self._identity
        return ControllerRegistrationRequest(
            controller_id=me.node_id,
            incarnation_id=me.incarnation_id,
            zk_migration_ready=False,
            listeners=tuple(
                Listener(name=name, host=at.host, port=at.port, security_protocol=protocol)
                for name, at, protocol in me.listeners
            ),
            features=tuple(
                Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in sorted(me.supported.items())
            ),
        )
