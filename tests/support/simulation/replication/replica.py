"""The log of one replica in the model: values with the leader epochs that they were written in, and which of them are
on the platter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller_runtime.identifiers import Uuid

Key = tuple[Uuid, int]
"""A partition: the topic's id and the index."""
Entry = tuple[int, int]
"""Leader epoch and value. Each value is written once in a schedule."""


@dataclass
class Replica:
    entries: list[Entry] = field(default_factory=list)
    flushed: int = 0
    """So many are on the platter; what a process wrote outlives it, not the power."""
    high_watermark: int = 0

    @property
    def end(self) -> int:
        return len(self.entries)

    @property
    def last_epoch(self) -> int:
        return self.entries[-1][0] if self.entries else -1

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The newest epoch up to this one that has entries, and where it ends (KIP-101); (-1, 0) if there is none."""
        for offset in range(self.end, 0, -1):
            if self.entries[offset - 1][0] <= epoch:
                return self.entries[offset - 1][0], offset
        return -1, 0

    def truncate(self, end: int) -> None:
        del self.entries[end:]
        self.flushed = min(self.flushed, end)
        self.high_watermark = min(self.high_watermark, end)

    def lose_power(self) -> None:
        self.truncate(self.flushed)
