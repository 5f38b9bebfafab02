"""What the admin client answers about groups: plain values, in Kafka's words."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.admin.results import NodeDescription
from controller_runtime.values import dataclass

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    protocol_type: str
    """`consumer`, `connect` ...; empty: it only commits offsets."""
    state: str | None
    """None: a broker that does not tell (before ListGroups 4)."""
    type: str | None
    """`classic`, `consumer`, `share`, `streams`; None: a broker that does not tell (before ListGroups 5)."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    target: tuple[TopicPartition, ...] = ()
    epoch: int | None = None
    """Of groups of the consumer protocol."""
    is_upgraded: bool | None = None
    """In a group of the consumer protocol: does it speak that itself? None: a broker that does not tell."""


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    state: str
    assignor: str
    coordinator: NodeDescription
    members: tuple[GroupMember, ...]
    epoch: int | None = None
    target_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int | None


Committed = Mapping[TopicPartition, CommittedOffset]
