"""The bytes of a snapshot (KIP-630) from its content, and back. Pure: no file is touched here.

A snapshot is record batches whose offsets count from 0 and whose epoch is the snapshot's: one control batch
[SnapshotHeader, and at kraft.version 1 KRaftVersion and KRaftVoters], data batches, one control batch [SnapshotFooter].
`bootstrap.checkpoint` has the same form with epoch 0 and no control records but header and footer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from controller_runtime.protocol.control_records import ControlType, control_record, decode_control
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.kraft_version_record import KRaftVersionRecord
from controller_runtime.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import Record, RecordBatch, decode_batches, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.values import dataclass

RECORDS_PER_BATCH: Final = 1024
"""As Kafka's RecordsSnapshotWriter groups them."""
BYTES_PER_BATCH: Final = 1 << 20
"""A batch is closed before it grows beyond this; Kafka's own bound is 8 MiB. A single record may be larger."""


@dataclass(frozen=True, slots=True)
class SnapshotContent:
    """What a snapshot says. `values` are encoded metadata records; `kraft_version` is None at version 0 and in
    bootstrap.checkpoint.
    """

    last_contained_timestamp: int
    kraft_version: int | None
    voters: VotersRecord | None
    values: tuple[bytes, ...]


def snapshot_batches(content: SnapshotContent, epoch: int, now: int, footer_time: int | None = None) -> Iterator[bytes]:
    """The batches in order; `now` (wall clock, ms) is stamped into all but the footer, if that has its own time."""
    head: list[Message] = [SnapshotHeaderRecord(last_contained_log_timestamp=content.last_contained_timestamp)]
    if content.kraft_version is not None:
        head.append(KRaftVersionRecord(kraft_version=content.kraft_version))
        if content.voters is not None:
            head.append(content.voters)
    return stream_batches(head, content.values, epoch, now, footer_time)


def stream_batches(
    head: Sequence[Message], values: Iterable[bytes], epoch: int, now: int, footer_time: int | None = None
) -> Iterator[bytes]:
    """The same from values that come one after another: no more than one batch of them is held."""
    yield _control_batch(head, 0, epoch, now)
    offset = len(head)
    for chunk in _chunks(values):
        records = [Record(offset + number, now, None, value) for number, value in enumerate(chunk)]
        yield encode_batch(records, partition_leader_epoch=epoch)
        offset += len(chunk)
    yield _control_batch([SnapshotFooterRecord()], offset, epoch, now if footer_time is None else footer_time)


def _chunks(values: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for value in values:
        if chunk and (len(chunk) == RECORDS_PER_BATCH or size + len(value) > BYTES_PER_BATCH):
            yield chunk
            chunk, size = [], 0
        chunk.append(value)
        size += len(value)
    if chunk:
        yield chunk


def snapshot_bytes(content: SnapshotContent, epoch: int, now: int, footer_time: int | None = None) -> bytes:
    return b"".join(snapshot_batches(content, epoch, now, footer_time))


def parse_snapshot(data: bytes, path: str) -> SnapshotContent:
    """Read a whole snapshot. Raises `CorruptFile` unless it begins with a header and ends with a footer."""
    try:
        batches = decode_batches(data)
        if len(batches) < 2 or not (batches[0].header.is_control and batches[-1].header.is_control):
            raise CorruptFile(path, "a snapshot begins and ends with a control batch")
        head = [decode_control(record) for record in batches[0].records]
        tail = [decode_control(record) for record in batches[-1].records]
    except ProtocolError as error:
        raise CorruptFile(path, str(error)) from error
    if head[0].type is not ControlType.SNAPSHOT_HEADER or tail[-1].type is not ControlType.SNAPSHOT_FOOTER:
        raise CorruptFile(path, "a snapshot begins with its header and ends with its footer")
    header, version, voters = head[0].message, None, None
    assert isinstance(header, SnapshotHeaderRecord), "the type says so"
    for control in head[1:]:
        match control.message:
            case KRaftVersionRecord() as record:
                version = record.kraft_version
            case VotersRecord() as record:
                voters = record
            case _:
                raise CorruptFile(path, f"a {control.type.name} record in the head of a snapshot")
    values = tuple(value for batch in batches[1:-1] for value in _values(batch, path))
    return SnapshotContent(header.last_contained_log_timestamp, version, voters, values)


def _values(batch: RecordBatch, path: str) -> Iterator[bytes]:
    if batch.header.is_control:
        raise CorruptFile(path, "a control batch among the data of a snapshot", batch.header.position)
    try:
        for record in batch.records:
            if record.value is None:
                raise CorruptFile(path, f"record {record.offset} has no value", batch.header.position)
            yield record.value
    except ProtocolError as error:
        raise CorruptFile(path, str(error), batch.header.position) from error


def _control_batch(messages: Iterable[Message], first: int, epoch: int, now: int) -> bytes:
    records = [control_record(message, offset=first + n, timestamp=now) for n, message in enumerate(messages)]
    return encode_batch(records, partition_leader_epoch=epoch, is_control=True)
