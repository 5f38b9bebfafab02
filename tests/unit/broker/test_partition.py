"""A led partition takes each batch once, in order, and says why when it does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.broker.append_rules import AppendRules, BatchRefusal
from controller_runtime.broker.leader import Appended, Leader
from controller_runtime.broker.partition import OpenLog, check_epoch
from controller_runtime.identifiers import Instant, NodeId, PartitionId, Uuid
from controller_runtime.metadata.partitions import Partition
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch

pytestmark = pytest.mark.unit

RULES = AppendRules()
WALL = 1_800_000_000_000


def partition(epoch: int = 3, end: int = 0) -> Leader:
    return Leader(OpenLog(PartitionId(Uuid.of(1, 1), 0), "orders", 0, end, end, end), epoch)


def lead(led: Leader, epoch: int) -> None:
    led.lead(NodeId(1), Partition((1,), (), (1,), 1, leader_epoch=epoch), Instant(0.0), led=True)


def batch(
    count: int = 1, producer: int = -1, epoch: int = -1, sequence: int = -1, codec: Compression = Compression.NONE
) -> bytes:
    records = [Record(n, 1000 + n, None, b"value %d" % n) for n in range(count)]
    return encode_batch(records, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, compression=codec)


def error(outcome: Appended | BatchRefusal) -> ErrorCode:
    return outcome.error if isinstance(outcome, BatchRefusal) else ErrorCode.NONE


def base(outcome: Appended | BatchRefusal) -> int:
    assert isinstance(outcome, Appended), outcome
    return outcome.base_offset


def test_batches_get_the_next_offsets_and_the_leaders_epoch() -> None:
    led = partition(end=10)
    first = led.append(batch(3), RULES, WALL)
    second = led.append(batch(2), RULES, WALL)
    assert (base(first), base(second), led.log.end_offset) == (10, 13, 15)
    assert isinstance(second, Appended)
    (decoded,) = decode_batches(second.data)
    assert [record.offset for record in decoded.records] == [13, 14]
    assert decoded.header.partition_leader_epoch == 3


def test_a_high_watermark_never_goes_back() -> None:
    led = partition()
    outcome = led.append(batch(3), RULES, WALL)
    assert isinstance(outcome, Appended)
    assert (led.log.high_watermark, outcome.wait_for) == (0, 3)
    assert (led.raise_high_watermark(3), led.raise_high_watermark(2), led.log.high_watermark) == (True, False, 3)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (batch() + batch(), ErrorCode.INVALID_RECORD),
        (batch()[:-1], ErrorCode.INVALID_RECORD),
        (batch()[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (batch()[:16] + b"\x01" + batch()[17:], ErrorCode.INVALID_RECORD),
        (encode_batch([Record(0, 0, b"\0\0\0\0", b"")], is_control=True), ErrorCode.INVALID_RECORD),
        (encode_batch([Record(0, 0, None, b""), Record(5, 0, None, b"")]), ErrorCode.INVALID_RECORD),
        (encode_batch([Record(0, 0, None, bytes(2 << 20))]), ErrorCode.MESSAGE_TOO_LARGE),
        (
            encode_batch(
                [Record(0, 0, None, b"")], is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0
            ),
            ErrorCode.INVALID_TXN_STATE,
        ),
        (batch(producer=5, epoch=0, sequence=-1), ErrorCode.INVALID_RECORD),
    ],
)
def test_what_no_client_may_write_is_refused_and_changes_nothing(records: bytes | None, expected: ErrorCode) -> None:
    led = partition()
    assert error(led.append(records, RULES, WALL)) == expected
    assert led.log.end_offset == 0
    assert led.log.producers == {}


def test_a_retry_is_answered_with_the_offset_of_the_first_attempt() -> None:
    """PRD-16."""
    led = partition()
    outcomes = [led.append(batch(2, producer=9, epoch=0, sequence=2 * n), RULES, WALL) for n in range(5)]
    again = [led.append(batch(2, producer=9, epoch=0, sequence=2 * n), RULES, WALL) for n in range(5)]
    assert list(map(base, again)) == list(map(base, outcomes)) == [0, 2, 4, 6, 8]
    assert all(isinstance(each, Appended) and each.data == b"" for each in again)
    assert led.log.end_offset == 10


def test_a_retry_that_overtakes_the_write_waits_for_it() -> None:
    led = partition()
    led.append(batch(2, producer=9, epoch=0, sequence=0), RULES, WALL)
    again = led.append(batch(2, producer=9, epoch=0, sequence=0), RULES, WALL)
    assert isinstance(again, Appended)
    assert again.wait_for == 2 > led.log.high_watermark


@pytest.mark.parametrize(
    ("epoch", "sequence", "expected"),
    [
        (1, 2, ErrorCode.NONE),
        (1, 3, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (1, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (0, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (2, 0, ErrorCode.NONE),
        (2, 2, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_sequences_follow_each_other_within_an_epoch(epoch: int, sequence: int, expected: ErrorCode) -> None:
    """PRD-17, PRD-19."""
    led = partition()
    led.append(batch(2, producer=9, epoch=1, sequence=0), RULES, WALL)
    assert error(led.append(batch(1, producer=9, epoch=epoch, sequence=sequence), RULES, WALL)) == expected


def test_an_unknown_producer_may_begin_anywhere_because_its_state_may_have_expired() -> None:
    assert error(partition().append(batch(1, producer=9, epoch=4, sequence=77), RULES, WALL)) == ErrorCode.NONE


def test_sequences_wrap_at_the_largest_int32() -> None:
    """PRD-18."""
    led = partition()
    led.append(batch(2, producer=9, epoch=0, sequence=2**31 - 1), RULES, WALL)
    assert error(led.append(batch(1, producer=9, epoch=0, sequence=1), RULES, WALL)) == ErrorCode.NONE


def test_log_append_time_is_the_brokers_time() -> None:
    """PRD-10."""
    outcome = partition().append(batch(2), AppendRules(log_append_time=True), WALL)
    assert isinstance(outcome, Appended)
    assert outcome.log_append_time == WALL
    (decoded,) = decode_batches(outcome.data)
    assert [record.timestamp for record in decoded.records] == [WALL, WALL]


def test_a_topic_may_ask_for_another_compression() -> None:
    """PRD-11."""
    rules = AppendRules.of({"compression.type": "zstd", "max.message.bytes": "1000"})
    outcome = partition().append(batch(3, codec=Compression.GZIP), rules, WALL)
    assert isinstance(outcome, Appended)
    (decoded,) = decode_batches(outcome.data)
    assert decoded.header.compression is Compression.ZSTD
    assert [record.value for record in decoded.records] == [b"value 0", b"value 1", b"value 2"]
    assert AppendRules.of({"compression.type": "producer"}).compression is None


def test_what_java_trims_of_a_value_is_trimmed_where_it_is_acted_on() -> None:
    """Found by the fuzz: a number with a control character behind it was accepted for all brokers, and each produce
    failed at reading it.
    """
    padded = AppendRules.of(
        {
            "max.message.bytes": "684109\x02",
            "message.timestamp.after.max.ms": "\x1f7",
            "min.insync.replicas": " 2\0",
            "message.timestamp.type": "LogAppendTime\x03",
            "compression.type": "gzip\x02",
        }
    )
    assert (padded.max_message_bytes, padded.timestamp_after_max_ms, padded.min_insync_replicas) == (684109, 7, 2)
    assert (padded.log_append_time, padded.compression) == (True, Compression.GZIP)
    assert AppendRules.of({"max.message.bytes": "abc"}) == AppendRules.of({})


def test_epochs_know_where_they_begin_and_end() -> None:
    """QRY-06, QRY-07."""
    led = partition(epoch=1)
    led.append(batch(4), RULES, WALL)
    led.epoch = 5
    led.append(batch(2), RULES, WALL)
    assert led.log.epoch_starts == [(1, 0), (5, 4)]
    assert [led.log.epoch_of(offset) for offset in (0, 3, 4, 5)] == [1, 1, 5, 5]
    assert [led.end_of_epoch(epoch) for epoch in (0, 1, 3, 5, 6)] == [(0, 0), (1, 4), (1, 4), (5, 6), (-1, -1)]
    assert [check_epoch(epoch, led.epoch) for epoch in (-1, 4, 5, 6)] == [
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=12), st.lists(st.integers(0, 4), max_size=40))
def test_whatever_is_repeated_or_lost_the_log_holds_each_batch_once_and_in_order(
    counts: list[int], picks: list[int]
) -> None:
    """A producer with five batches in flight sends any of them, again and again, until each is answered."""
    sequences = [sum(counts[:n]) for n in range(len(counts))]
    led, answered, log = partition(), dict[int, int](), list[int]()
    for pick in [0, *picks, *[0] * len(counts)]:
        first = min((n for n in range(len(counts)) if n not in answered), default=max(0, len(counts) - 5))
        chosen = min(len(counts) - 1, first + pick)
        outcome = led.append(batch(counts[chosen], producer=1, epoch=0, sequence=sequences[chosen]), RULES, WALL)
        if isinstance(outcome, Appended):
            if outcome.data:
                log.append(chosen)
            assert answered.setdefault(chosen, outcome.base_offset) == outcome.base_offset
    assert log == list(range(len(counts)))
    assert [answered[n] for n in range(len(counts))] == sequences


def test_an_append_says_the_brokers_time_only_if_it_is_the_records_time() -> None:
    outcome = partition().append(batch(), RULES, WALL)
    assert isinstance(outcome, Appended)
    assert outcome.log_append_time == -1


def test_an_epoch_is_known_from_the_offset_where_it_was_first_led() -> None:
    led = partition(epoch=3)
    lead(led, 3)
    assert (led.log.epoch_starts, led.log.epoch_of(0), led.end_of_epoch(3)) == ([(3, 0)], 3, (3, 0))
    led.append(batch(4), RULES, WALL)
    lead(led, 3)
    assert led.log.epoch_starts == [(3, 0)], "it is the same one"
    lead(led, 5)
    assert (led.log.epoch_starts, led.epoch) == ([(3, 0), (5, 4)], 5)
    led.append(batch(2), RULES, WALL)
    lead(led, 9)
    assert led.log.epoch_starts == [(3, 0), (5, 4), (9, 6)]
    assert [led.end_of_epoch(epoch) for epoch in (3, 4, 5, 8, 9, 10)] == [
        (3, 4),
        (3, 4),
        (5, 6),
        (5, 6),
        (9, 6),
        (-1, -1),
    ]


def test_an_epoch_that_wrote_nothing_is_forgotten_for_the_next() -> None:
    """LOG-18."""
    led = partition(epoch=3)
    for epoch in (3, 5, 6):
        lead(led, epoch)
    assert led.log.epoch_starts == [(6, 0)]
    led.append(batch(), RULES, WALL)
    for epoch in (7, 8):
        lead(led, epoch)
    assert led.log.epoch_starts == [(6, 0), (8, 1)]


def test_epochs_that_nobody_knows_have_no_end() -> None:
    led = partition(epoch=3)
    assert (led.end_of_epoch(-1), led.end_of_epoch(2), led.log.epoch_of(0)) == ((-1, -1), (-1, -1), -1)
    led.append(batch(), RULES, WALL)
    assert (led.end_of_epoch(-1), led.end_of_epoch(2)) == ((-1, -1), (2, 0))


def test_the_last_offset_there_is_may_be_written() -> None:
    last = 2**63 - 1
    full = partition(end=last - 2)
    assert error(full.append(batch(3), RULES, WALL)) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert base(full.append(batch(2), RULES, WALL)) == last - 2
    assert (full.log.end_offset, error(full.append(batch(), RULES, WALL))) == (last, ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_batch_may_be_as_large_as_the_topic_allows_before_and_after_it_is_written_anew() -> None:
    """PRD-05, PRD-06."""
    sent, packed = batch(50), batch(50, codec=Compression.GZIP)
    outcome = partition().append(packed, AppendRules(compression=Compression.NONE), WALL)
    assert isinstance(outcome, Appended)
    size = len(outcome.data)
    assert (size, len(packed) < size) == (len(sent), True)
    cases = [
        (sent, AppendRules(max_message_bytes=size), ErrorCode.NONE),
        (sent, AppendRules(max_message_bytes=size - 1), ErrorCode.MESSAGE_TOO_LARGE),
        (packed, AppendRules(max_message_bytes=size, compression=Compression.NONE), ErrorCode.NONE),
        (packed, AppendRules(max_message_bytes=size - 1, compression=Compression.NONE), ErrorCode.MESSAGE_TOO_LARGE),
        (sent, AppendRules(segment_bytes=size), ErrorCode.NONE),
        (sent, AppendRules(segment_bytes=size - 1), ErrorCode.RECORD_LIST_TOO_LARGE),
        (packed, AppendRules(segment_bytes=size - 1, compression=Compression.NONE), ErrorCode.RECORD_LIST_TOO_LARGE),
    ]
    assert [error(partition().append(data, rules, WALL)) for data, rules, _ in cases] == [said for _, _, said in cases]


@pytest.mark.parametrize(("by_broker", "times"), [(False, [1000, 1001, 1002]), (True, [WALL] * 3)])
def test_a_batch_that_is_written_anew_has_the_time_that_the_topic_wants(by_broker: bool, times: list[int]) -> None:
    rules = AppendRules(compression=Compression.ZSTD, log_append_time=by_broker)
    outcome = partition().append(batch(3, codec=Compression.GZIP), rules, WALL)
    assert isinstance(outcome, Appended)
    (decoded,) = decode_batches(outcome.data)
    assert [record.timestamp for record in decoded.records] == times
    assert (decoded.header.max_timestamp, decoded.header.is_log_append_time) == (times[-1], by_broker)
    assert outcome.log_append_time == (WALL if by_broker else -1)


def test_what_is_not_set_for_a_topic_is_as_kafka_has_it() -> None:
    defaults = {
        "max.message.bytes": "1048588",
        "message.timestamp.type": "CreateTime",
        "compression.type": "producer",
        "message.timestamp.before.max.ms": str(2**63 - 1),
        "message.timestamp.after.max.ms": "3600000",
        "cleanup.policy": "delete",
        "segment.bytes": "1073741824",
        "min.insync.replicas": "1",
    }
    assert {name: TOPIC_CONFIGS[name].default for name in defaults} == defaults
    assert AppendRules.of({}) == AppendRules.of(defaults) == AppendRules()
    for name, value in defaults.items():
        if value.isdigit() and value != "1":
            assert AppendRules.of({name: str(int(value) - 1)}) != AppendRules(), name
