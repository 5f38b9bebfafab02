"""What was read, and what a member has of it."""

from __future__ import annotations

from typing import NamedTuple


class ReadBatch(NamedTuple):
    """Of a batch that was read, its header's part in this."""

    base: int
    last: int
    size: int
    producer_id: int = -1
    is_transactional: bool = False
    aborts: bool = False
    """It is the marker of an aborted transaction."""


class Acquired(NamedTuple):
    first: int
    last: int
    deliveries: int
    """How often these have been delivered by now."""
