"""A member of a group of the consumer protocol, as a value: what it wants, what it has, how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass, field, replace

Target = Mapping[Uuid, frozenset[int]]
"""Partitions by topic id."""
Owned = Mapping[Uuid, Mapping[int, int]]
"""Partitions by topic id, each with the epoch at which it was assigned."""
NOTHING: Final[Owned] = {}
JOINING: Final = 0
LEAVING: Final = -1
LEAVING_FOR_NOW: Final = -2
"""Epochs that a heartbeat may carry. Who leaves for now is static, and keeps its partitions until its session ends."""


class MemberState(IntEnum):
    STABLE = 0
    UNREVOKED = 1
    """It is to give up partitions first."""
    UNRELEASED = 2
    """It waits for partitions that others still have."""
    UNKNOWN = 127
    """Of a newer coordinator."""


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """What a member of the classic protocol has told, in a group of the consumer protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Name and metadata, the preferred one first."""


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] = frozenset()
    pattern: str | None = ""
    """The regular expression of its subscription; empty or None: it has none."""
    assignor: str | None = None
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)
    """What it is to give up, and may have still."""
    classic: ClassicSide | None = None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def moved(self, state: MemberState, epoch: int, assigned: Owned, revoking: Owned) -> ConsumerMember:
        return replace(self, state=state, epoch=epoch, previous_epoch=self.epoch, assigned=assigned, revoking=revoking)

    def epoch_of(self, topic_id: Uuid, index: int) -> int | None:
        """At which the partition was assigned; None: it has it neither now nor still."""
        for owned in (self.assigned, self.revoking):
            found = owned.get(topic_id, {}).get(index)
            if found is not None:
                return found
        return None


def owned_at(target: Target, epoch: int) -> Owned:
    return {topic_id: dict.fromkeys(sorted(indexes), epoch) for topic_id, indexes in target.items()}


def without_epochs(owned: Owned) -> Target:
    return {topic_id: frozenset(indexes) for topic_id, indexes in owned.items()}


def has_only(reported: Iterable[tuple[Uuid, Iterable[int]]] | None, owned: Owned) -> bool:
    """Whether all that a member reports is among this; it reports nothing at all: no."""
    if reported is None:
        return False
    return all(topic_id in owned and owned[topic_id].keys() >= set(indexes) for topic_id, indexes in reported)


def has_any(reported: Iterable[tuple[Uuid, Iterable[int]]] | None, owned: Owned) -> bool:
    """Whether something of this is reported; what is not said is not given up."""
    if reported is None:
        return True
    return any(not owned.get(topic_id, {}).keys().isdisjoint(indexes) for topic_id, indexes in reported)
