"""Who belongs to the cluster: broker and controller registrations as the log tells them.

A broker's epoch is the offset at which its registration was to be written. It starts fenced; fencing, controlled
shutdown and its log directories change by later records. Contact times and other soft state are not here: they are no
part of the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Endpoint, NodeId, Uuid
from controller_runtime.values import dataclass, field

MIGRATING: Final = DirectoryId(Uuid.of(0, 0))
UNASSIGNED: Final = DirectoryId(Uuid.of(0, 1))
LOST: Final = DirectoryId(Uuid.of(0, 2))
RESERVED_DIRECTORIES: Final = 100
"""Ids whose number is below this mean something other than a directory."""


def is_reserved(directory: Uuid) -> bool:
    """Kafka compares the halves as signed numbers, so half of the ids that begin with eight zero bytes are reserved."""
    return directory[:8] == bytes(8) and directory_order(directory)[1] < RESERVED_DIRECTORIES


def directory_order(directory: Uuid) -> tuple[int, int]:
    """Kafka's order of uuids: two signed numbers."""
    return (int.from_bytes(directory[:8], "big", signed=True), int.from_bytes(directory[8:], "big", signed=True))


@dataclass(frozen=True, slots=True)
class Listener:
    """One advertised endpoint. `security_protocol`: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    host: str
    port: int
    security_protocol: int = 0

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.host, self.port)


@dataclass(frozen=True, slots=True)
class VersionRange:
    """The levels of a feature that a node supports, both ends included."""

    minimum: int
    maximum: int

    def __contains__(self, level: int) -> bool:
        return self.minimum <= level <= self.maximum

    def __str__(self) -> str:
        return f"{self.minimum}-{self.maximum}"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    id: NodeId
    epoch: BrokerEpoch
    incarnation_id: Uuid
    listeners: Mapping[str, Listener]
    features: Mapping[str, VersionRange]
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    directories: tuple[DirectoryId, ...] = ()
    """Online log directories, sorted. Empty when the broker registered below metadata.version 3.7-IV2."""
    cordoned_directories: tuple[DirectoryId, ...] | None = None

    def has_online_directory(self, directory: DirectoryId) -> bool:
        """Kafka's `DirectoryId.isOnline`: a replica not yet assigned counts as online, and so does any when none are
        known.
        """
        if directory in (UNASSIGNED, MIGRATING):
            return True
        return directory != LOST and (not self.directories or directory in self.directories)


@dataclass(frozen=True, slots=True)
class ControllerRegistration:
    id: NodeId
    incarnation_id: Uuid
    listeners: Mapping[str, Listener]
    features: Mapping[str, VersionRange]
    zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """Registrations by node id, ascending."""

    brokers: Mapping[NodeId, BrokerRegistration] = field(default_factory=dict)
    controllers: Mapping[NodeId, ControllerRegistration] = field(default_factory=dict)

    def unfenced(self, broker_id: int) -> BrokerRegistration | None:
        """The broker if it is registered and unfenced."""
        found = self.brokers.get(NodeId(broker_id))
        return None if found is None or found.fenced else found
