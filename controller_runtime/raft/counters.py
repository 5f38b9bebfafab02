"""What a replica counts of claims that it does not believe, and the allowances that decide it (`raft.epoch_claims`)."""

from __future__ import annotations

from controller_runtime.identifiers import Instant
from controller_runtime.values import dataclass


@dataclass(slots=True)
class Counters:
    refused_epochs: int = 0
    """Claims of higher epochs that were not believed."""
    impostors: int = 0
    """Requests of others that say they are this node."""


@dataclass(slots=True)
class Allowance:
    """So many at once, then so many per second."""

    most: int
    per_second: float
    left: float
    at: Instant | None = None

    def take(self, count: int, now: Instant) -> bool:
        if self.at is not None:
            self.left = min(self.most, self.left + (now - self.at) * self.per_second)
        self.at = now
        if count > self.left:
            return False
        self.left -= count
        return True
