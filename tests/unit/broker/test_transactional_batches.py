"""Which batches of producers with transactions a leader takes."""

from __future__ import annotations

import pytest

from controller_runtime.broker.append_rules import BatchRefusal
from controller_runtime.broker.sequences import Verification, check_batch_of_producer, check_marker
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
