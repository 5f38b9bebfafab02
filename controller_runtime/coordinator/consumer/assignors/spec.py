"""What an assignor is given: who reads which topics, and who has what by the target before."""

from __future__ import annotations

from collections.abc import Mapping

from controller_runtime.coordinator.consumer.members import Target
from controller_runtime.identifiers import Uuid
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Reader:
    instance_id: str | None
    topics: tuple[Uuid, ...]
    """Those that are there; in one order for all readers."""
    before: Target


@dataclass(frozen=True, slots=True)
class Spec:
    readers: Mapping[str, Reader]
    """By member id."""
    counts: Mapping[Uuid, int]
    """How many partitions each topic has that somebody reads."""
    is_homogeneous: bool
    """All members read the same topics."""

    @property
    def size(self) -> int:
        """How much there is to do."""
        return len(self.readers) + sum(self.counts.values())
