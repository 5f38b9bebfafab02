"""The active controller: request + image -> records + response, and the periodic work, as deadlines.

It knows no raft, disk or socket. Its caller gives it the newest image (uncommitted changes included), appends the records it returns
and lets responses leave when they are committed. The only state kept here is soft: when each broker was last heard of. It is made anew
by `activate` and dropped by `deactivate`; everything else is in the image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.identifiers import Instant, NodeId, Uuid, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.schema import Message

SERVED: Final[frozenset[int]] = frozenset()
"""API keys that `handle` answers."""


@dataclass(frozen=True, slots=True)
class ControllerConfig:
    """What the active controller needs to know that is not in the log."""

    node_id: NodeId
    cluster_id: str
    bootstrap_records: tuple[VersionedRecord, ...]
    """From bootstrap.checkpoint: metadata.version first. Written on the first activation of an empty log."""
    broker_session_timeout_s: float = 9.0
    no_op_interval_s: float = 0.5
    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True


@dataclass(frozen=True, slots=True)
class Chance:
    """The dice, given by the shell: a real random source in production, a seeded one in the simulator."""

    new_uuid: Callable[[], Uuid]
    below: Callable[[int], int]
    """A number in [0, n)."""


class ControllerService:
    def __init__(self, config: ControllerConfig, chance: Chance) -> None:
        self._config = config
        self._chance = chance

    def activate(self, image: MetadataImage, now: Instant, wall: WallClock) -> tuple[VersionedRecord, ...]:
        """Begin to lead with the whole log replayed into `image`. The records, if any, must become one atomic batch, before all others."""
        raise NotImplementedError

    def deactivate(self) -> None:
        """Leadership is lost: forget soft state. Calls other than `activate` are errors until then."""
        raise NotImplementedError

    def handle(self, image: MetadataImage, request: Message, context: RequestContext, now: Instant) -> Decision:
        """Answer one request whose key is in SERVED. Never raises for what the request says."""
        raise NotImplementedError

    def periodic(self, image: MetadataImage, now: Instant, wall: WallClock) -> tuple[VersionedRecord, ...]:
        """Work that is due: NoOp records, fencing of silent brokers. Call when `next_deadline` has passed; calling early is harmless."""
        raise NotImplementedError

    def next_deadline(self) -> Instant | None:
        """When `periodic` wants to be called; None while inactive."""
        raise NotImplementedError
