"""What a broker tells of the partitions that groups share, as values: all that one without any has imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.values import dataclass, field

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
WORDS: Final = {ACCEPT: "Accept", RELEASE: "Release", REJECT: "Reject", RENEW: "Renew"}
"""What is said of a record, as the metric calls it. Of a gap nothing is counted."""


@dataclass(frozen=True, slots=True)
class ShareFacts:
    """Of requests once for each topic: a request for two topics counts twice."""

    sessions: int = 0
    partitions: int = 0
    """Of these sessions."""
    evictions: int = 0
    """Sessions that ended with their connection."""
    fetches: int = 0
    failed_fetches: int = 0
    acknowledgements: int = 0
    failed_acknowledgements: int = 0
    records: Mapping[int, int] = field(default_factory=dict)
    """Of which something was said that was kept, by what was said."""
    loads: int = 0
    """How often a partition's state was asked for."""
    last_loads_s: tuple[float, ...] = ()
    """How long each of the last few took."""
