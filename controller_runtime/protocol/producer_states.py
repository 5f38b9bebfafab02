"""What a log's batches say about each idempotent producer: its epoch and its last five batches.

The same bookkeeping serves the broker, which checks sequences before an append, and recovery, which replays batch
headers after a restart: so what was refused as a duplicate before a crash is refused after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from controller_runtime.values import dataclass, field, replace

REMEMBERED_BATCHES: Final = 5
"""As in Kafka: a producer has at most five requests in flight, so no older batch can come again."""
NO_PRODUCER: Final = -1
_SEQUENCES: Final = 1 << 31


class ProducedBatch(Protocol):
    """What is asked of a batch: a `BatchHeader` answers."""

    @property
    def base_offset(self) -> int: ...
    @property
    def last_offset(self) -> int: ...
    @property
    def max_timestamp(self) -> int: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def base_sequence(self) -> int: ...
    @property
    def is_control(self) -> bool: ...
    @property
    def is_transactional(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ProducerBatch:
    """One appended batch of a producer."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class ProducerEntry:
    """A producer as a partition knows it. `batches` are the last few, oldest first, all of this epoch."""

    producer_id: int
    epoch: int
    batches: list[ProducerBatch] = field(default_factory=list)
    timestamp: int = -1
    """Of the last batch, data or marker."""
    coordinator_epoch: int = -1
    transaction_first_offset: int = -1
    """Where its open transaction begins; -1: it has none."""

    def copy(self) -> ProducerEntry:
        """One that is changed on its own."""
        return replace(self, batches=list(self.batches))

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1

    def note(self, epoch: int, batch: ProducerBatch) -> None:
        """A batch was appended."""
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, []
        self.batches.append(batch)
        del self.batches[:-REMEMBERED_BATCHES]

    def duplicate(self, epoch: int, first_sequence: int, last_sequence: int) -> ProducerBatch | None:
        """The batch that this one repeats, if it is remembered."""
        if epoch != self.epoch:
            return None
        wanted = (first_sequence, last_sequence)
        return next((b for b in self.batches if (b.first_sequence, b.last_sequence) == wanted), None)


def expired(producers: Mapping[int, ProducerEntry], before_ms: int) -> list[int]:
    """Producers that have not written since then, and have no open transaction."""
    return [
        producer_id
        for producer_id, entry in producers.items()
        if entry.transaction_first_offset < 0 and entry.timestamp <= before_ms
    ]


def next_sequence(sequence: int, count: int = 1) -> int:
    """Sequences wrap from 2**31 - 1 to 0."""
    return (sequence + count) % _SEQUENCES


def previous_sequence(sequence: int, count: int) -> int:
    return (sequence - count) % _SEQUENCES


def note_batch(producers: dict[int, ProducerEntry], batch: ProducedBatch, coordinator_epoch: int | None = None) -> None:
    """Take one appended batch into the account; batches without a producer leave no trace. `coordinator_epoch`: of a
    marker that ends a transaction.
    """
    if batch.producer_id == NO_PRODUCER:
        return
    entry = producers.setdefault(batch.producer_id, ProducerEntry(batch.producer_id, batch.producer_epoch))
    entry.timestamp = batch.max_timestamp
    if batch.base_sequence < 0 or batch.is_control:
        if batch.producer_epoch > entry.epoch:
            entry.epoch, entry.batches = batch.producer_epoch, []
        if batch.is_control:
            entry.transaction_first_offset = -1
            if coordinator_epoch is not None:
                entry.coordinator_epoch = coordinator_epoch
        return
    if batch.is_transactional and entry.transaction_first_offset < 0:
        entry.transaction_first_offset = batch.base_offset
    last = next_sequence(batch.base_sequence, batch.last_offset - batch.base_offset)
    noted = ProducerBatch(batch.base_sequence, last, batch.base_offset, batch.last_offset, batch.max_timestamp)
    entry.note(batch.producer_epoch, noted)
