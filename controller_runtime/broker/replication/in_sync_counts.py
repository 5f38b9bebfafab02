"""How many partitions that a broker leads are short of replicas, as Kafka's metrics count them."""

from __future__ import annotations

from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class InSyncCounts:
    under_replicated: int = 0
    """Fewer are in sync than there are."""
    under_min: int = 0
    """Fewer than `min.insync.replicas` asks for."""
    at_min: int = 0
    """So many that none may be lost."""
