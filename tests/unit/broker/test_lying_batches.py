"""Every lie of a producer has the answer that Apache Kafka gave it, and leaves the partition as it was.

The answers were recorded by `tests/interop/test_lying_producers.py`, which asks Kafka again in every run.
"""

from __future__ import annotations

import json

import pytest

from controller_runtime.broker import batch_checks
from controller_runtime.broker.append_rules import AppendRules, BatchRefusal
from controller_runtime.broker.batch_checks import check_batch, frame_size
from controller_runtime.broker.leader import Appended, Leader
from controller_runtime.broker.partition import OpenLog
from controller_runtime.identifiers import PartitionId, Uuid
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.record_batch import claimed_header
from controller_runtime.protocol.record_survey import wrapped
from support.clients.lying_batches import (
    GZIP,
    KINDS,
    LIES,
    RECORDED,
    TIME,
    ZSTD,
    batch,
    packed,
    partition_of,
    record,
    records,
)

pytestmark = pytest.mark.unit

ANSWERS: dict[str, dict[str, list[int]]] = json.loads(RECORDED.read_text())
OF_THE_REQUEST = {
    "transactional",
    "transactional without a producer",
    "control and transactional",
    "an end of transaction",
    "attributes -1",
}
"""Kafka refuses the whole request for them, before it looks at a batch: `test_broker_service.py`."""


def partition() -> Leader:
    return Leader(OpenLog(PartitionId(Uuid.of(1, 1), 0), "orders", 0, 0, 0, 0), 0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_lie_is_answered_as_java_answered_it(kind: str) -> None:
    """PRD-02, PRD-04, PRD-07, PRD-08: base offsets that are not 0 among them."""
    rules, found = AppendRules.of(KINDS[kind]), {}
    led = {number: partition() for number in range(1 + max(map(partition_of, LIES)))}
    wanted = {name: answer for name, answer in ANSWERS[kind].items() if name not in OF_THE_REQUEST}
    for name in wanted:
        one = led[partition_of(name)]
        before, producers = one.log.end_offset, len(one.log.producers)
        outcome = one.append(LIES[name], rules, TIME + 86_400_000)
        error = outcome.error if isinstance(outcome, BatchRefusal) else ErrorCode.NONE
        assert error == ErrorCode.NONE or len(one.log.producers) == producers, name
        found[name] = [int(error), one.log.end_offset - before]
    assert found == wanted


def test_at_least_two_hundred_lies_were_told_to_java() -> None:
    assert sum(len(answers) for answers in ANSWERS.values()) > 1_400
    assert len(LIES) > 200


def test_the_largest_timestamp_is_what_the_records_say() -> None:
    outcome = partition().append(LIES["max timestamp 2^63-1"], AppendRules(), TIME)
    honest = partition().append(batch(), AppendRules(), TIME)
    assert isinstance(outcome, Appended)
    assert isinstance(honest, Appended)
    assert outcome.data == honest.data


def test_a_batch_that_unpacks_to_more_than_the_budget_is_too_large() -> None:
    """A bomb costs no more than the budget: the rest of it is never unpacked."""
    large = batch_checks.MAX_UNPACKED_BYTES
    for codec in (GZIP, ZSTD):
        refused = check_batch(packed(codec, record(0, bytes(large))), AppendRules(), TIME)
        assert isinstance(refused, BatchRefusal)
        assert refused.error == ErrorCode.MESSAGE_TOO_LARGE
        fits = check_batch(packed(codec, record(0, bytes(large - 100))), AppendRules(), TIME)
        assert not isinstance(fits, BatchRefusal)


def test_a_batch_of_more_records_than_the_budget_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_checks, "MAX_RECORDS", 10)
    for made in (batch(records(11), count=11), packed(GZIP, records(11), 11)):
        refused = check_batch(made, AppendRules(), TIME)
        assert isinstance(refused, BatchRefusal)
        assert refused.error == ErrorCode.MESSAGE_TOO_LARGE
    assert not isinstance(check_batch(batch(records(10), count=10), AppendRules(), TIME), BatchRefusal)


def test_no_bytes_at_all_raise_anything() -> None:
    """Each byte of an honest batch flipped, its checksum made right again: a judgement, whatever it is."""
    rules = AppendRules()
    for honest in (batch(count=3), packed(GZIP, count=3), LIES["honest with key and headers"]):
        for place in range(21, len(honest)):
            data = bytearray(honest)
            data[place] ^= 0xFF
            outcome = partition().append(_with_right_checksum(data), rules, TIME)
            assert isinstance(outcome, Appended | BatchRefusal)


def test_records_that_are_wrong_are_named() -> None:
    late = batch(record(0) + record(1, time=7_200_000) + record(2), count=3)
    refused = partition().append(late, AppendRules(), TIME)
    assert isinstance(refused, BatchRefusal)
    why = f"Timestamp {TIME + 7_200_000} of message with offset 1 is out of range. "
    why += f"The timestamp should be within [{TIME - (2**63 - 1)}, {TIME + 3_600_000}]"
    assert (refused.error, refused.records) == (ErrorCode.INVALID_TIMESTAMP, ((1, why),))
    allowed = AppendRules.of({"message.timestamp.after.max.ms": "7200000"})
    assert isinstance(partition().append(late, allowed, TIME), Appended)
    refused = partition().append(batch(), AppendRules.of({"message.timestamp.before.max.ms": "5"}), TIME + 6)
    assert isinstance(refused, BatchRefusal)
    assert refused.error == ErrorCode.INVALID_TIMESTAMP


def test_a_record_may_be_as_late_and_as_early_as_the_topic_allows() -> None:
    """PRD-10: the first and the last moment are in time; only the records outside of them are named."""
    rules = AppendRules(timestamp_before_max_ms=5, timestamp_after_max_ms=7)
    for times, wrong in (
        ([-5, 7], ()),
        ([-6, -5, 0], (0,)),
        ([0, 7, 8], (2,)),
        ([-6, -5, 7, 8], (0, 3)),
        ([-2 * TIME, 0], (0,)),
    ):
        made = batch(b"".join(record(n, time=time) for n, time in enumerate(times)), count=len(times))
        outcome = partition().append(made, rules, TIME)
        assert tuple(number for number, _ in getattr(outcome, "records", ())) == wrong
        assert getattr(outcome, "error", ErrorCode.NONE) == (ErrorCode.INVALID_TIMESTAMP if wrong else ErrorCode.NONE)


def test_three_records_without_a_key_are_named_in_the_message_and_all_in_the_answer() -> None:
    """PRD-09."""
    refused = partition().append(batch(count=5), AppendRules(needs_keys=True), TIME)
    assert isinstance(refused, BatchRefusal)
    why = "Compacted topic cannot accept message without key"
    first = ", ".join(f"RecordError(batchIndex={number}, message='{why}')" for number in range(3))
    assert refused.message == (
        "One or more records have been rejected due to 5 record errors in total, "
        f"and only showing the first three errors at most: [{first}]"
    )
    assert refused.records == tuple((number, why) for number in range(5))


def test_the_time_of_a_batch_that_claims_the_leaders_is_kept_as_it_is() -> None:
    """`tests/interop/test_lying_producers.py` compares the logs: Kafka takes it, and makes it a batch with the
    producer's time.
    """
    outcome = partition().append(LIES["log append time"], AppendRules(), TIME)
    assert isinstance(outcome, Appended)
    header = claimed_header(outcome.data)
    assert (header.max_timestamp, header.is_log_append_time) == (TIME, False)


@pytest.mark.parametrize(
    ("base", "times", "latest"),
    [
        (TIME, [(1 << 63) - 1], -1),
        (TIME, [0, (1 << 63) - 1], TIME),
        (-(1 << 63), [0, -5], (1 << 63) - 5),
        ((1 << 63) - 1, [0, -7], (1 << 63) - 1),
        (-(1 << 63), [0, 3], -1),
    ],
)
def test_times_that_are_no_long_overflow_as_javas_do(base: int, times: list[int], latest: int) -> None:
    made = batch(b"".join(record(n, time=time) for n, time in enumerate(times)), count=len(times), time=base)
    any_time = AppendRules(timestamp_after_max_ms=(1 << 63) - 1)
    outcome = partition().append(made, any_time, TIME)
    assert isinstance(outcome, Appended)
    assert claimed_header(outcome.data).max_timestamp == latest
    anew = check_batch(made, AppendRules(timestamp_after_max_ms=(1 << 63) - 1, compression=Compression.ZSTD), TIME)
    negative = any(wrapped(base + time) < -1 for time in times)
    assert getattr(anew, "error", ErrorCode.NONE) == (ErrorCode.UNKNOWN_SERVER_ERROR if negative else ErrorCode.NONE)


def test_zstd_came_with_version_7() -> None:
    """PRD-02, KIP-110: an older client could not read it."""
    for codec, version, error in (
        (ZSTD, 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (ZSTD, 7, ErrorCode.NONE),
        (ZSTD, 13, ErrorCode.NONE),
        (GZIP, 3, ErrorCode.NONE),
        (0, 3, ErrorCode.NONE),
    ):
        made = packed(codec) if codec else batch()
        outcome = check_batch(made, AppendRules(), TIME, version)
        assert getattr(outcome, "error", ErrorCode.NONE) == error, (codec, version)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("magic 3", "Invalid magic found in record: 3"),
        ("magic -1", "Invalid magic found in record: -1"),
        ("two batches, the second of magic 3", "Invalid magic found in record: 3"),
        ("length 13", "Record size 13 is less than the minimum record overhead (14)"),
        ("length -1", "Record size -1 is less than the minimum record overhead (14)"),
        ("codec 5", "Unknown compression type id: 5"),
    ],
)
def test_a_refusal_says_what_kafka_says(name: str, words: str) -> None:
    refused = check_batch(LIES[name], AppendRules(), TIME)
    assert isinstance(refused, BatchRefusal)
    assert refused.message == words


def test_a_batch_of_more_than_sixteen_megabytes_is_taken_where_the_topic_allows_it() -> None:
    large = batch(record(0, bytes(17 << 20)))
    outcome = check_batch(large, AppendRules(max_message_bytes=len(large)), TIME)
    assert not isinstance(outcome, BatchRefusal)


def test_a_frame_needs_its_length_before_it_is_one() -> None:
    assert frame_size(batch()[:11]) is None
    assert frame_size(batch()[:16]) is None
    assert frame_size(batch()) == len(batch())


def _with_right_checksum(data: bytearray) -> bytes:
    from crc32c import crc32c

    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)
