"""What the active controller does by itself, each thing at its time: elections that nobody asked for, and the
removal of tokens whose time is over. Fencing is apart (`service`), because it may wait for nothing.

One step does so much at most; what is left follows a moment later, so that requests come between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from itertools import islice
from math import inf
from typing import Final

from controller_runtime.controller.decision import Decision, Pieces, written
from controller_runtime.controller.elections import MAX_BY_ITSELF, preferred_leaders, unclean_leaders
from controller_runtime.identifiers import Instant, Offset, WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.messages.elect_leaders_response import ElectLeadersResponse

AGAIN_AFTER_S: Final = 0.01
"""What is beyond one step is done this much later."""
MAX_SWEPT: Final = 1000
"""So many expired tokens are removed in one step."""
Sweep = Callable[[MetadataImage, WallClock], Iterable[VersionedRecord | None]]
"""Gives the records that remove tokens whose time is over."""
UNCLEAN_INTERVAL_S: Final = 300.0
"""Kafka's `unclean.leader.election.interval.ms`."""


class _Work(Enum):
    PREFERRED = auto()
    UNCLEAN = auto()
    TOKENS = auto()


class OwnWork:
    """As long as this node leads."""

    def __init__(
        self, expired_tokens: Sweep, rebalance_interval_s: float | None, token_check_interval_s: float, now: Instant
    ) -> None:
        self._expired_tokens = expired_tokens
        self._interval_s = {
            _Work.PREFERRED: rebalance_interval_s or inf,
            _Work.UNCLEAN: UNCLEAN_INTERVAL_S,
            _Work.TOKENS: token_check_interval_s,
        }
        self._due = {work: Instant(now + interval_s) for work, interval_s in self._interval_s.items()}

    def next_deadline(self) -> Instant:
        return min(self._due.values())

    def due(self, image: MetadataImage, next_offset: Offset, now: Instant, wall: WallClock) -> Pieces | None:
        """One thing whose time has come. `image` has to stay the newest."""
        changes: dict[_Work, tuple[Callable[[], Iterable[VersionedRecord | None]], int]] = {
            _Work.PREFERRED: (lambda: preferred_leaders(image), MAX_BY_ITSELF),
            _Work.UNCLEAN: (lambda: unclean_leaders(image), MAX_BY_ITSELF),
            _Work.TOKENS: (lambda: islice(self._expired_tokens(image, wall), MAX_SWEPT), MAX_SWEPT),
        }
        for work, (begin, at_most) in changes.items():
            if now >= self._due[work]:
                return self._done(work, begin(), at_most, next_offset, now)
        return None

    def _done(
        self, work: _Work, changes: Iterable[VersionedRecord | None], at_most: int, next_offset: Offset, now: Instant
    ) -> Pieces:
        self._due[work] = Instant(now + self._interval_s[work])
        records, end = yield from written(changes, next_offset)
        if end + len(records) - next_offset >= at_most:
            self._due[work] = Instant(now + AGAIN_AFTER_S)
        return Decision(ElectLeadersResponse(), records, atomic=False)
