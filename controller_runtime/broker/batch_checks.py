"""What a leader believes of the bytes that a producer calls a batch: nothing that it has not looked at.

The checks are Apache Kafka 4.3.1's, in its order, with its error codes, those that it gives for want of a better one
(UNKNOWN_SERVER_ERROR) included: first frames, then the header, then every record.
`tests/support/clients/lying_batches.py` has the lies, with the codes of a real broker beside them. Two bounds are ours,
because Kafka unpacks without one: what a codec may give, and how many records; beyond them a batch is too large.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from controller_runtime.broker.append_rules import AppendRules, BatchRefusal
from controller_runtime.protocol.compression import Compression, Fault, unpack
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.primitives import Invalid
from controller_runtime.protocol.record_batch import (
    COMPRESSION_MASK,
    CRC_START,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_BIT,
    BatchHeader,
    claimed_header,
    crc_of,
)
from controller_runtime.protocol.record_survey import (
    OverlongLength,
    RanOut,
    RecordDetail,
    Survey,
    details,
    survey,
    survey_unpacked,
    wrapped,
)
from controller_runtime.values import dataclass

MAX_UNPACKED_BYTES: Final = 32 << 20
"""What a batch may unpack to. A megabyte of gzip can hold a gigabyte; the Java producer splits a batch that is too
large.
"""
MAX_RECORDS: Final = 200_000
"""Of one batch. A megabyte without compression has room for 150,000 at most."""
MAX_RECORD_ERRORS: Final = 1_000
"""Of one answer; Kafka lists all."""
NEWEST_VERSION: Final = 13
_FIRST_VERSION_WITH_ZSTD: Final = 7
_SMALLEST_LENGTH: Final = 14
"""A message of magic 0 has at least as many bytes behind its length."""
_UP_TO_MAGIC: Final = 17
_INT_MAX: Final = (1 << 31) - 1
_NO_TIMESTAMP: Final = -1


@dataclass(frozen=True, slots=True)
class Checked:
    """A batch that may be appended, without what followed it."""

    header: BatchHeader
    data: bytes
    plain: bytes
    """Its records, unpacked; empty when they lie in `data`."""
    latest: int
    """The largest timestamp of its records, -1 if it is less."""


def frame_size(data: bytes, position: int = 0) -> int | BatchRefusal | None:
    """The size of the batch that begins here by its own words; None when the bytes end before it does."""
    left = len(data) - position
    if left < LENGTH_END:
        return None
    length = int.from_bytes(data[position + 8 : position + LENGTH_END], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        why = f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})"
        return _no_frame(ErrorCode.CORRUPT_MESSAGE, why)
    if left < _UP_TO_MAGIC:
        return None
    magic = int.from_bytes(data[position + _UP_TO_MAGIC - 1 : position + _UP_TO_MAGIC], "big", signed=True)
    if not 0 <= magic <= MAGIC:
        return _no_frame(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if length > _INT_MAX - LENGTH_END:  # Java's sum overflows here
        return _no_frame(ErrorCode.UNKNOWN_SERVER_ERROR, f"a batch of {length} bytes")
    return length + LENGTH_END if length + LENGTH_END <= left else None


def is_transactional(data: bytes) -> bool:
    """Whether the first batch, which has a whole frame, says that it belongs to a transaction."""
    return data[_UP_TO_MAGIC - 1] == MAGIC and bool(data[CRC_START + 1] & TRANSACTIONAL_BIT)


def check_frames(data: bytes, version: int = NEWEST_VERSION) -> int | BatchRefusal:
    """The size of the one batch of a partition. Bytes behind it that are no whole batch are ignored, as by Kafka."""
    size = frame_size(data)
    if isinstance(size, BatchRefusal):
        return size
    if size is None:
        return _no_frame(ErrorCode.INVALID_RECORD, "a produce request carries one batch for each partition")
    if data[_UP_TO_MAGIC - 1] != MAGIC:
        return _no_frame(ErrorCode.INVALID_RECORD, "only record batches of magic 2 are taken")
    if version < _FIRST_VERSION_WITH_ZSTD and _codec(data) == Compression.ZSTD:
        why = f"Produce requests with version {version} are not allowed to use ZStandard compression"
        return _no_frame(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, why)
    second = frame_size(data, size)
    if isinstance(second, BatchRefusal):
        return second
    return size if second is None else _no_frame(ErrorCode.INVALID_RECORD, "more than one batch, one is allowed")


def _no_frame(error: ErrorCode, why: str) -> BatchRefusal:
    return BatchRefusal(error, why, before_log=True)


def check_batch(data: bytes, rules: AppendRules, wall: int, version: int = NEWEST_VERSION) -> Checked | BatchRefusal:
    """One partition's part of a produce request."""
    size = check_frames(data, version)
    if isinstance(size, BatchRefusal):
        return size
    data = data[:size]
    header = claimed_header(data) if size >= HEADER_BYTES else None
    refusal = _check_header(data, header, rules)
    if refusal is not None:
        return refusal
    assert header is not None, "a batch without a whole header is refused"
    return _check_records(header, data, rules, wall)


def _check_header(data: bytes, header: BatchHeader | None, rules: AppendRules) -> BatchRefusal | None:
    if int.from_bytes(data[:8], "big") != 0:
        return _invalid(f"The baseOffset of the record batch should be 0, but it is {data[:8].hex()}")
    if len(data) > rules.max_message_bytes:
        limit = f"the limit is {rules.max_message_bytes}"
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, f"The record batch has {len(data)} bytes, {limit}.")
    if header is None or crc_of(data, header) != header.crc:
        return BatchRefusal(ErrorCode.CORRUPT_MESSAGE, "the checksum of the batch does not hold")
    if header.attributes & COMPRESSION_MASK > Compression.ZSTD:
        return BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {_codec(data)}")
    if header.record_count <= 0 or header.last_offset_delta != header.record_count - 1:
        counts = f"{header.record_count} records, last offset delta {header.last_offset_delta}"
        return _invalid(f"the batch contradicts itself: {counts}")
    if header.is_control:
        return _invalid("clients do not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        return _invalid(f"Invalid sequence number {header.base_sequence} of producer {header.producer_id}")
    return None


def _check_records(header: BatchHeader, data: bytes, rules: AppendRules, wall: int) -> Checked | BatchRefusal:
    codec = header.compression
    as_sent = rules.compression is None or rules.compression is codec
    looked = _survey_plain(header, data) if codec is Compression.NONE else _survey_packed(header, data, as_sent)
    if isinstance(looked, BatchRefusal):
        return looked
    found, plain = looked
    records, start = plain or data, 0 if plain else HEADER_BYTES
    times = _times(header, found, records, start)
    refusal = _check_each(header, found, times, records=records, start=start, rules=rules, wall=wall)
    if refusal is not None:
        return refusal
    if not found.in_sequence and as_sent:
        # Kafka goes to write the batch anew from records of which it kept no values.
        return BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, "the records' offsets do not count from zero")
    if not as_sent and (refusal := _check_writable(header, times)) is not None:
        return refusal
    return Checked(header, data, plain, _latest(header, times))


def _survey_plain(header: BatchHeader, data: bytes) -> tuple[Survey, bytes] | BatchRefusal:
    count = header.record_count
    try:
        found = survey(data, HEADER_BYTES, min(count, MAX_RECORDS))
    except OverlongLength as error:
        return BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
    except Invalid as error:
        return _invalid(str(error))
    return _complete(found, b"", len(data), count)


def _survey_packed(header: BatchHeader, data: bytes, as_sent: bool) -> tuple[Survey, bytes] | BatchRefusal:
    """Kafka reads from a stream: what comes before its fault counts first, then the fault."""
    count = header.record_count
    plain, fault, reason = unpack(header.compression, data[HEADER_BYTES:], MAX_UNPACKED_BYTES)
    look = min(count, MAX_RECORDS)
    try:
        found = survey_unpacked(plain, look) if as_sent else survey(plain, 0, look)
    except RanOut as error:
        return _invalid(str(error)) if fault in (Fault.NONE, Fault.CUT_OFF) else _faulty(fault, reason)
    except Invalid as error:
        return _invalid(str(error))
    complete = _complete(found, plain, len(plain), count)
    if fault is Fault.NONE or isinstance(complete, BatchRefusal):
        return complete
    return _faulty(fault, reason)


def _complete(found: Survey, plain: bytes, end: int, count: int) -> tuple[Survey, bytes] | BatchRefusal:
    if count > MAX_RECORDS:
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, f"a batch of {count} records, {MAX_RECORDS} are allowed")
    if found.end != end:
        return _invalid(f"{end - found.end} bytes are left over after {count} records")
    return found, plain


def _faulty(fault: Fault, reason: str) -> BatchRefusal:
    if fault is Fault.TOO_LARGE:
        why = f"the batch unpacks to more than {MAX_UNPACKED_BYTES} bytes"
        return BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE, why)
    return BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"the records cannot be unpacked: {reason}")


def _check_writable(header: BatchHeader, times: Times) -> BatchRefusal | None:
    """What Kafka's writer of batches cannot write, although its reader read it."""
    if times.earliest < _NO_TIMESTAMP and not header.is_log_append_time:
        return BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, "a negative timestamp")
    if header.producer_id != NO_PRODUCER_ID and header.producer_epoch == NO_PRODUCER_EPOCH:
        return BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"producer {header.producer_id} has no epoch")
    return None


# Record by record.


class Times(NamedTuple):
    """Of all records of a batch."""

    earliest: int
    latest: int


def _times(header: BatchHeader, found: Survey, records: bytes, start: int) -> Times:
    """Sums that are no long overflow, as Java's: then the largest number may be the earliest time."""
    base = header.base_timestamp
    plain = Times(base + found.earliest, base + found.latest)
    if plain == tuple(map(wrapped, plain)):
        return plain
    each = [wrapped(base + record.timestamp) for record in details(records, start, header.record_count)]
    return Times(min(each), max(each))


def _latest(header: BatchHeader, times: Times) -> int:
    return max(_NO_TIMESTAMP, header.max_timestamp if header.is_log_append_time else times.latest)


def _check_each(
    header: BatchHeader, found: Survey, times: Times, records: bytes, start: int, rules: AppendRules, wall: int
) -> BatchRefusal | None:
    """Whether each record has a key where it needs one, and a time that the topic accepts; each by itself only if one
    may be wrong.
    """
    before, after = wall - times.earliest, times.latest - wall
    in_time = before <= rules.timestamp_before_max_ms and after <= rules.timestamp_after_max_ms
    in_time = (in_time or rules.log_append_time) and not header.is_log_append_time
    if in_time and not (rules.needs_keys and found.has_null_keys):
        return None
    wrong: list[tuple[int, str]] = []
    is_time = False
    for number, record in enumerate(details(records, start, header.record_count)):
        why = _null_key(record, rules) or _wrong_time(header, record, rules, wall)
        if why is not None:
            wrong.append((number, why))
            is_time |= not why.startswith("Compacted")
    return _refused_records(tuple(wrong), is_time=is_time) if wrong else None


def _refused_records(wrong: tuple[tuple[int, str], ...], *, is_time: bool) -> BatchRefusal:
    shown = wrong[:MAX_RECORD_ERRORS]
    if is_time:
        why = "One or more records have been rejected due to invalid timestamp"
        return BatchRefusal(ErrorCode.INVALID_TIMESTAMP, why, shown)
    first = ", ".join(f"RecordError(batchIndex={number}, message='{said}')" for number, said in wrong[:3])
    why = (
        f"One or more records have been rejected due to {len(wrong)} record errors in total, and only showing the "
        f"first three errors at most: [{first}]"
    )
    return BatchRefusal(ErrorCode.INVALID_RECORD, why, shown)


def _null_key(record: RecordDetail, rules: AppendRules) -> str | None:
    if rules.needs_keys and record.has_null_key:
        return "Compacted topic cannot accept message without key"
    return None


def _wrong_time(header: BatchHeader, record: RecordDetail, rules: AppendRules, wall: int) -> str | None:
    own = wrapped(header.base_timestamp + record.timestamp)
    time = header.max_timestamp if header.is_log_append_time else own
    if not rules.log_append_time and time != _NO_TIMESTAMP:
        before, after = rules.timestamp_before_max_ms, rules.timestamp_after_max_ms
        behind = wrapped(wall - time)
        if behind <= before and wrapped(-behind) <= after:
            return None
        return (
            f"Timestamp {time} of message with offset {record.offset} is out of range. "
            f"The timestamp should be within [{wrapped(wall - before)}, {wrapped(wall + after)}]"
        )
    if header.is_log_append_time:
        return "Invalid timestamp type in message. Producer should not set timestamp type to LogAppendTime."
    return None


def _codec(data: bytes) -> int:
    return data[CRC_START + 1] & COMPRESSION_MASK


def _invalid(why: str) -> BatchRefusal:
    return BatchRefusal(ErrorCode.INVALID_RECORD, why)
