"""What becomes of a transactional id, state by state, and its records."""

from __future__ import annotations

import pytest

from controller_runtime.coordinator.transactions import states
from controller_runtime.coordinator.transactions.records import TransactionRecord, key_of, read, value_of
from controller_runtime.coordinator.transactions.states import State, Transaction, TransactionalId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.values import replace

pytestmark = pytest.mark.unit

NEW = Transaction(producer_id=7, timeout_ms=60_000, updated_ms=1_000)


def begun(epoch: int = 0, state: State = State.EMPTY) -> Transaction:
    return replace(NEW, epoch=epoch, state=state)


def next_epoch(one: Transaction, expected: int | None) -> tuple[int, int] | ErrorCode:
    found = states.with_next_epoch(one, 60_000, expected, 2_000)
    return found if isinstance(found, ErrorCode) else (found.epoch, found.last_epoch)


def test_a_producer_that_begins_fences_all_before_it() -> None:
    """TXN-03: who names its own epoch may ask again, and is told the same."""
    assert next_epoch(NEW, None) == (0, -1)
    assert next_epoch(begun(4), None) == (5, -1)
    assert next_epoch(begun(4), 4) == (5, 4)
    assert next_epoch(replace(begun(5), last_epoch=4), 4) == (5, 4)
    assert next_epoch(begun(5), 3) is ErrorCode.PRODUCER_FENCED


def test_an_epoch_that_is_used_up_brings_another_producer() -> None:
    """TXN-04."""
    one = states.with_next_producer(begun(states.EXHAUSTED_EPOCH), 8, 60_000, 2_000, keeps_last=True)
    assert (one.producer_id, one.epoch, one.previous_producer_id) == (8, 0, 7)
    assert one.last_epoch == states.EXHAUSTED_EPOCH


def test_the_last_transaction_of_a_producer_ends_with_the_next_one() -> None:
    """TXN-04, TXN-09: the marker has the last epoch, the client the next producer's first."""
    one = states.with_partitions(begun(states.EXHAUSTED_EPOCH), [("t", 0)], 2_000, version=2)
    ended = states.ending(one, commit=True, version=2, next_producer_id=8, now_ms=3_000)
    assert (ended.producer_id, ended.epoch) == (7, states.LAST_EPOCH)
    after = states.completed(ended, 4_000)
    assert (after.producer_id, after.epoch, after.previous_producer_id) == (8, 0, 7)
    assert after.partitions == frozenset()


def test_a_fence_at_the_last_epoch_overflows_nothing() -> None:
    """TXN-04: KAFKA-20090."""
    entry = TransactionalId(
        "t", replace(begun(states.EXHAUSTED_EPOCH, State.ONGOING), partitions=frozenset({("t", 0)}))
    )
    raised = states.fenced(entry)
    assert raised.epoch == states.LAST_EPOCH
    ended = states.ending(raised, commit=False, version=2, next_producer_id=8, now_ms=3_000)
    assert ended.epoch == states.LAST_EPOCH
    assert states.completed(ended, 4_000).epoch == 0


def test_a_fence_that_failed_raises_the_epoch_once() -> None:
    """TXN-03: KAFKA-19367."""
    entry = TransactionalId("t", begun(4, State.ONGOING))
    entry.now, entry.fence_failed = states.fenced(entry), True
    assert states.fenced(entry).epoch == 5


def test_a_transaction_that_has_two_keeps_its_epoch_and_one_of_version_2_raises_it() -> None:
    """TXN-11."""
    one = states.with_partitions(begun(4), [("t", 0)], 2_000, version=0)
    assert states.ending(one, commit=True, version=0, next_producer_id=-1, now_ms=3_000).epoch == 4
    assert states.ending(one, commit=True, version=2, next_producer_id=-1, now_ms=3_000).epoch == 5


def test_time_begins_with_the_first_partition() -> None:
    one = states.with_partitions(begun(0, State.COMPLETE_ABORT), [("t", 0)], 2_000, version=0)
    assert states.with_partitions(one, [("t", 1)], 9_000, version=0).started_ms == 2_000
    assert states.ending(begun(0), commit=False, version=2, next_producer_id=-1, now_ms=5_000, is_empty=True).started_ms


def test_what_the_table_does_not_have_is_no_step() -> None:
    entry = TransactionalId("t", begun(0, State.COMPLETE_COMMIT))
    with pytest.raises(AssertionError):
        entry.commit(begun(0, State.COMPLETE_ABORT))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_records_come_back_as_they_were_written(version: int) -> None:
    """TXN-21: value 0 without `transaction.version`, 1 with it; nothing is said of partitions while it is empty."""
    one = states.with_partitions(begun(3), [("b", 1), ("a", 0), ("a", 2)], 2_000, version=2 if version else 0)
    found = read(key_of("t"), value_of(one, version))
    assert found == TransactionRecord("t", one)
    assert value_of(one, version)[:2] == (b"\0\1" if version else b"\0\0")
    assert read(key_of("t"), value_of(begun(3), 0)) == TransactionRecord("t", begun(3))
    assert read(key_of("t"), None) == TransactionRecord("t", None)


def test_types_that_nobody_knows_are_passed_over() -> None:
    """TXN-20."""
    assert read(b"\0\x07x", b"\0\0") is None
