"""What the data plane does to the logs of one log directory: opens, appends, reads, looks up. Blocking; one thread
calls it.

An error while opening or writing is raised, and `data_plane` says what becomes of it; a log that met one while it was
written is given up as it is. A disk that refuses what was promised to clients takes the whole directory with it
(`DirectoryLost`): from then on nothing in it is written, read or called clean. A read or a look-up always has an
answer, because a client waits for it: what cannot be read is logged, and answered with the reason. A damaged batch is
never "out of range": a consumer would reset its position and skip what is there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from controller_runtime.broker.effects import (
    LATEST_TIMESTAMP,
    AppendRecords,
    BrokerEvent,
    ConfigureLog,
    CutLog,
    Data,
    DeleteBefore,
    DirectoryMeasured,
    FindTimestamp,
    LogCut,
    MeasureDirectory,
    OpenPartition,
    PartitionOpened,
    PartitionWritten,
    ReadSlice,
    RestartLog,
    Stable,
    TimestampFound,
)
from controller_runtime.identifiers import Offset, PartitionId
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.record_batch import RecordPlace, record_places
from controller_runtime.server.shell.directory_upkeep import DISK_FAILURES, DirectoryUpkeep, Piece, Round
from controller_runtime.server.shell.topic_logs import log_config
from controller_runtime.storage.errors import CorruptFile, InvalidOffset, StorageError
from controller_runtime.storage.log.batches import split_batches
from controller_runtime.storage.log_directory import LogDirectory
from controller_runtime.storage.partition_log import Grave, PartitionLog

log = logging.getLogger(__name__)


Result = TypeVar("Result")


class DirectoryLost(StorageError):
    """The directory's disk refused what was promised about it. Raised once."""


class PartitionWork:
    def __init__(self, directory: LogDirectory, room: Callable[[str], tuple[int, int]]) -> None:
        """`room`: all bytes of the disk that has a path, and those that may still be written."""
        self._directory = directory
        self.upkeep: Final = DirectoryUpkeep(directory)
        self._room = room
        self._is_lost = False

    def set_aside_strays(self, known: Container[PartitionId], old: Container[tuple[str, int]] = ()) -> list[str]:
        """Always answered: where a directory cannot be read or renamed, its logs cannot be opened either."""
        try:
            return self._directory.set_aside_strays(known, old)
        except Exception as error:
            _tell(error)
            return []

    def open(self, effect: OpenPartition) -> BrokerEvent:
        self._check()
        found = self._directory.open_log(effect.key, effect.topic, log_config(effect.configs))
        producers = {producer_id: entry.copy() for producer_id, entry in found.producers.items()}
        return PartitionOpened(
            effect.key,
            found.start_offset,
            found.end_offset,
            epoch_starts=found.epoch_starts(),
            producers=producers,
            directory_id=self._directory.id,
            high_watermark=self._directory.high_watermark(effect.key),
        )

    def configure(self, effect: ConfigureLog) -> None:
        """What was appended stays as it is."""
        self._directory.configure(effect.key, log_config(effect.configs))

    def close(self, key: PartitionId, *, delete: bool) -> None:
        self._check()
        self._directory.close_log(key, delete=delete)

    def append(self, effect: AppendRecords) -> BrokerEvent:
        self._check()
        try:
            end = self._directory.log(effect.key).append(effect.batches)
            if end != effect.end_offset:
                raise InvalidOffset(f"the broker counted to {effect.end_offset}, the log to {end}")
        except DISK_FAILURES as error:
            self._directory.abandon(effect.key)
            raise self._lost(error) from error
        except Exception:
            self._directory.abandon(effect.key)
            raise
        return PartitionWritten(effect.key, end)

    def guarded(self, do: Callable[[LogDirectory], Result]) -> Result:
        """Something else with the directory; a disk that refuses to write costs the same."""
        self._check()
        try:
            return do(self._directory)
        except DISK_FAILURES as error:
            raise self._lost(error) from error

    def cut(self, effect: CutLog | RestartLog) -> BrokerEvent:
        log = self._log(effect.key)
        try:
            if isinstance(effect, CutLog):
                log.cut(Offset(effect.end_offset))
            else:
                log.restart(Offset(effect.start_offset))
            self._directory.note_cut(effect.key)
        except DISK_FAILURES as error:
            self._directory.abandon(effect.key)
            raise self._lost(error) from error
        except Exception:
            self._directory.abandon(effect.key)
            raise
        producers = {producer_id: entry.copy() for producer_id, entry in log.producers.items()}
        return LogCut(effect.key, log.start_offset, log.end_offset, log.epoch_starts(), producers)

    def delete_before(self, effect: DeleteBefore) -> None:
        log = self._log(effect.key)
        try:
            if effect.start_offset > log.start_offset:
                log.delete_before(Offset(effect.start_offset))
        except DISK_FAILURES as error:
            raise self._lost(error) from error

    def measure(self, effect: MeasureDirectory) -> BrokerEvent:
        """Always answered."""
        directory = self._directory
        try:
            self._check()
            found = self._room(directory.path), directory.sizes(), directory.futures.sizes()
            return DirectoryMeasured(effect.work_id, directory.id, *found)
        except Exception as error:
            _tell(error)
            return DirectoryMeasured(effect.work_id, directory.id, None)

    def read(self, slices: Sequence[ReadSlice], max_bytes: int, *, nothing_yet: bool = True) -> list[Data]:
        """At most `max_bytes` in all, but the first batch found whole even if larger, when there is `nothing_yet`."""
        left = max_bytes
        parts: list[Data] = []
        for one in slices:
            data = self._read_slice(one, left if left > 0 or nothing_yet else -1)
            if not isinstance(data, ErrorCode) and not nothing_yet and len(data) > min(left, one.max_bytes):
                data = b""  # Only the first batch of an answer may be larger than what was asked for.
            if not isinstance(data, ErrorCode) and data:
                left -= len(data)
                nothing_yet = False
            parts.append(data)
        return parts

    def _read_slice(self, one: ReadSlice, left: int) -> Data:
        if left < 0:
            return b""
        try:
            found = self._log(one.key)
            data = found.read(Offset(one.offset), min(one.max_bytes, left))
            data = data[: sum(batch.size_in_bytes for batch in split_batches(data) if batch.last_offset < one.before)]
            if not one.stable:
                return data
            aborted = found.aborted(Offset(one.offset), len(data))
            return Stable(data, tuple((each.producer_id, each.first_offset) for each in aborted))
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
            return _found(effect, self._log(effect.key))
        except Exception as error:
            _tell(error)
            return TimestampFound(effect.work_id, -1, -1)

    # The whole directory.

    def go_on(self, upkeep: Round) -> Piece | None:
        """The next piece of a round; None: it is over."""
        if self._is_lost:
            return None
        try:
            return next(upkeep, None)
        except DISK_FAILURES as error:
            raise self._lost(error) from error
        except Exception as error:
            _tell(error)
            return None

    def remove_grave(self, grave: Grave) -> None:
        if self._is_lost:
            return
        try:
            self._directory.remove_grave(grave)
        except DISK_FAILURES as error:
            raise self._lost(error) from error

    def take_graves(self) -> list[Grave]:
        """What was set aside since this was asked last. Another thread may ask."""
        graves = self._directory.graves
        return [graves.popleft() for _ in range(len(graves))]

    def checkpoint(self, high_watermarks: Mapping[PartitionId, int]) -> None:
        if self._is_lost:
            return
        try:
            self._directory.checkpoint(high_watermarks)
        except DISK_FAILURES as error:
            raise self._lost(error) from error

    def shut_down(
        self, broker_epoch: int, high_watermarks: Mapping[PartitionId, int], progress: Callable[[int, int], None]
    ) -> None:
        """Close every log and leave the mark of a clean stop. A lost directory is left as it is."""
        if not self._is_lost:
            self._directory.shut_down(broker_epoch, high_watermarks, progress)

    def _lost(self, error: Exception) -> DirectoryLost:
        self._is_lost = True
        return DirectoryLost(str(error) or type(error).__name__)

    def _check(self) -> None:
        if self._is_lost:
            raise StorageError(f"log directory {self._directory.path} is offline")

    def _log(self, key: PartitionId) -> PartitionLog:
        self._check()
        return self._directory.log(key)


def _found(effect: FindTimestamp, found: PartitionLog) -> BrokerEvent:
    if effect.timestamp == LATEST_TIMESTAMP:
        places = _places(found, found.latest_batches())
        latest = max(places, key=lambda place: place.timestamp, default=None)
    else:
        places = _places(found, found.batches_from(effect.timestamp))
        latest = next((place for place in places if place.timestamp >= effect.timestamp), None)
    if latest is None:
        return TimestampFound(effect.work_id, -1, -1)
    return TimestampFound(effect.work_id, latest.timestamp, latest.offset)


def _places(found: PartitionLog, batches: Iterable[bytes]) -> Iterator[RecordPlace]:
    """Of the records that may be read."""
    for batch in batches:
        yield from (place for place in record_places(batch) if place.offset >= found.start_offset)


def _tell(error: Exception) -> None:
    known = isinstance(error, StorageError | OSError | ProtocolError)
    log.error("data plane: %s", error, exc_info=None if known else error)


def room(path: str) -> tuple[int, int]:
    """As the operating system has it."""
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
