"""Which batches of producers with transactions a leader takes."""

from __future__ import annotations

import pytest

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.sequences import Verification, check_batch_of_producer, check_marker
from controller_runtime.broker.unstable_offsets import UnstableOffsets, count_late
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.producer_states import ProducerEntry
from controller_runtime.protocol.record_batch import Record, claimed_header, encode_batch
from controller_runtime.protocol.transaction_markers import Marker

pytestmark = pytest.mark.unit

OPEN = ProducerEntry(7, 3, coordinator_epoch=5, transaction_first_offset=10)


def judged(
    entry: ProducerEntry | None,
    *,
    sequence: int = 0,
    verified: bool = False,
    verifies: bool = True,
    inside: bool = True,
) -> ErrorCode | None:
    data = encode_batch(
        [Record(0, 1, None, b"x")], is_transactional=inside, producer_id=7, producer_epoch=3, base_sequence=sequence
    )
    noted = Verification(3, 0, begins_at_zero=True)
    found = check_batch_of_producer(
        entry,
        claimed_header(data),
        noted if verified else None,
        verified=noted if verified else None,
        verifies=verifies,
        from_client=True,
    )
    return found.error if isinstance(found, BatchRefusal) else None


def test_a_transaction_begins_where_it_was_verified() -> None:
    """PRD-22; `transaction.partition.verification.enable` says whether it must be."""
    assert judged(None) is ErrorCode.INVALID_TXN_STATE
    assert judged(None, verifies=False) is None
    assert judged(None, verified=True) is None
    assert judged(OPEN) is None


def test_who_is_unknown_and_verified_begins_at_zero() -> None:
    """PRD-20."""
    assert judged(None, verified=True, sequence=4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_nothing_is_written_beside_the_own_open_transaction() -> None:
    """PRD-25."""
    assert judged(OPEN, inside=False) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("epoch", "coordinator", "version", "error"),
    [
        (3, 5, 0, None),
        (2, 5, 0, ErrorCode.INVALID_PRODUCER_EPOCH),
        (3, 5, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (4, 5, 2, None),
        (4, 4, 2, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
    ],
)
def test_markers_of_the_past_are_refused(epoch: int, coordinator: int, version: int, error: ErrorCode | None) -> None:
    """TXN-11, TXN-12."""
    found = check_marker(OPEN, epoch, Marker(commit=True, coordinator_epoch=coordinator), version)
    assert (None if found is None else found.error) is error


def test_partitions_whose_oldest_open_transaction_had_no_batch_for_long_are_counted() -> None:
    """TXN-25: what is over, or has no time, hangs nowhere."""

    def began(offset: int, timestamp: int) -> ProducerEntry:
        return ProducerEntry(offset, 3, timestamp=timestamp, transaction_first_offset=offset)

    late, young, over = began(5, 99), began(9, 100), ProducerEntry(1, 3, timestamp=1)
    logs = [{1: late, 2: young}, {1: young}, {1: over}, {}, {1: began(5, -1)}, {1: began(9, 50), 2: began(5, 100)}]
    assert [count_late([log], 100) for log in logs] == [1, 0, 0, 0, 0, 0]
    assert count_late(logs, 101) == 3


def test_committed_records_are_read_up_to_the_first_transaction_that_is_open_or_whose_end_is_not_everywhere() -> None:
    """FCH-22: producers with and without transactions write to one log."""
    unstable = UnstableOffsets()
    unstable.note(-1, 5, 5)
    unstable.note(-1, 8, 8)
    assert unstable.first(20) == 5
    unstable.note(8, -1, 12)
    assert unstable.first(20) == 5, "the later one has ended, the earlier one has not"
    unstable.note(5, -1, 15)
    assert [unstable.first(high_watermark) for high_watermark in (15, 16)] == [5, None]
    unstable.note(-1, -1, 17)
    assert unstable.first(20) is None
