"""Clusters whose logs grow from look to look, as disks of real nodes do: behind each other, with suffixes that never
are committed, trimmed and taken back. What happens when comes from a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from controller_runtime.metadata.image import MetadataImage
from support.disks.log_fleet import Disk, History, disks
from support.pipeline.histories import RandomHistory, log_of

VOTERS = (1, 2, 3)
WAYS = ("grows", "grows", "forks", "loses", "begins with a snapshot", "is completed", "rests")
"""What a cluster is like: two of three disks grow together; one has a suffix of its own; one loses records that are
committed; the beginning is a snapshot; the beginning comes last; nothing happens after the first look."""


@dataclass
class Growing:
    """One cluster: a whole random history, of which each look finds more."""

    root: Path
    cluster: str
    way: str
    seed: int
    looks: int
    log: History = field(init=False)
    images: dict[int, MetadataImage] = field(init=False)
    disks: dict[int, Disk] = field(init=False)

    def __post_init__(self) -> None:
        history = RandomHistory(self.seed)
        history.run(30)
        self.log, self.images = log_of(history, self.cluster, VOTERS)
        self.disks = disks(self.root, self.cluster, VOTERS)
        self.rng = Random(self.seed)
        self.snapshot: int | None = None

    def look(self, number: int) -> None:
        """The disks as the look of this number finds them."""
        if self.way == "rests" and number:
            return
        at = len(self.log.batches) * (number + 1) // self.looks
        end = self.log.batches[max(1, at - self.rng.randrange(2)) - 1].end
        begin = self._begin(number)
        behind = self.rng.choice(VOTERS)
        for node, disk in self.disks.items():
            own = self.log.batches[max(1, at - 3) - 1].end if node == behind else end
            if self.way == "loses" and node == 1 and number % 2:
                own = self.log.batches[max(1, at // 2)].end
            known = self.log.fork(own)
            if self.way == "forks" and node == behind and number < self.looks - 1:
                known.lead(node, known.epoch + self.rng.choice((1, 5)))
                known.idle(2)
            disk.write(known, start=begin)

    def _begin(self, number: int) -> int:
        middle = self.log.batches[len(self.log.batches) // (2 * self.looks)]
        if self.way == "begins with a snapshot":
            if self.snapshot is None:
                later = (it for it in self.log.batches if it.base >= middle.base)
                self.snapshot = next(it.end for it in later if self.images[it.end - 1].transaction is None)
            for disk in self.disks.values():
                disk.snapshot(self.log, self.images[self.snapshot - 1], self.snapshot)
            return self.snapshot
        if self.way == "is completed" and number < self.looks - 1:
            return middle.base
        return 0


def growing(root: Path, seed: int, ways: Sequence[str], looks: int) -> list[Growing]:
    return [Growing(root, f"grown-{number}", way, seed + number, looks) for number, way in enumerate(ways)]
