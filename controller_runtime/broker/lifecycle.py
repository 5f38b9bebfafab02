"""A broker's life in the eyes of the controller (KIP-631): register, catch up, unfence, beat, leave.

    STARTING -> RECOVERY -> RUNNING -> CONTROLLED_SHUTDOWN -> STOPPED

The broker asks to stay fenced until its metadata reached its own registration and, in RECOVERY, every log of it is
recovered; then it asks to be unfenced. The controller decides. One request is in flight at a time. Contact is lost only
by silence: after the session timeout the controller fences the broker, whatever it thinks of itself. Registration that
does not succeed in time, or that can never succeed, is fatal.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Endpoint, Instant, NodeId, Offset, Uuid
from controller_runtime.metadata.features import CORDONED_LOG_DIRS, DIRECTORY_ASSIGNMENT
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.values import dataclass

NO_EPOCH: Final = BrokerEpoch(-1)
_RETRY_S: Final = 0.1
_MAX_RETRY_S: Final = 2.0
_SOON_S: Final = 0.01
"""The pause before the heartbeat that follows a change of state, as in Kafka."""
_HOPELESS: Final = (ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REGISTRATION)

_UNKNOWN_HERE: Final = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)


class State(Enum):
    """Kafka's BrokerState, by its numbers in metrics."""

    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    CONTROLLED_SHUTDOWN = 6
    STOPPED = 7


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Who a broker is in this run; the incarnation is new with every start."""

    node_id: NodeId
    cluster_id: str
    incarnation_id: Uuid
    listeners: tuple[tuple[str, Endpoint, int], ...]
    """Name, advertised endpoint, security protocol (0 is PLAINTEXT)."""
    features: Mapping[str, tuple[int, int]]
    log_dirs: tuple[DirectoryId, ...]
    rack: str | None = None
    previous_epoch: BrokerEpoch = NO_EPOCH
    """Of the last run, if that one ended cleanly."""
    heartbeat_interval_s: float = 2.0
    registration_timeout_s: float = 60.0
    directory_failure_timeout_s: float = 30.0
    """How long the controller may not know of a log directory that failed."""


@dataclass(frozen=True, slots=True)
class Fatal:
    """The process must end."""

    reason: str


class BrokerLifecycle:
    def __init__(self, identity: BrokerIdentity, now: Instant) -> None:
        self.identity = identity
        self.state = State.STARTING
        self.epoch = NO_EPOCH
        self.fenced = True
        self.is_ready = False
        """Every log is recovered."""
        self._said_ready = False
        self._due = now
        self._in_flight = False
        self._retry_s = _RETRY_S
        self._give_up_at = Instant(now + identity.registration_timeout_s)
        self._offline: dict[DirectoryId, Instant | None] = {}
        """Log directories that failed, and until when the controller must know of it; None: it knows."""
        self._said_offline: tuple[DirectoryId, ...] = ()
        self._cordoned: tuple[DirectoryId, ...] = ()
        self._can_tell = False
        """The cluster's level has cordoned directories."""
        self._tells_cordoned = False
        """The controller knows something else, or may."""
        self._registers_again = False
        self.last_refusal: str | None = None
        """Why the controller last refused to register this broker."""

    @property
    def is_registered(self) -> bool:
        return self.epoch != NO_EPOCH

    def next_deadline(self) -> Instant | None:
        if self.state is State.STOPPED:
            return None
        wanted = [at for at in self._offline.values() if at is not None]
        if not self._in_flight:
            wanted.append(self._due)
        if not self.is_registered:
            wanted.append(self._give_up_at)
        return min(wanted, default=None)

    def poll(
        self, offset: Offset, now: Instant, *, reachable: bool
    ) -> BrokerRegistrationRequest | BrokerHeartbeatRequest | Fatal | None:
        """What to send to the active controller now. `offset`: the last one that this broker's image holds."""
        if self.state is State.STOPPED:
            return None
        if not self.is_registered and now >= self._give_up_at:
            seconds = self.identity.registration_timeout_s
            return Fatal(
                f"not registered within {seconds:g} seconds: {self.last_refusal or 'no active controller was reached'}"
            )
        if (failed := self._unknown_failure(now)) is not None:
            seconds = self.identity.directory_failure_timeout_s
            return Fatal(f"the controller was not told within {seconds:g} seconds that log directory {failed} failed")
        if self._in_flight or now < self._due:
            return None
        if not reachable:
            self._due = Instant(now + _RETRY_S)
            return None
        self._in_flight = True
        known = self.is_registered and not self._registers_again
        return self._heartbeat(offset) if known else self._registration()

    def failed(self, now: Instant) -> None:
        """The request got no answer, or one that says that another node is the controller."""
        self._in_flight = False
        self._back_off(now)

    def on_registration(self, response: BrokerRegistrationResponse, now: Instant) -> Fatal | None:
        self._in_flight = self._registers_again = False
        code = response.error_code
        if code == ErrorCode.NONE:
            self.epoch = BrokerEpoch(response.broker_epoch)
            self._retry_s = _RETRY_S
            return None
        self.last_refusal = f"the controller refused it with {ErrorCode(code).name}"
        self._back_off(now)
        is_fatal = code in _HOPELESS and not self.is_registered
        return Fatal(f"registration: {self.last_refusal}") if is_fatal else None

    def on_heartbeat(self, response: BrokerHeartbeatResponse, now: Instant) -> None:
        self._in_flight = False
        if response.error_code != ErrorCode.NONE:
            self._back_off(now)
            if self.state is State.CONTROLLED_SHUTDOWN and response.error_code in _UNKNOWN_HERE:
                self.state = State.STOPPED  # There is nobody to take leave of.
            return
        self._retry_s = _RETRY_S
        self._offline.update(dict.fromkeys(self._said_offline))
        self.fenced = response.is_fenced
        before = self.state
        if self.state is State.STARTING and response.is_caught_up:
            self.state = State.RECOVERY
        elif self.state is State.RECOVERY and self.is_ready and not response.is_fenced:
            self.state = State.RUNNING
        elif self.state is State.CONTROLLED_SHUTDOWN and response.should_shut_down:
            self.state = State.STOPPED
        has_news = self.state is not before or self.is_ready is not self._said_ready
        has_news |= len(self._offline) > len(self._said_offline)
        self._due = Instant(now + (_SOON_S if has_news else self._pause()))

    def recovered(self, now: Instant) -> None:
        """Every log is open, or its directory offline: ask to be unfenced."""
        self.is_ready = True
        self._due = now

    def shut_down(self, now: Instant) -> None:
        """SIGTERM: leave under control, or at once when the controller does not know this broker."""
        if not self.is_registered:
            self.state = State.STOPPED
        elif self.state is not State.STOPPED:
            self.state = State.CONTROLLED_SHUTDOWN
            self._due = now

    def metadata_advanced(self, image: MetadataImage, now: Instant) -> None:
        """The image grew: a broker that waits to catch up tells the controller at once. One that registered when the
        cluster could not know log directories registers again, as the same process, once it can (KIP-858).
        """
        self._can_tell = image.features.metadata_version >= CORDONED_LOG_DIRS
        if not self.is_registered or self._in_flight:
            return
        if self.state is State.STARTING:
            self._due = min(self._due, now)
        found = image.cluster.brokers.get(self.identity.node_id)
        can_know = image.features.metadata_version >= DIRECTORY_ASSIGNMENT
        mine = found is not None and found.epoch == self.epoch and not found.directories
        registered = () if found is None else found.cordoned_directories or ()
        self._tells_cordoned = self._can_tell and set(registered) != set(self._cordoned)
        self._registers_again = can_know and mine and self.state in (State.RECOVERY, State.RUNNING)

    def directory_failed(self, directory_id: DirectoryId, now: Instant) -> None:
        """Tell the controller at once: the directory's partitions need other leaders."""
        self._offline[directory_id] = Instant(now + self.identity.directory_failure_timeout_s)
        if self.is_registered:
            self._due = min(self._due, now)

    def cordon(self, directories: tuple[DirectoryId, ...], now: Instant) -> None:
        """These take no new replicas: the controller is told at once, so that it places none on a broker that has no
        other (KIP-1066).
        """
        if directories == self._cordoned:
            return
        self._cordoned, self._tells_cordoned = directories, self._can_tell
        if self.is_registered and self.state in (State.RECOVERY, State.RUNNING):
            self._due = min(self._due, now)

    def _unknown_failure(self, now: Instant) -> DirectoryId | None:
        late = (directory for directory, at in self._offline.items() if at is not None and now >= at)
        return next(late, None)

    def _pause(self) -> float:
        """Short while the broker waits for what the controller will say next."""
        waits = self.state in (State.STARTING, State.CONTROLLED_SHUTDOWN)
        waits |= self.state is State.RECOVERY and self.is_ready
        return min(self.identity.heartbeat_interval_s, 0.1) if waits else self.identity.heartbeat_interval_s

    def _back_off(self, now: Instant) -> None:
        self._due = Instant(now + self._retry_s)
        self._retry_s = min(self._retry_s * 2, _MAX_RETRY_S)

    def _heartbeat(self, offset: Offset) -> BrokerHeartbeatRequest:
        self._said_ready, self._said_offline = self.is_ready, tuple(self._offline)
        return BrokerHeartbeatRequest(
            broker_id=self.identity.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=offset,
            want_fence=not self.is_ready,
            want_shut_down=self.state is State.CONTROLLED_SHUTDOWN,
            offline_log_dirs=self._said_offline,
            cordoned_log_dirs=self._cordoned if self._tells_cordoned else None,
        )

    def _registration(self) -> BrokerRegistrationRequest:
        me = self.identity
        return BrokerRegistrationRequest(
            broker_id=me.node_id,
            cluster_id=me.cluster_id,
            incarnation_id=me.incarnation_id,
            listeners=tuple(
                Listener(name=name, host=at.host, port=at.port, security_protocol=protocol)
                for name, at, protocol in me.listeners
            ),
            features=tuple(
                Feature(name=name, min_supported_version=lowest, max_supported_version=highest)
                for name, (lowest, highest) in sorted(me.features.items())
            ),
            rack=me.rack,
            log_dirs=tuple(directory for directory in me.log_dirs if directory not in self._offline),
            previous_broker_epoch=me.previous_epoch,
        )
