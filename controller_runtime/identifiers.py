"""Numbers and ids that must not mix.

`NewType`s cost nothing at run time and stop a node id from being passed as an epoch. `Uuid` is Kafka's: 16 bytes,
printed as 22 characters of URL-safe base64 without padding. Nothing here reads a clock or rolls dice: random ids come
from the shell.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple, NewType, Self

from controller_runtime.values import dataclass

NodeId = NewType("NodeId", int)
Epoch = NewType("Epoch", int)
Offset = NewType("Offset", int)
BrokerEpoch = NewType("BrokerEpoch", int)
Instant = NewType("Instant", float)
"""Seconds on a monotonic clock, given by the shell. Only differences mean anything."""

WallClock = NewType("WallClock", int)
"""Milliseconds since the Unix epoch, given by the shell; only ever written into records and replies."""


class Uuid(bytes):
    """Kafka's Uuid: 16 big-endian bytes; `str()` is its text form."""

    __slots__ = ()

    def __new__(cls, value: bytes) -> Self:
        if len(value) != 16:
            raise ValueError(f"a uuid has 16 bytes, not {len(value)}")
        return bytes.__new__(cls, value)

    @classmethod
    def parse(cls, text: str) -> Uuid:
        """Read the 22-character text form. Raises ValueError that names the text."""
        try:
            value = urlsafe_b64decode(text + "==")
        except ValueError as error:
            raise ValueError(f"not a uuid: {text!r}") from error
        if len(text) != 22 or len(value) != 16:
            raise ValueError(f"not a uuid: {text!r} (22 characters of URL-safe base64 are needed)")
        return cls(value)

    @classmethod
    def of(cls, most_significant: int, least_significant: int) -> Uuid:
        return cls(most_significant.to_bytes(8, "big") + least_significant.to_bytes(8, "big"))

    @property
    def begins_with_dash(self) -> bool:
        """Whether the text does: it is the last but one of 64 characters, and the first six bits choose."""
        return self[0] >> 2 == 62

    def __str__(self) -> str:
        return urlsafe_b64encode(self).rstrip(b"=").decode()

    def __repr__(self) -> str:
        return f"Uuid({str(self)!r})"


DirectoryId = NewType("DirectoryId", Uuid)
"""Names one physical directory for its whole life (KIP-853). A new disk is a new directory id."""

ZERO_UUID: Final = Uuid(bytes(16))
METADATA_TOPIC_ID: Final = Uuid.of(0, 1)
METADATA_TOPIC_NAME: Final = "__cluster_metadata"


class PartitionId(NamedTuple):
    """One partition of one topic, for good: a topic of the same name made later has another id.

    A tuple, because each request looks it up a dozen times.
    """

    topic_id: Uuid
    index: int  # type: ignore[assignment]  # it hides the method of tuples, which nobody calls


NO_DIRECTORY: Final = DirectoryId(ZERO_UUID)
NO_NODE: Final = NodeId(-1)


@dataclass(frozen=True, slots=True, order=True)
class OffsetAndEpoch:
    """A position in a replicated log. The order compares the epoch last: use `log_key` to compare logs."""

    offset: Offset
    epoch: Epoch

    @property
    def log_key(self) -> tuple[Epoch, Offset]:
        """Raft's order of logs: the epoch first, then the offset."""
        return (self.epoch, self.offset)

    def __str__(self) -> str:
        return f"{self.offset}@{self.epoch}"


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """Who a voter is: its node id and the directory that holds its log. Without a directory id: kraft.version 0."""

    node_id: NodeId
    directory_id: DirectoryId = NO_DIRECTORY

    def __str__(self) -> str:
        return f"{self.node_id}" if self.directory_id == NO_DIRECTORY else f"{self.node_id}/{self.directory_id}"


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where a listener is reached. The host is a name or an address, resolved anew on every connection attempt."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
