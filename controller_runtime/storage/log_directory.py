"""One log directory of a broker: the partitions in it, Kafka's checkpoint files, and the mark of a clean stop.

What may be trusted at start is decided here. After a clean stop every log that was there is; after any other stop each
one up to its recovery point. A log that met a fault is not trusted again before it was recovered, and its directory
gets no mark. Nor does one in which logs lie that an unclean stop left and nobody opened since. Not thread-safe: one
thread owns a directory.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Container, Mapping
from typing import Final

from controller_runtime.identifiers import DirectoryId, Offset, PartitionId, Uuid
from controller_runtime.storage import file_names, remembered_logs, small_files
from controller_runtime.storage.errors import CorruptFile, StorageError
from controller_runtime.storage.file_names import partition_directory
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.found_logs import DELETE, STRAY, FoundLog, found_logs, set_aside_name, topic_id_of
from controller_runtime.storage.future_logs import FutureLogs, remove_tree
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.disk_work import remove_files
from controller_runtime.storage.log.open_files import MANY, OpenFiles
from controller_runtime.storage.log.producer_snapshots import encode_producers
from controller_runtime.storage.partition_log import Grave, PartitionLog
from controller_runtime.storage.remembered_logs import RememberedLog, RememberedLogs
from controller_runtime.storage.small_files import decode_partition_offsets, write_atomically

NO_BROKER_EPOCH: Final = -1
MOVED: Final = ".quorate-moved"
"""In the directory of a log that has come from another log directory, until the old one is gone."""

_Place = tuple[str, int]
"""Topic and partition, as Kafka's checkpoints name a log."""


class LogDirectory:
    """Its checkpoints are read when it is made, its logs when they are asked for."""

    def __init__(self, filesystem: FileSystem, directory_id: DirectoryId, path: str, open_files: int = MANY) -> None:
        """Take note of a clean stop and withdraw its mark, finish deletions, read the checkpoints."""
        self._filesystem = filesystem
        self.id: Final = directory_id
        self.path: Final = path
        self._files = OpenFiles(filesystem, open_files)
        self.graves: Final[deque[Grave]] = deque()
        """What its logs have set aside and nobody took note of yet."""
        epoch = self._take_clean_mark()
        self.broker_epoch: Final = NO_BROKER_EPOCH if epoch is None else epoch
        """Of the last run if it ended cleanly, else -1."""
        self._clean = epoch is not None
        self._has_abandoned = False
        self._remembered = self._take_remembered()
        self._recovery_points = self._checkpoint(small_files.RECOVERY_POINT_CHECKPOINT)
        self._log_starts = self._checkpoint(small_files.LOG_START_CHECKPOINT)
        self._high_watermarks = self._checkpoint(small_files.HIGH_WATERMARK_CHECKPOINT)
        self._cleaned = self._cleaner_checkpoint()
        for name in filesystem.list_directory(path):
            if name.endswith(DELETE):
                remove_tree(filesystem, join(path, name))
        self.found: Final = tuple(found_logs(filesystem, path, self._remembered))
        """The logs that were there at start."""
        self.futures: Final = FutureLogs(filesystem, path, self._files, self.graves)
        """Copies of logs that lie in other directories, on their way here."""
        self.paused: Final[set[PartitionId]] = set()
        """Logs that are being copied from here: they are not compacted meanwhile."""
        self._unopened = {(one.topic, one.index): one for one in self.found}
        """Those that still are as they were found."""
        self._trusted = set(self._unopened) if self._clean else set()
        self._logs: dict[PartitionId, PartitionLog] = {}
        self._places: dict[PartitionId, _Place] = {}

    def _take_clean_mark(self) -> int | None:
        mark = join(self.path, small_files.CLEAN_SHUTDOWN)
        if not self._filesystem.exists(mark):
            return None
        try:
            epoch = int(json.loads(read_whole(self._filesystem, mark) or b"{}").get("brokerEpoch", NO_BROKER_EPOCH))
        except (ValueError, AttributeError, TypeError):
            epoch = NO_BROKER_EPOCH
        self._filesystem.remove(mark)
        self._filesystem.sync_directory(self.path)
        return epoch

    def _take_remembered(self) -> RememberedLogs:
        """What the last stop left, if it was clean; it is believed once."""
        file = join(self.path, remembered_logs.FILE)
        if not self._filesystem.exists(file):
            return remembered_logs.nothing()
        found = remembered_logs.decode(read_whole(self._filesystem, file), self.broker_epoch)
        self._filesystem.remove(file)
        return found

    def _checkpoint(self, name: str) -> dict[_Place, int]:
        file = join(self.path, name)
        if not self._filesystem.exists(file):
            return {}
        return decode_partition_offsets(read_whole(self._filesystem, file), file)

    def _cleaner_checkpoint(self) -> dict[_Place, int]:
        """One that cannot be right costs no more than cleaning anew."""
        try:
            return self._checkpoint(small_files.CLEANER_CHECKPOINT)
        except CorruptFile:
            return {}

    # Partitions.

    def open_log(self, partition_id: PartitionId, topic: str, config: LogConfig) -> PartitionLog:
        """The partition's log, recovered or made. One that is open is given again."""
        if partition_id in self._logs:
            return self._logs[partition_id]
        place = (topic, partition_id.index)
        self._clear(place, partition_id)
        if place not in self._unopened:
            self._promote(place, partition_id)
        log = PartitionLog.open(
            self._filesystem,
            join(self.path, partition_directory(*place)),
            partition_id.topic_id,
            config,
            recovery_point=self._recovery_points.get(place, 0),
            log_start=self._log_starts.get(place, 0),
            clean=place in self._trusted,
            files=self._files,
            graves=self.graves,
            remembered=self._remembered.get(*place) if place in self._trusted else None,
        )
        if place not in self._trusted:
            self._end_move(log)  # a crash came before the mark was taken away
        self._logs[partition_id], self._places[partition_id] = log, place
        self._unopened.pop(place, None)
        self._trusted.discard(place)
        self._remembered.forget(*place)
        return log

    def _promote(self, place: _Place, partition_id: PartitionId) -> None:
        """A copy takes the place of a log that is nowhere any more; it is recovered as any other."""
        name = self.futures.take(partition_id)
        if name is not None:
            self._forget(place)
            self._filesystem.rename(join(self.path, name), join(self.path, partition_directory(*place)))
            self._filesystem.sync_directory(self.path)

    def has_moved_here(self, found: FoundLog) -> bool:
        """A move was about to end, so what lies elsewhere is old."""
        return self._filesystem.exists(join(self.path, partition_directory(found.topic, found.index), MOVED))

    def end_move(self, partition_id: PartitionId) -> None:
        """Nothing lies elsewhere any more."""
        if partition_id in self._logs:
            self._end_move(self._logs[partition_id])

    def _end_move(self, log: PartitionLog) -> None:
        mark = join(log.directory, MOVED)
        if self._filesystem.exists(mark):
            self._filesystem.remove(mark)
            self._filesystem.sync_directory(log.directory)

    def adopt(
        self, partition_id: PartitionId, topic: str, config: LogConfig, start: int, high_watermark: int
    ) -> PartitionLog:
        """A copy that is whole becomes the log. Its files are flushed before anybody can take it for that, and a mark
        says that it counts as long as the old log is there, too (`end_move`).
        """
        place, log = (topic, partition_id.index), self.futures.log(partition_id)
        if start > log.start_offset:
            log.delete_before(Offset(start))
        end = log.end_offset
        log.close()
        write_atomically(self._filesystem, join(log.directory, MOVED), b"")
        self._promote(place, partition_id)
        self._trusted.add(place)
        self._recovery_points[place], self._high_watermarks[place] = end, high_watermark
        if start > 0:
            self._log_starts[place] = start
        self._write_checkpoints()
        return self.open_log(partition_id, topic, config)

    def _clear(self, place: _Place, partition_id: PartitionId) -> None:
        """Another topic of the same name left its directory here: it is set aside."""
        found = self._unopened.get(place)
        if found is not None and found.topic_id == partition_id.topic_id:
            return
        path = join(self.path, partition_directory(*place))
        if self._filesystem.is_directory(path):
            topic_id = topic_id_of(self._filesystem, path)
            if topic_id is not None and topic_id != partition_id.topic_id:
                self.set_aside(FoundLog(*place, topic_id))

    def sizes(self) -> dict[PartitionId, int]:
        """Bytes of the logs that are open, without their indexes."""
        return {partition_id: log.size_bytes for partition_id, log in self._logs.items()}

    def open_logs(self) -> list[PartitionId]:
        return list(self._logs)

    def remove_grave(self, grave: Grave) -> None:
        """Its time has come. The partition may be gone, too."""
        remove_files(self._filesystem, grave.directory, grave.names)

    def has_open(self, partition_id: PartitionId) -> bool:
        return partition_id in self._logs

    def cleaned_to(self, partition_id: PartitionId) -> int | None:
        """How far an open log is compacted; None: it never was."""
        return self._cleaned.get(self._places[partition_id])

    def note_cleaned(self, partition_id: PartitionId, offset: int) -> None:
        """Written down at once, as in Kafka."""
        self._cleaned[self._places[partition_id]] = offset
        self._write_offsets(small_files.CLEANER_CHECKPOINT, self._cleaned)

    def note_cut(self, partition_id: PartitionId) -> None:
        """What comes now where the log was cut is dirty, however far it was clean."""
        cleaned, end = self.cleaned_to(partition_id), self._logs[partition_id].end_offset
        if cleaned is not None and cleaned > end:
            self.note_cleaned(partition_id, end)

    def log(self, partition_id: PartitionId) -> PartitionLog:
        """An open log. Raises StorageError when it is not open (any more)."""
        if partition_id not in self._logs:
            raise StorageError(f"partition {partition_id.index} of topic id {partition_id.topic_id} is not open")
        return self._logs[partition_id]

    def high_watermark(self, partition_id: PartitionId) -> Offset:
        """Of an open log, as it was checkpointed last."""
        return Offset(self._high_watermarks.get(self._places[partition_id], 0))

    def configure(self, partition_id: PartitionId, config: LogConfig) -> None:
        """A changed configuration reaches the log if it is open; one that is opened later brings its own."""
        if partition_id in self._logs:
            self._logs[partition_id].configure(config)

    def close_log(self, partition_id: PartitionId, *, delete: bool) -> None:
        """Let go of a log; `delete` removes it from the disk: renamed first, so that a crash cannot leave half of it in
        use.
        """
        log = self._logs.pop(partition_id, None)
        self.paused.discard(partition_id)
        if log is None:
            return
        place = self._places.pop(partition_id)
        log.close()
        self._trusted.add(place)
        if delete:
            grave = join(self.path, set_aside_name(*place, partition_id.topic_id, DELETE, ()))
            self._filesystem.rename(log.directory, grave)
            self._filesystem.sync_directory(self.path)
            remove_tree(self._filesystem, grave)
            self._forget(place)

    def abandon(self, partition_id: PartitionId) -> None:
        """Let go of a log that met a fault: nothing more of it is written, checkpointed or called clean."""
        log = self._logs.pop(partition_id, None)
        if log is not None:
            del self._places[partition_id]
            self._has_abandoned = True
            log.abandon()

    def set_aside_strays(self, known: Container[PartitionId], old: Container[_Place] = ()) -> list[str]:
        """Every log that is not `known`, or does not say whose it is, gets a name that is no partition's: their new
        paths. So do `old` ones, which lie in another directory, too, and rightly there.
        """
        self.futures.remove_strays(known)
        return [
            self.set_aside(found)
            for found in list(found_logs(self._filesystem, self.path, self._remembered))
            if found.topic_id is None
            or PartitionId(found.topic_id, found.index) not in known
            or (found.topic, found.index) in old
        ]

    def set_aside(self, found: FoundLog) -> str:
        """Give it a name that is no partition's: its new path."""
        place, taken = (found.topic, found.index), self._filesystem.list_directory(self.path)
        target = join(self.path, set_aside_name(*place, found.topic_id, STRAY, taken))
        self._filesystem.rename(join(self.path, partition_directory(*place)), target)
        self._filesystem.sync_directory(self.path)
        self._forget(place)
        return target

    def _forget(self, place: _Place) -> None:
        """A log that comes to the same place later is another one."""
        for table in (self._recovery_points, self._log_starts, self._high_watermarks):
            table.pop(place, None)
        self._remembered.forget(*place)
        if self._cleaned.pop(place, None) is not None:
            self._write_offsets(small_files.CLEANER_CHECKPOINT, self._cleaned)
        self._unopened.pop(place, None)
        self._trusted.discard(place)

    # Checkpoints and the end.

    def checkpoint(self, high_watermarks: Mapping[PartitionId, int]) -> None:
        """Flush every log and write Kafka's checkpoint files, so that a crash has little to recover. What the broker
        says of high watermarks is written as it says it.
        """
        for partition_id, log in self._logs.items():
            log.flush()
            self._note(partition_id, log, high_watermarks)
        self._write_checkpoints()

    def _note(self, partition_id: PartitionId, log: PartitionLog, high_watermarks: Mapping[PartitionId, int]) -> None:
        place = self._places[partition_id]
        self._recovery_points[place] = log.recovery_point
        if log.start_offset > log.first_base:
            self._log_starts[place] = log.start_offset
        else:
            self._log_starts.pop(place, None)  # as in Kafka: what the first segment says need not be said again
        if partition_id in high_watermarks:
            self._high_watermarks[place] = high_watermarks[partition_id]

    def _write_checkpoints(self) -> None:
        for name, table in (
            (small_files.RECOVERY_POINT_CHECKPOINT, self._recovery_points),
            (small_files.LOG_START_CHECKPOINT, self._log_starts),
            (small_files.HIGH_WATERMARK_CHECKPOINT, self._high_watermarks),
        ):
            self._write_offsets(name, table)

    def _write_offsets(self, name: str, table: Mapping[_Place, int]) -> None:
        rows = [(topic, index, offset) for (topic, index), offset in sorted(table.items())]
        write_atomically(self._filesystem, join(self.path, name), small_files.encode_partition_offsets(rows))

    def shut_down(
        self,
        broker_epoch: int,
        high_watermarks: Mapping[PartitionId, int],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Close every log, write the checkpoints, and leave the mark of a clean stop, if it was one for every log that
        lies here.
        """
        count = len(self._logs)
        remembered: dict[_Place, RememberedLog] = {}
        for done, (partition_id, log) in enumerate(self._logs.items()):
            if progress is not None:
                progress(done, count)
            log.close()
            self._note(partition_id, log, high_watermarks)
            if (known := _remember(log, partition_id.topic_id)) is not None:
                remembered[self._places[partition_id]] = known
        self.futures.close()
        self._write_checkpoints()
        self._logs.clear()
        self._places.clear()
        self._files.close_all()
        if not self._has_abandoned and (self._clean or not self._unopened):
            data = remembered_logs.encode(broker_epoch, remembered)
            write_atomically(self._filesystem, join(self.path, remembered_logs.FILE), data)
            mark = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
            write_atomically(self._filesystem, join(self.path, small_files.CLEAN_SHUTDOWN), mark)


def _remember(log: PartitionLog, topic_id: Uuid) -> RememberedLog | None:
    """What the next start may know of a log that is closed. None: something in its directory is left to be done."""
    if not all(map(_is_settled, log.filesystem.list_directory(log.directory))):
        return None
    return RememberedLog(
        topic_id,
        log.filesystem.names_stamp(log.directory),
        tuple((segment.base_offset, segment.size, segment.end_offset) for segment in log.segments),
        log.epoch_starts(),
        encode_producers(log.producers) if log.producers else b"",
    )


def _is_settled(name: str) -> bool:
    """Nothing that a start would have to finish or to remove, and nothing that is not remembered."""
    if name in (small_files.PARTITION_METADATA, small_files.LEADER_EPOCH_CHECKPOINT):
        return True
    place = file_names.parse_segment_file(name)
    return place is not None and place[1] != file_names.TRANSACTION_INDEX
