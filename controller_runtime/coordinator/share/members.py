"""A member of a share group, and which partitions of topics have a state, as values.

Members share partitions: nobody waits until another one has given up, so a member has its target at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass, field

STABLE: Final = 0
"""The only state that is written."""


@dataclass(frozen=True, slots=True)
class ShareMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    assigned: Target = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shared:
    """Partitions of a topic."""

    name: str
    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class SharedTopics:
    """Partitions that the share coordinator keeps a state of for the group, by topic id, and how far that has come.

    Only what is initialized is assigned to members.
    """

    initializing: Mapping[Uuid, Shared] = field(default_factory=dict)
    initialized: Mapping[Uuid, Shared] = field(default_factory=dict)
    deleting: Mapping[Uuid, str] = field(default_factory=dict)
    """Names of topics."""


def joined(one: Mapping[Uuid, Shared], other: Mapping[Uuid, Shared]) -> dict[Uuid, Shared]:
    """The partitions of both."""
    found = dict(one)
    for topic_id, shared in other.items():
        before = found.get(topic_id)
        partitions = shared.partitions if before is None else before.partitions | shared.partitions
        found[topic_id] = Shared(shared.name, partitions)
    return found


def without(one: Mapping[Uuid, Shared], gone: Mapping[Uuid, frozenset[int]]) -> dict[Uuid, Shared]:
    """What is left; topics of which nothing is left are not named."""
    found: dict[Uuid, Shared] = {}
    for topic_id, shared in one.items():
        rest = shared.partitions - gone.get(topic_id, frozenset())
        if rest:
            found[topic_id] = Shared(shared.name, rest)
    return found
