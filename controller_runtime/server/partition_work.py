"""What the data plane does to logs, effect by effect: opens, appends, reads, looks up. Blocking; one thread calls it.

An error while opening or writing is raised, and `data_plane` says what becomes of it. A read or a look-up always has an answer, because a
client waits for it: what cannot be read is logged, and reported as not there.
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
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.record_batch import batch_headers, decode_batches
from controller_runtime.storage.errors import InvalidOffset, StorageError
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
        end = self._manager.log(_id(effect.key)).append(effect.batches)
        assert end == effect.end_offset, f"the broker counted to {effect.end_offset}, the log to {end}"
        return PartitionWritten(effect.key, end)

    def read(self, effect: ReadRecords) -> BrokerEvent:
        left, nothing_yet = effect.max_bytes, True
        parts: list[bytes | None] = []
        for one in effect.slices:
            data = self._read_slice(one, left if left > 0 or nothing_yet else -1)
            if data and not nothing_yet and len(data) > left:
                data = b""  # Only the first batch of an answer may be larger than what was asked for.
            if data:
                left -= len(data)
                nothing_yet = False
            parts.append(data)
        return RecordsRead(effect.work_id, tuple(parts))

    def _read_slice(self, one: ReadSlice, left: int) -> bytes | None:
        if left < 0:
            return b""
        try:
            data = self._manager.log(_id(one.key)).read(Offset(one.offset), min(one.max_bytes, left))
        except InvalidOffset:
            return None
        except (StorageError, OSError) as error:
            log.error("data plane: %s", error)
            return None
        headers = list(batch_headers(data))
        while headers and headers[-1].next_offset > one.before:
            data = data[: headers.pop().position]
        return data

    def find(self, effect: FindTimestamp) -> BrokerEvent:
        try:
            return self._found(effect, self._manager.log(_id(effect.key)))
        except (StorageError, OSError, ProtocolError) as error:
            log.error("data plane: %s", error)
            return TimestampFound(effect.work_id, -1, -1)

    def _found(self, effect: FindTimestamp, found: PartitionLog) -> BrokerEvent:
        if effect.timestamp == LATEST_TIMESTAMP:
            records = [r for batch in decode_batches(found.batch_of_max_timestamp()) for r in batch.records]
            latest = max(records, key=lambda record: record.timestamp, default=None)
        else:
            data = found.batches_from(effect.timestamp)
            records = [r for batch in decode_batches(data) for r in batch.records if r.timestamp >= effect.timestamp]
            latest = records[0] if records else None
        if latest is None:
            return TimestampFound(effect.work_id, -1, -1)
        return TimestampFound(effect.work_id, latest.timestamp, latest.offset)


def _id(key: PartitionKey) -> LogId:
    return LogId(key.topic_id, key.index)
