"""What the data plane does to logs, effect by effect: opens, appends, reads, looks up. Blocking; one thread calls it.

An error while opening or writing is raised, and `data_plane` says what becomes of it; a log that met one while it was
written is given up as it is. A read or a look-up always has an answer, because a client waits for it: what cannot be
read is logged, and answered with the reason. A damaged batch is never "out of range": a consumer would reset its
position and skip what is there.
"""

from __future__ import annotations

import logging

from controller_runtime.broker.partition import PartitionKey
from controller_runtime.identifiers import Offset
from controller_runtime.node.broker_effects import (
    LATEST_TIMESTAMP,
    AppendRecords,
    BrokerEvent,
    FindTimestamp,
    OpenPartition,
    PartitionOpened,
    PartitionWritten,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    TimestampFound,
)
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.record_batch import record_places
from controller_runtime.storage.batch_scan import split_batches
from controller_runtime.storage.errors import CorruptFile, InvalidOffset, StorageError
from controller_runtime.storage.log_manager import LogId, LogManager
from controller_runtime.storage.partition_log import PartitionLog, PartitionLogConfig

log = logging.getLogger(__name__)


class PartitionWork:
    def __init__(self, manager: LogManager) -> None:
        self._manager = manager

    def open(self, effect: OpenPartition) -> BrokerEvent:
        config = PartitionLogConfig(
            segment_bytes=int(effect.configs.get("segment.bytes", 1 << 30)),
            segment_ms=int(effect.configs.get("segment.ms", 604800000)),
            index_interval_bytes=int(effect.configs.get("index.interval.bytes", 4096)),
        )
        found, home = self._manager.open_log(_id(effect.key), effect.topic, effect.directory_id, config)
        return PartitionOpened(
            effect.key, found.start_offset, found.end_offset, found.epoch_starts(), dict(found.producers), home
        )

    def close(self, key: PartitionKey, *, delete: bool) -> None:
        self._manager.close_log(_id(key), delete=delete)

    def append(self, effect: AppendRecords) -> BrokerEvent:
        log_id = _id(effect.key)
        try:
            end = self._manager.log(log_id).append(effect.batches)
            if end != effect.end_offset:
                raise InvalidOffset(f"the broker counted to {effect.end_offset}, the log to {end}")
        except Exception:
            self._manager.abandon(log_id)
            raise
        return PartitionWritten(effect.key, end)

    def read(self, effect: ReadRecords) -> BrokerEvent:
        left, nothing_yet = effect.max_bytes, True
        parts: list[bytes | ErrorCode] = []
        for one in effect.slices:
            data = self._read_slice(one, left if left > 0 or nothing_yet else -1)
            if isinstance(data, bytes) and not nothing_yet and len(data) > left:
                data = b""  # Only the first batch of an answer may be larger than what was asked for.
            if isinstance(data, bytes) and data:
                left -= len(data)
                nothing_yet = False
            parts.append(data)
        return RecordsRead(effect.work_id, tuple(parts))

    def _read_slice(self, one: ReadSlice, left: int) -> bytes | ErrorCode:
        if left < 0:
            return b""
        try:
            data = self._manager.log(_id(one.key)).read(Offset(one.offset), min(one.max_bytes, left))
            return data[: sum(batch.size for batch in split_batches(data) if batch.last_offset < one.before)]
        except InvalidOffset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        except (ProtocolError, CorruptFile) as error:
            _tell(error)
            return ErrorCode.CORRUPT_MESSAGE
        except Exception as error:
            _tell(error)
            return ErrorCode.KAFKA_STORAGE_ERROR

    def find(self, effect: FindTimestamp) -> BrokerEvent:
        try:
            return self._found(effect, self._manager.log(_id(effect.key)))
        except Exception as error:
            _tell(error)
            return TimestampFound(effect.work_id, -1, -1)

    def _found(self, effect: FindTimestamp, found: PartitionLog) -> BrokerEvent:
        if effect.timestamp == LATEST_TIMESTAMP:
            places = record_places(found.batch_of_max_timestamp())
            latest = max(places, key=lambda place: place.timestamp, default=None)
        else:
            places = record_places(found.batches_from(effect.timestamp))
            latest = next((place for place in places if place.timestamp >= effect.timestamp), None)
        if latest is None:
            return TimestampFound(effect.work_id, -1, -1)
        return TimestampFound(effect.work_id, latest.timestamp, latest.offset)


def _tell(error: Exception) -> None:
    known = isinstance(error, StorageError | OSError | ProtocolError)
    log.error("data plane: %s", error, exc_info=None if known else error)


def _id(key: PartitionKey) -> LogId:
    return LogId(key.topic_id, key.index)
