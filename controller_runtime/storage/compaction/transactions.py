"""What a cleaner knows of transactions: which of them were aborted, and whether anything of one is left.

The batches themselves say it: a survey before the cleaning pairs data with the marker that ends it, up to the high
watermark. So nothing depends on an index of aborted transactions, which a log need not have.
"""

from __future__ import annotations

from heapq import heapify, heappop
from typing import Final

from controller_runtime.protocol.control_records import ControlType, UnknownControlRecord, control_type
from controller_runtime.protocol.record_batch import BatchHeader, RecordBatch
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Aborted:
    """A transaction, from its first batch that is left to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


def marker_of(header: BatchHeader, data: bytes) -> ControlType | None:
    """What a control batch says; None of one that was emptied, or that says something that nobody knows."""
    if not header.record_count:
        return None
    try:
        return control_type(RecordBatch(header, data).records[0].key)
    except UnknownControlRecord:
        return None


class Survey:
    """Takes each batch in order; of control batches also what they say."""

    def __init__(self) -> None:
        self.open: Final[dict[int, int]] = {}
        """Producers, and where the transaction begins that no marker has ended."""
        self.aborted: Final[list[Aborted]] = []

    def note(self, header: BatchHeader, marker: ControlType | None) -> None:
        producer = header.producer_id
        if not header.is_control:
            if header.is_transactional:
                self.open.setdefault(producer, header.base_offset)
        elif marker in (ControlType.ABORT, ControlType.COMMIT):
            begun = self.open.pop(producer, None)
            if begun is not None and marker is ControlType.ABORT:
                self.aborted.append(Aborted(producer, begun, header.last_offset))


class CleanedTransactions:
    """Goes through the batches that are cleaned, in their order."""

    def __init__(self, aborted: list[Aborted]) -> None:
        self._coming = [(one.first_offset, one.producer_id, one) for one in aborted]
        heapify(self._coming)
        self._aborting: dict[int, Aborted] = {}
        self._seen: set[int] = set()
        """Producers of aborting transactions of which a batch is left."""
        self._committing: set[int] = set()
        self.kept: Final[set[tuple[int, int]]] = set()
        """Producer and marker of aborted transactions of which a batch was left."""

    def is_aborted(self, header: BatchHeader) -> bool:
        """Of a batch of data."""
        self._come(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborting:
            self._seen.add(header.producer_id)
            return True
        self._committing.add(header.producer_id)
        return False

    def ends_nothing(self, header: BatchHeader, marker: ControlType | None) -> bool:
        """Of a control batch: no batch of its transaction is left, so it says nothing to anybody."""
        self._come(header.last_offset)
        if not header.record_count:
            return True
        producer = header.producer_id
        if marker is ControlType.ABORT:
            ended, seen = self._aborting.pop(producer, None), producer in self._seen
            self._seen.discard(producer)
            if ended is not None and seen:
                self.kept.add((producer, ended.last_offset))
            return not seen
        if marker is ControlType.COMMIT:
            is_left = producer in self._committing
            self._committing.discard(producer)
            return not is_left
        return False

    def _come(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            _, producer, one = heappop(self._coming)
            self._aborting.setdefault(producer, one)
