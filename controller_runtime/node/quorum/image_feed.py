"""The image of the cluster as a standby or a broker knows it: the newest snapshot, then every committed batch.

`advance` replays a bounded piece and says whether more is waiting, so neither a long log nor a large snapshot blocks
the node. A snapshot that arrives while the node runs replaces the image as one: until its last record is read,
everybody sees the image from before it. What is met is what every node of the quorum meets: a record that cannot be
replayed is fatal (`UnreadableLog`), never skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import Final

from controller_runtime.identifiers import Offset, OffsetAndEpoch
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.partition_runs import PartitionRun, RunReader, Unit
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import ReplayError, replay, replay_run
from controller_runtime.node.quorum.election_counts import ElectionCounts
from controller_runtime.node.quorum.faults import UnreadableLog
from controller_runtime.node.quorum.log_reading import BOOTSTRAP_SNAPSHOT
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.node.quorum.ports import SnapshotReader
from controller_runtime.node.quorum.snapshot_content import SnapshotBatches, last_contained_timestamp
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.record_batch import RecordBatch
from controller_runtime.storage.errors import StorageError

_OF_TRANSACTIONS: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
PIECE_BYTES: Final = 128 << 10
"""How much of the log is replayed at once; a batch is the least."""
MAX_SIZES: Final = 512
"""Of batches that were replayed: as many are remembered, for metrics."""
PIECE_RECORDS: Final = 500
"""How many records of a snapshot, or of a long batch, are replayed at once: a few milliseconds."""
RUN_COSTS: Final = 16
"""As much as a record costs a run of partitions, and so many partitions of one."""


class Loading:
    """A snapshot on its way into an image."""

    def __init__(self, snapshots: SnapshotReader, snapshot_id: OffsetAndEpoch) -> None:
        assert snapshot_id != BOOTSTRAP_SNAPSHOT, "the bootstrap snapshot says nothing about the cluster"
        self.snapshot_id = snapshot_id
        self.builder: MetadataBuilder = MetadataImage.empty().builder()
        self.timestamp = -1
        self._batches = SnapshotBatches(snapshots, snapshot_id)
        self._units = self._read()

    def _read(self) -> Iterator[Unit]:
        reader = RunReader(self.builder.topics.table)
        for batch in self._batches:
            if not batch.header.is_control:
                records, begin = batch.plain()
                with batch.reading():
                    yield from reader.units(records, begin, batch.header.record_count)
            elif self.timestamp < 0:
                self.timestamp = last_contained_timestamp(batch)

    def advance(self, max_records: int | None) -> bool:
        """Replay some of it. True when it is done."""
        left = inf if max_records is None else max_records * RUN_COSTS
        for unit in self._units:
            if isinstance(unit, PartitionRun):
                replay_run(self.builder, unit)
                left -= RUN_COSTS + unit.count
            else:
                record = decode_record(unit or b"")[0]
                if isinstance(record, _OF_TRANSACTIONS):
                    raise ReplayError(f"{type(record).__name__} cannot appear within a snapshot.")
                replay(self.builder, record)
                left -= RUN_COSTS
            if left <= 0:
                return False
        return True


class Replaying:
    """A batch on its way into the image: a long one in pieces, but seen as one."""

    def __init__(self, batch: RecordBatch, image: MetadataImage, elections: ElectionCounts) -> None:
        self.batch = batch
        self.builder = image.builder()
        self.began: Offset | None = None
        """Where the newest transaction of this batch begins."""
        self._elections = elections
        self._next = batch.header.base_offset
        self._left = iter(batch.records)

    def advance(self, max_records: int | None) -> bool:
        """Replay some of it. True when it is done."""
        replayed = 0
        for record in islice(self._left, max_records):
            decoded = decode_record(record.value or b"")[0]
            if type(decoded) is PartitionChangeRecord:
                self._elections.about_to_replay(self.builder, decoded)
            elif type(decoded) is BeginTransactionRecord:
                self.began = Offset(self._next + replayed)
            replay(self.builder, decoded)
            replayed += 1
        self._next += replayed
        return max_records is None or replayed < max_records


class ImageFeed:
    def __init__(self, meta: MetadataReplica, snapshots: SnapshotReader) -> None:
        self._meta = meta
        self._snapshots = snapshots
        self._loading: Loading | None = None
        self._replaying: Replaying | None = None
        self.image = MetadataImage.empty()
        self.position = meta.replica.log.start_offset
        """Everything below is in the image."""
        self._began = self.position
        """Where the transaction that is open begins, if one is."""
        self.last_timestamp = -1
        """The wall clock of the newest batch replayed, in ms."""
        self.replayed_bytes = 0
        """How much of the log was replayed by this process; snapshots do not count."""
        self.elections = ElectionCounts()
        self.batches = 0
        """How many were replayed, control batches not counted."""
        self.batch_sizes: deque[tuple[int, int]] = deque(maxlen=MAX_SIZES)
        """The records and the bytes of the newest of them."""
        self.loaded_snapshots = 0
        """Kafka's HandleLoadSnapshotCount."""
        latest = meta.replica.log.latest_snapshot
        if latest is not None:
            loading = Loading(snapshots, latest)
            loading.advance(None)
            self._replace(loading)

    @property
    def stable_position(self) -> Offset:
        """Where the image ends that others may see: at the beginning of a transaction that is open."""
        return self.position if self.image.transaction is None else self._began

    def advance(self) -> bool:
        """Replay what is committed, up to a bound. True if more is waiting. Raises UnreadableLog."""
        try:
            return self._advance()
        except (StorageError, OSError):
            raise
        except Exception as error:
            raise UnreadableLog(f"the metadata log cannot be replayed: {error}") from error

    def _advance(self) -> bool:
        arrived = self._meta.arrived_snapshot
        if arrived is not None:
            self._meta.arrived_snapshot = None
            self._loading = Loading(self._snapshots, arrived)
        if self._loading is not None:
            if not self._loading.advance(PIECE_RECORDS):
                return True
            self._replace(self._loading)
        if self._replaying is not None:
            if not self._replaying.advance(PIECE_RECORDS):
                return True
            self._replayed(self._replaying)
        for batch in self._meta.next_committed(self.position, PIECE_BYTES):
            if batch.header.is_control:
                self._passed(batch)
                continue
            replaying = Replaying(batch, self.image, self.elections)
            if batch.header.record_count > PIECE_RECORDS:
                self._replaying = replaying
                break
            replaying.advance(None)
            self._replayed(replaying)
        return self.position < self._meta.high_watermark

    def _replace(self, loading: Loading) -> None:
        self._loading = None
        self._replaying = None
        self.image = loading.builder.freeze()
        self.position = loading.snapshot_id.offset
        self.last_timestamp = loading.timestamp
        self.loaded_snapshots += 1

    def _replayed(self, done: Replaying) -> None:
        self._replaying = None
        self.image = done.builder.freeze()
        self._began = done.began or self._began
        self.batches += 1
        self.batch_sizes.append((done.batch.header.record_count, done.batch.header.size_in_bytes))
        self._passed(done.batch)

    def _passed(self, batch: RecordBatch) -> None:
        self.position = Offset(batch.header.next_offset)
        self.last_timestamp = batch.header.max_timestamp
        self.replayed_bytes += len(batch.data)

    def restart(self, image: MetadataImage, position: Offset, timestamp: int, replayed_bytes: int) -> None:
        """Continue from here: the node was active until now and knows what was committed."""
        self._replaying = None
        self.image = image
        self.position = position
        self.last_timestamp = timestamp
        self.replayed_bytes = replayed_bytes
