"""The data plane's shell: performs a broker's effects on topic partitions in one thread, in order, and reports back.

Everything that touches a partition's files runs in that thread, so logs need no locks and the event loop never waits for a disk. A failed
append or open is reported, never retried: the node decides whether it can go on. Every minute all logs are flushed and
checkpointed, which bounds what a crash has to recover.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final, cast

from controller_runtime.broker.partition import PartitionKey
from controller_runtime.identifiers import DirectoryId, Offset
from controller_runtime.node.broker_effects import (
    LATEST_TIMESTAMP,
    AppendRecords,
    BrokerEvent,
    ClosePartition,
    FindTimestamp,
    FinishWithoutReply,
    OpenPartition,
    PartitionFailed,
    PartitionOpened,
    PartitionWritten,
    ReadRecords,
    ReadSlice,
    RecordsRead,
    TimestampFound,
)
from controller_runtime.node.events import NodeEvent, RequestId
from controller_runtime.protocol.record_batch import batch_headers, decode_batches
from controller_runtime.server.disk_thread import DiskThread
from controller_runtime.storage.errors import InvalidOffset, StorageError
from controller_runtime.storage.filesystem import FileSystem
from controller_runtime.storage.log_manager import LogId, LogManager
from controller_runtime.storage.partition_log import PartitionLogConfig

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS: Final = 60.0


class BrokerDataPlane:
    """Implements `driver.DataPlane`."""

    def __init__(
        self,
        filesystem: FileSystem,
        directories: Mapping[DirectoryId, str],
        finish_without_reply: Callable[[RequestId], None],
    ) -> None:
        """Opens the log directories: the checkpoints are read, no log is opened yet."""
        self._loop = asyncio.get_running_loop()
        self._thread = DiskThread("data", self._loop)
        self._manager = LogManager.open(filesystem, directories)
        self._finish_without_reply = finish_without_reply
        self._feed: Callable[[BrokerEvent], None] | None = None
        self._timer = self._loop.call_later(CHECKPOINT_SECONDS, self._checkpoint)

    @property
    def previous_broker_epoch(self) -> int:
        return self._manager.previous_broker_epoch

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        """The node of a broker takes both kinds of events; the type of `Driver.feed` names the common one."""
        self._feed = cast("Callable[[BrokerEvent], None]", feed)

    def perform(self, effect: object) -> bool:
        match effect:
            case FinishWithoutReply(request_id):
                self._finish_without_reply(request_id)
            case OpenPartition():
                self._submit(effect.key, lambda: self._open(effect), fatal=False)
            case ClosePartition(key, delete):
                self._submit(key, lambda: self._close(key, delete=delete), fatal=False)
            case AppendRecords():
                self._submit(effect.key, lambda: self._append(effect), fatal=True)
            case ReadRecords():
                self._submit(None, lambda: self._read(effect), fatal=False)
            case FindTimestamp():
                self._submit(None, lambda: self._find(effect), fatal=False)
            case _:
                return False
        return True

    def close(self, broker_epoch: int) -> None:
        """Finish what was submitted, then flush, close and mark every log directory."""
        self._timer.cancel()
        self._thread.close()
        self._manager.shut_down(broker_epoch)

    # In the loop.

    def _submit(self, key: PartitionKey | None, work: Callable[[], BrokerEvent | None], *, fatal: bool) -> None:
        results: list[BrokerEvent | None] = []

        def run() -> None:
            results.append(work())

        def done(failure: BaseException | None) -> None:
            if failure is not None:
                self._failed(key, failure, fatal=fatal)
            elif (event := results[0]) is not None and self._feed is not None:
                self._feed(event)

        self._thread.submit(run, done)

    def _failed(self, key: PartitionKey | None, failure: BaseException, *, fatal: bool) -> None:
        log.error("data plane: %s", failure, exc_info=None if isinstance(failure, StorageError) else failure)
        if key is not None and self._feed is not None:
            self._feed(PartitionFailed(key, str(failure), fatal=fatal))

    def _checkpoint(self) -> None:
        self._timer = self._loop.call_later(CHECKPOINT_SECONDS, self._checkpoint)
        self._submit(None, self._manager.checkpoint, fatal=False)

    # In the thread.

    def _open(self, effect: OpenPartition) -> BrokerEvent:
        config = PartitionLogConfig(
            segment_bytes=int(effect.configs.get("segment.bytes", 1 << 30)),
            segment_ms=int(effect.configs.get("segment.ms", 604800000)),
            index_interval_bytes=int(effect.configs.get("index.interval.bytes", 4096)),
        )
        found, home = self._manager.open_log(_id(effect.key), effect.topic, effect.directory_id, config)
        return PartitionOpened(
            effect.key, found.start_offset, found.end_offset, found.epoch_starts(), dict(found.producers), home
        )

    def _close(self, key: PartitionKey, *, delete: bool) -> None:
        self._manager.close_log(_id(key), delete=delete)

    def _append(self, effect: AppendRecords) -> BrokerEvent:
        end = self._manager.log(_id(effect.key)).append(effect.batches)
        assert end == effect.end_offset, f"the broker counted to {effect.end_offset}, the log to {end}"
        return PartitionWritten(effect.key, end)

    def _read(self, effect: ReadRecords) -> BrokerEvent:
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
        except StorageError as error:
            log.error("data plane: %s", error)
            return None
        headers = list(batch_headers(data))
        while headers and headers[-1].next_offset > one.before:
            data = data[: headers.pop().position]
        return data

    def _find(self, effect: FindTimestamp) -> BrokerEvent:
        try:
            found = self._manager.log(_id(effect.key))
        except StorageError:
            return TimestampFound(effect.work_id, -1, -1)
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
