"""How many partitions that a broker leads are short of replicas, as Kafka's metrics count them."""

from __future__ import annotations

from collections.abc import Iterable

from controller_runtime.broker.replication.led_replicas import LedReplicas
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class InSyncCounts:
    under_replicated: int = 0
    """Fewer are in sync than there are."""
    under_min: int = 0
    """Fewer than `min.insync.replicas` asks for."""
    at_min: int = 0
    """So many that none may be lost."""


def count_in_sync(led: Iterable[tuple[LedReplicas, int]], alone: int) -> InSyncCounts:
    """`led`: what has other replicas, and how many its topic wants in sync. `alone`: how many partitions of one replica
    there are; each has all that it needs, and none to lose.
    """
    under_replicated = under_min = at_min = 0
    for replicas, least in led:
        count, needed = len(replicas.isr), replicas.needed(least)
        under_replicated += count <= len(replicas.remotes)
        under_min, at_min = under_min + (count < needed), at_min + (count == needed)
    return InSyncCounts(under_replicated, under_min, at_min + alone)
