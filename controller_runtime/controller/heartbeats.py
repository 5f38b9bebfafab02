"""When each broker was last heard of, and what state a heartbeat takes it to: the only soft state of the controller.

Soft means: lost with the leadership, and nothing is wrong then. A new leader gives every unfenced broker a whole
session (`Heartbeats.begin`). Whether a broker is fenced or shutting down is never kept here; the image says it.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import Final

from controller_runtime.identifiers import BrokerEpoch, Instant, NodeId, Offset
from controller_runtime.metadata.cluster import BrokerRegistration
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import ConnectionId
from controller_runtime.values import dataclass, replace

CUT_OFF_S: Final = 4.0
"""So long at least a broker whose connection was lost has for its next heartbeat: it sends one every two seconds, and a
machine may be busy.
"""
_MISSED: Final = 1.5
"""Intervals between its heartbeats, if it sends fewer."""
_NOTHING: Final = Offset(-1)
"""What a broker has replayed that did not say it yet."""


class BrokerState(Enum):
    """KIP-631's states of a registered broker, as the controller sees them."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"

    @property
    def is_fenced(self) -> bool:
        return self in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)


@dataclass(frozen=True, slots=True)
class Contact:
    """The last heartbeat of one registration."""

    epoch: BrokerEpoch
    at: Instant
    metadata_offset: Offset
    connection_id: ConnectionId | None = None
    """On which it came; None: a new leader has not heard of it yet."""
    interval_s: float = 0.0
    """The longest between two heartbeats of this registration."""
    ends: Instant | None = None
    """The connection was lost: it is over then, if nothing is heard before."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a heartbeat says."""

    fence: bool
    shut_down: bool
    caught_up: bool
    """The broker has replayed its own registration."""


class Heartbeats:
    """Contact times by broker. One object per leadership."""

    def __init__(self, session_timeout_s: float) -> None:
        self.session_timeout_s = session_timeout_s
        self._contacts: dict[NodeId, Contact] = {}
        self._shutdown_offsets: dict[NodeId, Offset] = {}

    @classmethod
    def begin(cls, image: MetadataImage, now: Instant, session_timeout_s: float) -> Heartbeats:
        """A new leadership: every unfenced broker has just been heard of."""
        made = cls(session_timeout_s)
        for broker in image.cluster.brokers.values():
            if not broker.fenced:
                made._contacts[broker.id] = Contact(broker.epoch, now, _NOTHING)
        return made

    def touch(
        self, broker: BrokerRegistration, now: Instant, metadata_offset: int, connection_id: ConnectionId | None = None
    ) -> None:
        before, interval_s = self._contacts.get(broker.id), 0.0
        if before is not None and before.epoch == broker.epoch:
            interval_s = max(before.interval_s, now - before.at)
        self._contacts[broker.id] = Contact(broker.epoch, now, Offset(metadata_offset), connection_id, interval_s)

    def hear(self, broker: BrokerRegistration, now: Instant, connection_id: ConnectionId | None = None) -> None:
        """A sign of life that says nothing else: what the broker has replayed is what it said before (CLU-10)."""
        self.touch(broker, now, self._offset(broker.id), connection_id)

    def cut_off(self, connection_id: ConnectionId, now: Instant) -> Instant | None:
        """The connection on which a broker was heard of last is gone. Whoever lives comes back within the time of its
        next heartbeat, on another one; whoever does not is not waited for until the end of its session. Returns when
        that time is over; None: nobody was heard of there last.
        """
        for broker_id, contact in self._contacts.items():
            if contact.connection_id == connection_id and contact.ends is None:
                patience_s = min(self.session_timeout_s, max(CUT_OFF_S, _MISSED * contact.interval_s))
                ends = Instant(min(now + patience_s, contact.at + self.session_timeout_s))
                self._contacts[broker_id] = replace(contact, ends=ends)
                return ends
        return None

    def forget(self, broker_id: NodeId) -> None:
        self._contacts.pop(broker_id, None)
        self._shutdown_offsets.pop(broker_id, None)

    def has_valid_session(self, broker: BrokerRegistration, now: Instant) -> bool:
        """Whether this very registration was heard of within the session. One that never sent a heartbeat has none."""
        contact = self._contacts.get(broker.id)
        return contact is not None and contact.epoch == broker.epoch and now < self._end(contact)

    def _end(self, contact: Contact) -> float:
        return contact.at + self.session_timeout_s if contact.ends is None else contact.ends

    def stale_broker(self, image: MetadataImage, now: Instant) -> BrokerRegistration | None:
        """The unfenced broker that has been silent longest, if its session is over."""
        silent = [b for b in image.cluster.brokers.values() if not b.fenced and not self.has_valid_session(b, now)]
        return min(silent, key=self._last_contact, default=None)

    def first_end(self, image: MetadataImage) -> float:
        """When the session of an unfenced broker may end first; infinite when nobody has one."""
        unfenced = (contact for contact in map(self._contact, image.cluster.brokers.values()) if contact is not None)
        return min(map(self._end, unfenced), default=inf)

    def _contact(self, broker: BrokerRegistration) -> Contact | None:
        """Of an unfenced broker, as this very registration."""
        contact = None if broker.fenced else self._contacts.get(broker.id)
        return contact if contact is not None and contact.epoch == broker.epoch else None

    def _last_contact(self, broker: BrokerRegistration) -> float:
        contact = self._contacts.get(broker.id)
        return contact.at if contact is not None and contact.epoch == broker.epoch else float("-inf")

    def silences(self, now: Instant) -> dict[NodeId, float]:
        """Seconds since the last heartbeat, by broker."""
        return {broker_id: max(0.0, now - contact.at) for broker_id, contact in self._contacts.items()}

    def begin_shutdown(self, broker_id: NodeId, offset: Offset) -> None:
        """Remember where the log ended when the broker entered controlled shutdown; only the first time counts
        (CLU-08).
        """
        self._shutdown_offsets.setdefault(broker_id, offset)

    def others_caught_up(self, image: MetadataImage, broker_id: NodeId) -> bool:
        """Whether every active broker has replayed what moved the leaderships away from this one."""
        needed = self._shutdown_offsets.get(broker_id, _NOTHING)
        active = [b.id for b in image.cluster.brokers.values() if not b.fenced and not b.in_controlled_shutdown]
        return all(needed <= self._offset(other) for other in active)

    def _offset(self, broker_id: NodeId) -> int:
        contact = self._contacts.get(broker_id)
        return _NOTHING if contact is None else contact.metadata_offset


def current_state(broker: BrokerRegistration) -> BrokerState:
    if broker.fenced:
        return BrokerState.FENCED
    return BrokerState.CONTROLLED_SHUTDOWN if broker.in_controlled_shutdown else BrokerState.UNFENCED


def next_state(current: BrokerState, wish: Wish, *, leads: bool, others_caught_up: bool) -> BrokerState:
    """Kafka's table: the state after a heartbeat."""
    match current:
        case BrokerState.FENCED:
            if wish.shut_down:
                return BrokerState.SHUTDOWN_NOW
            return BrokerState.UNFENCED if not wish.fence and wish.caught_up else BrokerState.FENCED
        case BrokerState.UNFENCED:
            if wish.fence:
                return BrokerState.SHUTDOWN_NOW if wish.shut_down else BrokerState.FENCED
            if wish.shut_down:
                return BrokerState.CONTROLLED_SHUTDOWN if leads else BrokerState.SHUTDOWN_NOW
            return BrokerState.UNFENCED
        case BrokerState.CONTROLLED_SHUTDOWN:
            done = not leads and others_caught_up
            return BrokerState.SHUTDOWN_NOW if done else BrokerState.CONTROLLED_SHUTDOWN
        case BrokerState.SHUTDOWN_NOW:
            raise AssertionError("a broker that may shut down is recorded as fenced")
