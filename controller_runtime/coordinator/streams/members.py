"""A member of a streams group, as a value: where it runs, which tasks it has, how far it has come.

A task is a subtopology and the number of a partition. The active one processes; standbys, on other processes, keep the
state at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from controller_runtime.values import dataclass, field, replace

Tasks = Mapping[str, frozenset[int]]
"""Partitions by subtopology."""
TasksSince = Mapping[str, Mapping[int, int]]
"""Partitions by subtopology, each with the epoch at which it was assigned."""


class MemberState(IntEnum):
    STABLE = 1
    UNREVOKED = 2
    """It is to give up tasks first."""
    UNRELEASED = 3
    """It waits for tasks that others still have."""
    UNKNOWN = 127
    """Of a newer coordinator."""


@dataclass(frozen=True, slots=True)
class Target:
    """Tasks that a member is to have, or says that it has."""

    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    warmup: Tasks = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def has_any(self, owned: Owned) -> bool:
        """Some of these."""
        return (
            any(not owned.active.get(each, {}).keys().isdisjoint(tasks) for each, tasks in self.active.items())
            or _have_any(self.standby, owned.standby)
            or _have_any(self.warmup, owned.warmup)
        )


@dataclass(frozen=True, slots=True)
class Owned:
    """Tasks that a member has."""

    active: TasksSince = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    warmup: Tasks = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    @property
    def without_epochs(self) -> Target:
        active = {each: frozenset(since) for each, since in self.active.items()}
        return Target(active, self.standby, self.warmup)


NO_TASKS: Final = Target()
NOTHING: Final = Owned()


def _have_any(one: Tasks, other: Tasks) -> bool:
    return any(not other.get(each, frozenset()).isdisjoint(tasks) for each, tasks in one.items())


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member answers queries of its state (`application.server`)."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class StreamsMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    """Of a newer coordinator: static members are refused."""
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Place | None = None
    client_tags: Mapping[str, str] = field(default_factory=dict)
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING
    """What it is to give up, and may have still."""

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == epoch

    def moved(self, state: MemberState, epoch: int, assigned: Owned, revoking: Owned) -> StreamsMember:
        return replace(self, state=state, epoch=epoch, previous_epoch=self.epoch, assigned=assigned, revoking=revoking)

    def epoch_of(self, subtopology: str, index: int) -> int | None:
        """At which the active task was assigned; None: it has it neither now nor still."""
        for owned in (self.assigned, self.revoking):
            found = owned.active.get(subtopology, {}).get(index)
            if found is not None:
                return found
        return None
