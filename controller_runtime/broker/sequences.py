"""What a leader asks of a batch that has a producer: its epoch, its place among the producer's batches, and whether it
belongs to a transaction that is known to be open.

Apache Kafka 4.3.1's rules. Who is no client (a coordinator writes offsets under the id of a producer) is asked for the
epoch alone. A transactional batch that begins a transaction here needs a verification (KIP-890): the leader has noted
that it asks the transaction's coordinator, and the batch brings the note back.
"""

from __future__ import annotations

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import NO_PRODUCER, ProducerBatch, ProducerEntry, next_sequence
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.protocol.transaction_markers import Marker
from controller_runtime.values import dataclass, field

NO_EPOCH = -1
FIRST_VERSION_BUMPED = 2
"""Of `transaction.version`: each transaction has its own epoch, that of its marker is one more."""


@dataclass(slots=True, eq=False)
class Verification:
    """That a producer's transaction is being asked for. Each is itself: only the newest one counts."""

    epoch: int
    lowest_sequence: int
    begins_at_zero: bool
    """Its transactions have version 2: who is unknown here has written nothing yet."""

    def note(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


@dataclass(slots=True)
class Verifications:
    """Of one led partition, by producer."""

    asked: dict[int, Verification] = field(default_factory=dict)

    def begin(self, producer_id: int, epoch: int, sequence: int, *, begins_at_zero: bool) -> Verification:
        found = self.asked.get(producer_id)
        if found is None:
            found = self.asked[producer_id] = Verification(epoch, sequence, begins_at_zero)
        found.note(epoch, sequence)
        return found

    def end(self, header: BatchHeader, *, bumped: bool = False) -> None:
        """A transactional batch or a marker came. One of a marker with the epoch of the next transaction is kept."""
        found = self.asked.get(header.producer_id)
        if found is not None and not (bumped and found.epoch == header.producer_epoch):
            del self.asked[header.producer_id]


def has_open_transaction(entry: ProducerEntry | None, epoch: int) -> bool:
    return entry is not None and entry.transaction_first_offset >= 0 and entry.epoch == epoch


def check_batch_of_producer(
    entry: ProducerEntry | None,
    header: BatchHeader,
    verification: Verification | None,
    *,
    verified: Verification | None,
    verifies: bool,
    from_client: bool,
) -> ProducerBatch | BatchRefusal | None:
    """The batch that this one repeats, or why it cannot come now, or None: it is next. `verification`: what was noted
    here; `verified`: what the batch brings.
    """
    if header.producer_id <= NO_PRODUCER:
        return None
    repeated = _repeated(entry, header) if from_client else None
    if repeated is not None:
        return repeated
    newest = NO_EPOCH if entry is None else entry.epoch
    if header.producer_epoch < newest:
        return BatchRefusal(ErrorCode.INVALID_PRODUCER_EPOCH, f"epoch {header.producer_epoch}, {newest} is newer")
    is_open = has_open_transaction(entry, header.producer_epoch)
    if header.is_transactional and verifies and not is_open and (verified is None or verified is not verification):
        return BatchRefusal(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
    if from_client and (refused := _check_sequence(entry, header, verification)) is not None:
        return refused
    if not header.is_transactional and entry is not None and entry.transaction_first_offset >= 0:
        why = f"producer {header.producer_id} has an open transaction, this write is none of it"
        return BatchRefusal(ErrorCode.INVALID_TXN_STATE, why)
    return None


def _repeated(entry: ProducerEntry | None, header: BatchHeader) -> ProducerBatch | None:
    if entry is None:
        return None
    return entry.duplicate(header.producer_epoch, header.base_sequence, header.last_sequence)


def _check_sequence(
    entry: ProducerEntry | None, header: BatchHeader, verification: Verification | None
) -> BatchRefusal | None:
    sequence, expected = header.base_sequence, None
    if verification is not None:
        if verification.begins_at_zero and entry is None and sequence:
            expected = 0
        elif sequence > verification.lowest_sequence:
            expected = verification.lowest_sequence
    if expected is None and entry is not None and entry.epoch != NO_EPOCH:
        newer_epoch = header.producer_epoch > entry.epoch
        is_first = newer_epoch or not entry.batches
        expected = 0 if is_first else next_sequence(entry.last_sequence)
        if sequence == expected:
            return None
    if expected is None:
        return None  # Its state may have expired or been deleted with the records: any sequence may follow.
    why = f"producer {header.producer_id}: got {sequence}, {expected} is next"
    return BatchRefusal(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, why)


def check_marker(entry: ProducerEntry | None, epoch: int, marker: Marker, version: int) -> BatchRefusal | None:
    """Of a coordinator that nobody has followed, for a producer that nobody has fenced. `version`: of transactions."""
    if entry is None:
        return None
    is_open = entry.transaction_first_offset >= 0
    # With version 2 a marker has a newer epoch than its transaction; one that came before is written once more.
    is_stale = epoch <= entry.epoch if version >= FIRST_VERSION_BUMPED and is_open else epoch < entry.epoch
    if is_stale:
        return BatchRefusal(ErrorCode.INVALID_PRODUCER_EPOCH, f"a marker of epoch {epoch}, {entry.epoch} is known")
    if marker.coordinator_epoch < entry.coordinator_epoch:
        newer = f"{entry.coordinator_epoch} is newer"
        return BatchRefusal(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED, f"a coordinator of epoch {marker.coordinator_epoch}, {newer}"
        )
    return None
