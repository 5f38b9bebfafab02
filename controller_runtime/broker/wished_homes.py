"""Where replicas that are not here yet are to lie when they come: AlterReplicaLogDirs says so before a reassignment."""

from __future__ import annotations

from typing import Final

from controller_runtime.identifiers import DirectoryId

MOST: Final = 10_000


class WishedHomes:
    """Of too many the oldest is forgotten."""

    def __init__(self) -> None:
        self._wishes: dict[tuple[str, int], DirectoryId] = {}

    def add(self, topic: str, index: int, directory: DirectoryId) -> None:
        self._wishes.pop((topic, index), None)
        self._wishes[topic, index] = directory
        if len(self._wishes) > MOST:
            del self._wishes[next(iter(self._wishes))]

    def take(self, topic: str, index: int) -> DirectoryId | None:
        """It comes: once."""
        return self._wishes.pop((topic, index), None)
