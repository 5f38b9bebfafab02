"""How far a log's readers of committed records may read: the last stable offset.

Nothing behind it belongs to a transaction that is open, or whose marker not every replica in sync has. A new leader
knows of the open ones from its log, of the others no more than Kafka does: it has read their markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from controller_runtime.broker.effects import Data, Stable
from controller_runtime.protocol.messages.fetch_response import AbortedTransaction
from controller_runtime.protocol.producer_states import ProducerEntry
from controller_runtime.values import dataclass, field

LATE_BUFFER_MS: Final = 300_000
"""So much longer than `transaction.max.timeout.ms` a transaction may be open before it is called late, as in Kafka."""


@dataclass(slots=True)
class UnstableOffsets:
    markers: dict[int, int | None] = field(default_factory=dict)
    """By the offset at which a transaction begins, ascending: that of its marker; None: it is open."""

    @classmethod
    def of(cls, producers: Mapping[int, ProducerEntry]) -> UnstableOffsets:
        begun = (entry.transaction_first_offset for entry in producers.values())
        return cls(dict.fromkeys(sorted(offset for offset in begun if offset >= 0)))

    def note(self, before: int, after: int, offset: int) -> None:
        """A batch at `offset` was appended: where its producer's transaction began before and after it, or -1."""
        if before != after:
            if before >= 0:
                self.markers[before] = offset
            if after >= 0:
                self.markers[after] = None

    def first(self, high_watermark: int) -> int | None:
        """Where the first of them begins."""
        while self.markers:
            begins, marker = next(iter(self.markers.items()))
            if marker is None or marker >= high_watermark:
                return begins
            del self.markers[begins]
        return None


def count_late(logs: Iterable[Mapping[int, ProducerEntry]], before_ms: int) -> int:
    """In how many logs the transaction that is open longest has had no batch since then: it hangs, for its coordinator
    would have ended it. `logs`: what each knows of producers.
    """
    open_ones = ([entry for entry in log.values() if entry.transaction_first_offset >= 0] for log in logs)
    oldest = (min(found, key=lambda entry: entry.transaction_first_offset) for found in open_ones if found)
    return sum(0 < entry.timestamp < before_ms for entry in oldest)


def aborted_transactions(found: Data) -> tuple[AbortedTransaction, ...]:
    """What a reader of committed records is told beside what was read."""
    aborted = found.aborted if isinstance(found, Stable) else ()
    return tuple(AbortedTransaction(producer_id=producer_id, first_offset=first) for producer_id, first in aborted)
