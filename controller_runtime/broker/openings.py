"""Which logs of replicas are being opened, and which openings concern nobody: their replica went away meanwhile."""

from __future__ import annotations

from controller_runtime.identifiers import PartitionId


class Openings:
    def __init__(self) -> None:
        self._under_way: set[PartitionId] = set()
        self._outdated: dict[PartitionId, int] = {}

    def __bool__(self) -> bool:
        """Logs of replicas that are here are being opened."""
        return bool(self._under_way)

    def begin(self, key: PartitionId) -> None:
        self._under_way.add(key)

    def end(self, key: PartitionId) -> None:
        """It is open, or has failed."""
        self._under_way.discard(key)

    def outdate(self, key: PartitionId) -> None:
        """Its replica went away: what comes of it is taken as `is_outdated` once."""
        self._under_way.discard(key)
        self._outdated[key] = self._outdated.get(key, 0) + 1

    def is_outdated(self, key: PartitionId) -> bool:
        """An opening of this partition has ended: whether it was one of those. Each ends once, in order."""
        left = self._outdated.pop(key, 0)
        if left > 1:
            self._outdated[key] = left - 1
        return left > 0
