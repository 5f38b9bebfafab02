"""Record batches, version 2: the one form in which records travel and lie on disk.

    data = encode_batch([Record(offset=0, timestamp=now, key=None, value=b"x")], base_offset=0,
    partition_leader_epoch=3)
    for header in batch_headers(data):          # cheap: decodes no record
        verify_crc(data, header)
    for batch in decode_batches(data):          # `batch.records` is decoded when asked for
        ...

`batch_headers` checks that each batch lies within the bytes and has magic 2; it does not check the CRC, which covers
everything from the attributes on, so base offset and leader epoch may be stamped (`restamp`) without computing it anew.
Control records are in `control_records`.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.compression import DEFAULT_LIMIT, Compression, compress, decompress
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.record_survey import details
from controller_runtime.protocol.records import Record, read_records, write_records, write_values
from controller_runtime.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEADER_BYTES: Final = 61
LENGTH_END: Final = 12
"""A batch's length counts the bytes after its own field, which ends here."""
MAGIC: Final = 2
COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40
CRC_START: Final = 21
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1

_header: Final = struct.Struct(">qiibIhiqqqhii")
_after_crc: Final = struct.Struct(">hiqqqhii")
_before_crc: Final = struct.Struct(">qiibI")
_stamp_offset: Final = struct.Struct(">q")
_stamp_epoch: Final = struct.Struct(">i")
_attributes: Final = struct.Struct(">h")
_crc: Final = struct.Struct(">I")
_MAX_TIMESTAMP_POSITION: Final = 35

__all__ = ["BatchHeader", "CorruptBatch", "Record", "RecordBatch", "batch_headers", "decode_batches", "encode_batch"]


class CorruptBatch(ProtocolError):
    """Bytes that are not the batch they should be."""

    def __init__(self, position: int, reason: str, base_offset: int | None = None) -> None:
        where = f"batch at byte {position}" + (f" (offset {base_offset})" if base_offset is not None else "")
        super().__init__(f"{where}: {reason}")
        self.position = position
        self.reason = reason
        self.base_offset = base_offset


class BatchHeader(NamedTuple):
    """The 61 bytes before the records, and where the batch begins in the bytes or the file it was read from."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    position: int

    def at(self, position: int) -> BatchHeader:
        """The same batch in another place."""
        return BatchHeader._make((*self[:-1], position))

    @property
    def size_in_bytes(self) -> int:
        return self.batch_length + LENGTH_END

    @property
    def end_position(self) -> int:
        """The byte after the batch."""
        return self.position + self.batch_length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; wraps at 2^31 as Kafka's."""
        return NO_SEQUENCE if self.base_sequence < 0 else (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> Compression:
        return Compression(self.attributes & COMPRESSION_MASK)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & TIMESTAMP_TYPE_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON_BIT)


def claimed_header(data: bytes | bytearray | memoryview, at: int = 0, file_position: int | None = None) -> BatchHeader:
    """What stands in the 61 bytes of a header, believed or not: the one parser of headers. `file_position`: where the
    batch lies when `data` is a piece of a file.
    """
    return BatchHeader._make((*_header.unpack_from(data, at), at if file_position is None else file_position))


def read_header(data: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """The header at a position, with its length checked against the bytes that are there."""
    left = len(data) - position
    if left < HEADER_BYTES:
        raise CorruptBatch(position, f"a batch header needs {HEADER_BYTES} bytes, {left} are left")
    header = claimed_header(data, position)
    if header.magic != MAGIC:
        raise CorruptBatch(position, f"magic {header.magic} is not {MAGIC}", header.base_offset)
    if header.batch_length < HEADER_BYTES - LENGTH_END:
        raise CorruptBatch(position, f"a length of {header.batch_length} is too small", header.base_offset)
    if header.size_in_bytes > left:
        raise CorruptBatch(position, f"{header.size_in_bytes} bytes are claimed, {left} are left", header.base_offset)
    if (
        header.last_offset_delta < 0
        or header.record_count < 0
        or header.attributes & COMPRESSION_MASK > Compression.ZSTD
    ):
        raise CorruptBatch(position, "offset delta, count or compression is impossible", header.base_offset)
    return header


def batch_headers(
    data: bytes | bytearray | memoryview, position: int = 0, *, partial_tail: bool = False
) -> Iterator[BatchHeader]:
    """The headers of consecutive batches. With `partial_tail` a last batch that is cut off (as fetches cut) ends the
    iteration silently.
    """
    end = len(data)
    while position < end:
        if partial_tail and _is_cut_off(data, position):
            return
        header = read_header(data, position)
        yield header
        position = header.end_position


def _is_cut_off(data: bytes | bytearray | memoryview, position: int) -> bool:
    left = len(data) - position
    if left < LENGTH_END:
        return True
    length: int = _stamp_epoch.unpack_from(data, position + 8)[0]
    return length >= HEADER_BYTES - LENGTH_END and length + LENGTH_END > left


def crc_of(data: bytes | bytearray | memoryview, header: BatchHeader) -> int:
    """The CRC-32C that the batch should carry."""
    found: int = crc32c(memoryview(data)[header.position + CRC_START : header.end_position])
    return found


def verify_crc(data: bytes | bytearray | memoryview, header: BatchHeader) -> None:
    """Raises CorruptBatch if the batch's bytes are not those its CRC was made of."""
    found = crc_of(data, header)
    if found != header.crc:
        raise CorruptBatch(header.position, f"CRC is {found:08x}, should be {header.crc:08x}", header.base_offset)


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """One batch: its header, its raw bytes, and its records, decoded when first asked for."""

    header: BatchHeader
    data: bytes
    limit: int = DEFAULT_LIMIT
    _decoded: list[tuple[Record, ...]] = field(default_factory=list, compare=False, repr=False)

    @property
    def records(self) -> tuple[Record, ...]:
        """Raises CorruptBatch when the bytes are not so many records."""
        if not self._decoded:
            self._decoded.append(self._decode())
        return self._decoded[0]

    def plain(self) -> tuple[bytes, int]:
        """The records without compression, and where they begin in these bytes. Raises CorruptBatch."""
        if not self.header.attributes & COMPRESSION_MASK:
            return self.data, HEADER_BYTES
        with self.reading():
            return decompress(self.header.compression, self.data[HEADER_BYTES:], self.limit), 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What reading the records may raise becomes CorruptBatch."""
        try:
            yield
        except (ProtocolError, IndexError, ValueError) as error:
            reason = "the records end too early" if isinstance(error, IndexError) else str(error)
            raise CorruptBatch(self.header.position, reason, self.header.base_offset) from error

    def _decode(self) -> tuple[Record, ...]:
        header = self.header
        payload, start = self.plain()
        with self.reading():
            append_time = header.max_timestamp if header.is_log_append_time else None
            return tuple(
                read_records(
                    payload,
                    start,
                    header.record_count,
                    base_offset=header.base_offset,
                    base_timestamp=header.base_timestamp,
                    log_append_time=append_time,
                )
            )


def decode_batches(
    data: bytes | bytearray | memoryview,
    *,
    check_crc: bool = True,
    partial_tail: bool = False,
    limit: int = DEFAULT_LIMIT,
) -> list[RecordBatch]:
    """The batches in `data`. Each keeps a copy of its bytes; `limit` bounds what a compressed one may unpack to."""
    batches = []
    for header in batch_headers(data, partial_tail=partial_tail):
        if check_crc:
            verify_crc(data, header)
        batches.append(RecordBatch(header, bytes(data[header.position : header.end_position]), limit))
    return batches


def encode_batch(
    records: Sequence[Record],
    *,
    base_offset: int | None = None,
    partition_leader_epoch: int = -1,
    compression: Compression = Compression.NONE,
    is_control: bool = False,
    is_transactional: bool = False,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    log_append_time: int | None = None,
) -> bytes:
    """One batch of records whose offsets ascend. The base offset is the first record's unless given; it may be
    restamped later.
    """
    if not records:
        raise ValueError("a batch has at least one record")
    first = records[0].offset
    base_timestamp = records[0].timestamp
    payload = write_records(records, first, base_timestamp)
    attributes = compression | (CONTROL_BIT if is_control else 0) | (TRANSACTIONAL_BIT if is_transactional else 0)
    max_timestamp = max([record.timestamp for record in records])
    if log_append_time is not None:
        attributes |= TIMESTAMP_TYPE_BIT
        max_timestamp = log_append_time
    if compression:
        payload = compress(compression, payload)
    tail = (
        _after_crc.pack(
            attributes,
            records[-1].offset - first,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        )
        + payload
    )
    offset = first if base_offset is None else base_offset
    head = _before_crc.pack(offset, CRC_START - LENGTH_END + len(tail), partition_leader_epoch, MAGIC, crc32c(tail))
    return head + tail


def encode_values(values: Sequence[bytes], base_offset: int, partition_leader_epoch: int, timestamp: int) -> bytes:
    """The batch that `encode_batch` would make of records of one moment that have only values: the form of the metadata
    log.
    """
    return encode_written(write_values(values), len(values), base_offset, partition_leader_epoch, timestamp)


def encode_written(records: bytes, count: int, base_offset: int, partition_leader_epoch: int, timestamp: int) -> bytes:
    """`encode_values` of `count` values that `write_values` has written already."""
    if count <= 0:
        raise ValueError("a batch has at least one record")
    attributes = 0
    tail = (
        _after_crc.pack(
            attributes, count - 1, timestamp, timestamp, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, count
        )
        + records
    )
    length = CRC_START - LENGTH_END + len(tail)
    return _before_crc.pack(base_offset, length, partition_leader_epoch, MAGIC, crc32c(tail)) + tail


def restamp(batch: bytearray, base_offset: int, partition_leader_epoch: int, position: int = 0) -> None:
    """Set offset and epoch of the batch at `position` in place, as a leader does when it appends. The CRC does not
    cover them.
    """
    _stamp_offset.pack_into(batch, position, base_offset)
    _stamp_epoch.pack_into(batch, position + LENGTH_END, partition_leader_epoch)


def stamp_times(batch: bytearray, header: BatchHeader, latest: int, *, log_append_time: bool) -> None:
    """Set the largest timestamp and whose time it is, as a leader does; the CRC is made anew only if that changes
    something.
    """
    if header.max_timestamp == latest and header.is_log_append_time == log_append_time:
        return
    kept = header.attributes & (COMPRESSION_MASK | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT)
    _attributes.pack_into(batch, CRC_START, kept | (TIMESTAMP_TYPE_BIT if log_append_time else 0))
    _stamp_offset.pack_into(batch, _MAX_TIMESTAMP_POSITION, latest)
    _crc.pack_into(batch, CRC_START - _crc.size, crc32c(memoryview(batch)[CRC_START:]))


def rebuild(
    header: BatchHeader, records: bytes, compression: Compression, latest: int, append_time: int | None
) -> bytes:
    """The batch with these encoded records in another codec. `append_time`: the leader's time, which then is all
    records'.
    """
    base = latest if header.is_log_append_time else header.base_timestamp
    kept = header.attributes & TRANSACTIONAL_BIT
    tail = _after_crc.pack(
        kept | (compression if append_time is None else compression | TIMESTAMP_TYPE_BIT),
        header.record_count - 1,
        base,
        latest if append_time is None else append_time,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.record_count,
    ) + compress(compression, records)
    return _before_crc.pack(0, CRC_START - LENGTH_END + len(tail), -1, MAGIC, crc32c(tail)) + tail


class RecordPlace(NamedTuple):
    """Where in the log and in time a record is."""

    offset: int
    timestamp: int


def record_places(batch: bytes, limit: int = DEFAULT_LIMIT) -> list[RecordPlace]:
    """Those of each record of one batch, or of none; the records themselves are not decoded. Raises CorruptBatch."""
    if not batch:
        return []
    header = read_header(batch)
    try:
        packed = header.compression is not Compression.NONE
        plain = decompress(header.compression, batch[HEADER_BYTES:], limit) if packed else batch
        found = details(plain, 0 if packed else HEADER_BYTES, header.record_count)
    except (ProtocolError, IndexError) as error:
        raise CorruptBatch(0, str(error), header.base_offset) from error
    base, latest = header.base_timestamp, header.max_timestamp
    return [
        RecordPlace(header.base_offset + one.offset, latest if header.is_log_append_time else base + one.timestamp)
        for one in found
    ]
