"""What is in a snapshot, and reading one piece by piece.

`content` turns an image into the batches of a file, one after another, so that a thread can write them while the image
is in use: it never changes. `SnapshotBatches` reads a frozen snapshot in slices and checks every batch;
`ArrivingSnapshot` checks the bytes of one that a leader sends, before anything is given up for it. Callers may not
assume that a snapshot whose batches are whole can be replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.metadata.records import encode_record
from controller_runtime.node.quorum.control_batches import to_message
from controller_runtime.node.quorum.effects import TakeSnapshot
from controller_runtime.node.quorum.ports import SnapshotReader
from controller_runtime.protocol.control_records import ControlType, decode_control
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.kraft_version_record import KRaftVersionRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.record_batch import RecordBatch, batch_headers, verify_crc
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.snapshot_batches import stream_batches

SLICE_BYTES: Final = 128 << 10
"""How much of a snapshot is read and replayed at once."""
_FIRST_BYTES: Final = 4096


class CorruptSnapshot(ProtocolError):
    """A snapshot that is not whole. Names it as its file is named."""

    def __init__(self, snapshot_id: OffsetAndEpoch, reason: str) -> None:
        name = f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"
        super().__init__(f"{name}: {reason}")
        self.snapshot_id = snapshot_id


def content(asked: TakeSnapshot, on_loss: Callable[[str], None] = lambda _: None) -> Iterator[bytes]:
    """The batches of the snapshot, made as they are taken. At kraft.version 0 it names no voters."""
    from controller_runtime.metadata.snapshot import snapshot_records  # knows every record: not needed to start

    head: list[Message] = [SnapshotHeaderRecord(last_contained_log_timestamp=asked.last_timestamp)]
    if asked.kraft_version > 0:
        head.append(KRaftVersionRecord(kraft_version=asked.kraft_version))
        head.append(to_message(asked.voters))
    values = (encode_record(record, version) for record, version in snapshot_records(asked.image, on_loss))
    return stream_batches(head, values, asked.snapshot_id.epoch, asked.wall)


class SnapshotBatches:
    """The batches of a frozen snapshot, in order, each verified; no more than one slice is held. Raises
    `CorruptSnapshot`.
    """

    def __init__(self, snapshots: SnapshotReader, snapshot_id: OffsetAndEpoch) -> None:
        self._snapshots = snapshots
        self._id = snapshot_id

    def __iter__(self) -> Iterator[RecordBatch]:
        size = self._snapshots.snapshot_size(self._id)
        if size is None:
            raise CorruptSnapshot(self._id, "there is no such snapshot")
        arriving = ArrivingSnapshot(self._id)
        position = 0
        while position < size:
            data = self._snapshots.read_snapshot(self._id, position, min(SLICE_BYTES, size - position))
            if not data:
                raise CorruptSnapshot(self._id, f"ends at byte {position}, {size} are expected")
            position += len(data)
            yield from arriving.take(data)
        arriving.finish()


class ArrivingSnapshot:
    """Follows the bytes of a snapshot as they come: every batch must be whole, the first a header, the last
    a footer.
    """

    def __init__(self, snapshot_id: OffsetAndEpoch) -> None:
        self._id = snapshot_id
        self._rest = b""
        self.position = 0
        """How many bytes were taken."""
        self._seen = 0
        self._footer = False

    def take(self, data: bytes) -> list[RecordBatch]:
        """The batches that these bytes complete. Raises `CorruptSnapshot`."""
        whole: list[RecordBatch] = []
        held = self._rest + data
        used = 0
        try:
            for header in batch_headers(held, partial_tail=True):
                verify_crc(held, header)
                used = header.end_position
                whole.append(RecordBatch(header, held[header.position : used]))
                self._judge(whole[-1])
        except ProtocolError as error:
            at = self.position - len(self._rest)
            raise CorruptSnapshot(self._id, f"after byte {at}: {error}") from error
        self.position += len(data)
        self._rest = held[used:]
        return whole

    def finish(self) -> None:
        """All bytes were taken."""
        if self._rest or not self._footer:
            raise CorruptSnapshot(self._id, f"ends at byte {self.position} without its footer")

    def _judge(self, batch: RecordBatch) -> None:
        self._seen += 1
        if self._footer:
            raise CorruptSnapshot(self._id, "a batch behind the footer")
        if not batch.header.is_control:
            if self._seen == 1:
                raise CorruptSnapshot(self._id, "it does not begin with its header")
            return
        types = [decode_control(record).type for record in batch.records]
        if (self._seen == 1) != (types[0] is ControlType.SNAPSHOT_HEADER):
            raise CorruptSnapshot(self._id, "its header is not where it begins")
        self._footer = types[-1] is ControlType.SNAPSHOT_FOOTER
        if not self._footer and self._seen > 1:
            raise CorruptSnapshot(self._id, f"a {types[0].name} record among its data")


def first_batch(snapshots: SnapshotReader, snapshot_id: OffsetAndEpoch) -> RecordBatch:
    """The control batch with which a snapshot begins; no more of the file is read than that takes. Raises
    `CorruptSnapshot`.
    """
    wanted = _FIRST_BYTES
    while True:
        data = snapshots.read_snapshot(snapshot_id, 0, wanted)
        found = ArrivingSnapshot(snapshot_id).take(data)
        if found:
            return found[0]
        if len(data) < wanted:
            raise CorruptSnapshot(snapshot_id, f"no batch in its {len(data)} bytes")
        wanted *= 4


def last_contained_timestamp(first: RecordBatch) -> int:
    """What the header of a snapshot says."""
    message = decode_control(first.records[0]).message
    assert isinstance(message, SnapshotHeaderRecord), "the first batch was judged"
    return message.last_contained_log_timestamp


def snapshot_timestamp(snapshots: SnapshotReader, snapshot_id: OffsetAndEpoch) -> int:
    """The wall clock of the last batch in a snapshot, ms."""
    return last_contained_timestamp(first_batch(snapshots, snapshot_id))
