"""Logs to be compacted, and a model of what survives, made of what Kafka's documentation and KIP-534 say and of none of
our code for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.control_records import ControlType, control_record
from controller_runtime.protocol.messages.end_txn_marker import EndTxnMarker
from controller_runtime.protocol.record_batch import Record, RecordBatch, decode_batches, encode_batch
from controller_runtime.storage.compaction.cleaning import CleanerSettings, LogCleaning
from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log.config import CleanupRules, LogConfig
from controller_runtime.storage.partition_log import PartitionLog

DIRECTORY = "/data/keyed-0"
TOPIC = Uuid.of(7, 8)
Pair = tuple[bytes | None, bytes | None]
Survivor = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp, key, value."""


@dataclass
class Written:
    """A batch as it was appended, and what the model knows of it."""

    base: int
    pairs: list[Pair]
    timestamp: int
    producer: int = -1
    transactional: bool = False
    marker: ControlType | None = None
    aborted: bool = False
    horizon: int | None = None
    gone: set[int] = field(default_factory=set)

    @property
    def last(self) -> int:
        return self.base + max(1, len(self.pairs)) - 1


class KeyedLog:
    """A log and its model, written together."""

    def __init__(self, disk: FileSystem, segment_bytes: int = 300, **rules: object) -> None:
        self.disk = disk
        self.rules = CleanupRules(deletes=False, compacts=True, **rules)  # type: ignore[arg-type]
        self.config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100, cleanup=self.rules)
        disk.make_directories(DIRECTORY.rpartition("/")[0])
        self.log = PartitionLog.open(disk, DIRECTORY, TOPIC, self.config)
        self.batches: list[Written] = []
        self.sequences: dict[int, int] = {}
        self.clean_to = 0
        self.time = 1_000

    def reopened(self, disk: FileSystem, **kwargs: int | bool) -> PartitionLog:
        return PartitionLog.open(disk, DIRECTORY, TOPIC, self.config, **kwargs)  # type: ignore[arg-type]

    def write(
        self,
        *pairs: Pair,
        producer: int = -1,
        transactional: bool = False,
        compression: Compression = Compression.NONE,
    ) -> None:
        base, self.time = int(self.log.end_offset), self.time + 1
        records = [Record(base + number, self.time, key, value) for number, (key, value) in enumerate(pairs)]
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + len(pairs)
        data = encode_batch(
            records,
            partition_leader_epoch=1,
            compression=compression,
            is_transactional=transactional,
            producer_id=producer,
            producer_epoch=-1 if producer < 0 else 0,
            base_sequence=-1 if producer < 0 else sequence,
        )
        self.log.append(data)
        self.batches.append(Written(base, list(pairs), self.time, producer, transactional))

    def end(self, producer: int, marker: ControlType) -> None:
        """Of its open transaction."""
        base, self.time = int(self.log.end_offset), self.time + 1
        record = control_record(EndTxnMarker(coordinator_epoch=0), offset=base, timestamp=self.time, marker=marker)
        data = encode_batch(
            [record],
            partition_leader_epoch=1,
            is_control=True,
            is_transactional=True,
            producer_id=producer,
            producer_epoch=0,
        )
        self.log.append(data)
        for batch in reversed(self.batches):
            if batch.producer == producer and batch.marker is not None:
                break
            if batch.producer == producer and batch.transactional:
                batch.aborted = marker is ControlType.ABORT
        self.batches.append(Written(base, [], self.time, producer, transactional=True, marker=marker))

    def limit(self, now_ms: int) -> int:
        return self.log.dirt(self.clean_to, self.log.end_offset, now_ms).limit

    def cleaning(self, now_ms: int, settings: CleanerSettings = CleanerSettings()) -> LogCleaning:
        dirt = self.log.dirt(self.clean_to, self.log.end_offset, now_ms)
        end = self.log.end_offset
        return LogCleaning(self.log, dirt.first_dirty, dirt.limit, high_watermark=end, now_ms=now_ms, settings=settings)

    def clean(self, now_ms: int, settings: CleanerSettings = CleanerSettings()) -> int:
        """The log and the model. How far the log is clean now."""
        cleaning, limit = self.cleaning(now_ms, settings), self.limit(now_ms)
        for _ in cleaning.pieces():
            pass
        if limit > self.clean_to:
            self.clean_model(now_ms, limit)
        self.clean_to = cleaning.end_offset
        return self.clean_to

    def clean_model(self, now_ms: int, limit: int) -> None:
        last: dict[bytes, int] = {}
        for batch in self.batches:
            for offset, (key, _) in enumerate(batch.pairs, batch.base):
                alive = offset not in batch.gone and not batch.aborted and self.clean_to <= offset < limit
                if alive and key is not None:
                    last[key] = offset
        for batch in self.batches:
            if batch.base >= limit:
                continue
            tombstones = False
            for offset, (key, value) in enumerate(batch.pairs, batch.base):
                expired = value is None and batch.horizon is not None and batch.horizon <= now_ms
                if batch.aborted or key is None or last.get(key, -1) > offset or expired:
                    batch.gone.add(offset)
                elif offset not in batch.gone:
                    tombstones |= value is None
            if tombstones and batch.horizon is None:
                batch.horizon = now_ms + self.rules.delete_retention_ms

    def expected(self) -> list[Survivor]:
        return [
            (offset, batch.timestamp, key, value)
            for batch in self.batches
            for offset, (key, value) in enumerate(batch.pairs, batch.base)
            if offset not in batch.gone
        ]


def batches_in(log: PartitionLog) -> list[RecordBatch]:
    """All, in their order, with their checksums verified."""
    found: list[RecordBatch] = []
    offset = log.start_offset
    while data := log.read(offset, 1 << 20):
        found += decode_batches(data)
        offset = Offset(found[-1].header.next_offset)
    return found


def survivors(log: PartitionLog) -> list[Survivor]:
    """The records of data that a reader gets."""
    data = [batch for batch in batches_in(log) if not batch.header.is_control]
    return [(one.offset, one.timestamp, one.key, one.value) for batch in data for one in batch.records]
