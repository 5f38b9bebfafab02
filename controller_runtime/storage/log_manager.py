"""All topic partitions of a broker on its log directories.

It finds a partition's directory or chooses one, keeps Kafka's checkpoint files (recovery points, log starts, high
watermarks), and knows whether the last stop was clean. A directory that belongs to another topic of the same name
(deleted and made again while the broker was away) is moved aside as `…-stray`, never reused and never deleted. Not
thread-safe: one thread owns it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.storage import small_files
from controller_runtime.storage.errors import CorruptFile, StorageError
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.partition_log import (
    PartitionLog,
    PartitionLogConfig,
    parse_partition_directory,
    partition_directory,
)
from controller_runtime.storage.small_files import decode_partition_metadata, decode_partition_offsets, write_atomically
from controller_runtime.values import dataclass

NO_BROKER_EPOCH: Final = -1
_DELETE: Final = "-delete"
_STRAY: Final = "-stray"
_LONGEST_NAME: Final = 255
"""What file systems take for the name of a directory."""


def _set_aside(topic: str, index: int, topic_id: Uuid, suffix: str) -> str:
    """The name of a directory that is no partition any more: as in Kafka, what is too much of a long topic's name is
    left out.
    """
    end = f"-{index}.{topic_id.hex()}{suffix}"
    return topic[: _LONGEST_NAME - len(end)] + end


@dataclass(frozen=True, slots=True)
class LogId:
    """A partition by topic id; the name only finds its directory."""

    topic_id: Uuid
    index: int


@dataclass(slots=True)
class _OpenLog:
    topic: str
    directory_id: DirectoryId
    log: PartitionLog


class LogManager:
    def __init__(self, filesystem: FileSystem, directories: Mapping[DirectoryId, str]) -> None:
        self._filesystem = filesystem
        self._directories = dict(directories)
        self._logs: dict[LogId, _OpenLog] = {}
        self._recovery_points: dict[DirectoryId, dict[tuple[str, int], int]] = {}
        self._log_starts: dict[DirectoryId, dict[tuple[str, int], int]] = {}
        self._clean: dict[DirectoryId, bool] = {}
        self._abandoned: set[DirectoryId] = set()
        self.previous_broker_epoch = NO_BROKER_EPOCH
        """Of the last run if it ended cleanly in every directory, else -1."""

    @classmethod
    def open(cls, filesystem: FileSystem, directories: Mapping[DirectoryId, str]) -> LogManager:
        """Read the checkpoints, take note of a clean stop and withdraw its mark, finish deletions."""
        manager = cls(filesystem, directories)
        epochs = set()
        for directory_id, path in directories.items():
            epoch = manager._take_clean_mark(path)
            manager._clean[directory_id] = epoch is not None
            epochs.add(NO_BROKER_EPOCH if epoch is None else epoch)
            manager._recovery_points[directory_id] = manager._checkpoint(path, small_files.RECOVERY_POINT_CHECKPOINT)
            manager._log_starts[directory_id] = manager._checkpoint(path, small_files.LOG_START_CHECKPOINT)
            for name in filesystem.list_directory(path):
                if name.endswith(_DELETE):
                    manager._remove_tree(join(path, name))
        manager.previous_broker_epoch = epochs.pop() if len(epochs) == 1 else NO_BROKER_EPOCH
        return manager

    def _take_clean_mark(self, path: str) -> int | None:
        mark = join(path, small_files.CLEAN_SHUTDOWN)
        if not self._filesystem.exists(mark):
            return None
        try:
            epoch = int(json.loads(read_whole(self._filesystem, mark) or b"{}").get("brokerEpoch", NO_BROKER_EPOCH))
        except (ValueError, AttributeError, TypeError):
            epoch = NO_BROKER_EPOCH
        self._filesystem.remove(mark)
        self._filesystem.sync_directory(path)
        return epoch

    def _checkpoint(self, path: str, name: str) -> dict[tuple[str, int], int]:
        file = join(path, name)
        if not self._filesystem.exists(file):
            return {}
        return decode_partition_offsets(read_whole(self._filesystem, file), file)

    # Partitions.

    def open_log(
        self, log_id: LogId, topic: str, directory_id: DirectoryId | None, config: PartitionLogConfig
    ) -> tuple[PartitionLog, DirectoryId]:
        """The partition's log, recovered or made; already open ones are given again."""
        if log_id in self._logs:
            known = self._logs[log_id]
            return known.log, known.directory_id
        home = self._home_of(log_id, topic)
        if home is None:
            wanted = directory_id if directory_id in self._directories else None
            home = wanted or self._least_loaded()
        place = (topic, log_id.index)
        log = PartitionLog.open(
            self._filesystem,
            join(self._directories[home], partition_directory(topic, log_id.index)),
            log_id.topic_id,
            config,
            recovery_point=self._recovery_points[home].get(place, 0),
            log_start=self._log_starts[home].get(place, 0),
            clean=self._clean[home],
        )
        self._logs[log_id] = _OpenLog(topic, home, log)
        return log, home

    def log(self, log_id: LogId) -> PartitionLog:
        """An open log. Raises StorageError when it is not open (any more)."""
        if log_id not in self._logs:
            raise StorageError(f"partition {log_id.index} of topic id {log_id.topic_id} is not open")
        return self._logs[log_id].log

    def close_log(self, log_id: LogId, *, delete: bool) -> None:
        """Let go of a log; `delete` removes it from the disk: renamed first, so that a crash cannot leave half of it in
        use.
        """
        known = self._logs.pop(log_id, None)
        if known is None:
            return
        known.log.close()
        if delete:
            parent = self._directories[known.directory_id]
            grave = join(parent, _set_aside(known.topic, log_id.index, log_id.topic_id, _DELETE))
            self._filesystem.rename(known.log.directory, grave)
            self._filesystem.sync_directory(parent)
            self._remove_tree(grave)
            for table in (self._recovery_points, self._log_starts):
                table[known.directory_id].pop((known.topic, log_id.index), None)

    def abandon(self, log_id: LogId) -> None:
        """Let go of a log that met a fault: nothing more of it is written, checkpointed or called clean."""
        known = self._logs.pop(log_id, None)
        if known is not None:
            self._abandoned.add(known.directory_id)
            known.log.abandon()

    def _home_of(self, log_id: LogId, topic: str) -> DirectoryId | None:
        """The directory that already holds this partition; strays of the same name are moved aside."""
        for directory_id, path in self._directories.items():
            place = join(path, partition_directory(topic, log_id.index))
            if not self._filesystem.is_directory(place):
                continue
            metadata = join(place, small_files.PARTITION_METADATA)
            if not self._filesystem.exists(metadata):
                return directory_id  # A crash came between making the directory and naming its topic.
            found = decode_partition_metadata(read_whole(self._filesystem, metadata), metadata)
            if found == log_id.topic_id:
                return directory_id
            self._filesystem.rename(place, join(path, _set_aside(topic, log_id.index, found, _STRAY)))
            self._filesystem.sync_directory(path)
        return None

    def _least_loaded(self) -> DirectoryId:
        counts = dict.fromkeys(self._directories, 0)
        for directory_id, path in self._directories.items():
            names = self._filesystem.list_directory(path)
            counts[directory_id] = sum(parse_partition_directory(name) is not None for name in names)
        return min(counts, key=lambda directory_id: counts[directory_id])

    def _remove_tree(self, path: str) -> None:
        for name in self._filesystem.list_directory(path):
            below = join(path, name)
            if self._filesystem.is_directory(below):
                self._remove_tree(below)
            else:
                self._filesystem.remove(below)
        self._filesystem.remove_directory(path)

    # Checkpoints and the end.

    def checkpoint(self) -> None:
        """Flush every log and write Kafka's checkpoint files, so that a crash has little to recover."""
        for known in self._logs.values():
            place = (known.topic, _index_of(known.log.directory))
            known.log.flush()
            self._recovery_points[known.directory_id][place] = known.log.recovery_point
            self._log_starts[known.directory_id][place] = known.log.start_offset
        for directory_id, path in self._directories.items():
            points, starts = self._recovery_points[directory_id], self._log_starts[directory_id]
            moved = {place: offset for place, offset in starts.items() if offset > 0}
            for name, table in (
                (small_files.RECOVERY_POINT_CHECKPOINT, points),
                (small_files.LOG_START_CHECKPOINT, moved),
                (small_files.HIGH_WATERMARK_CHECKPOINT, points),
            ):
                rows = [(topic, index, offset) for (topic, index), offset in sorted(table.items())]
                write_atomically(self._filesystem, join(path, name), small_files.encode_partition_offsets(rows))

    def shut_down(self, broker_epoch: int) -> None:
        """Close everything and leave the mark of a clean stop where it was one."""
        self.checkpoint()
        for known in self._logs.values():
            known.log.close()
        self._logs.clear()
        mark = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()
        for directory_id, path in self._directories.items():
            if directory_id not in self._abandoned:
                write_atomically(self._filesystem, join(path, small_files.CLEAN_SHUTDOWN), mark)


def _index_of(directory: str) -> int:
    """The partition number in a log's directory."""
    found = parse_partition_directory(directory.rpartition("/")[2])
    if found is None:
        raise CorruptFile(directory, "not a partition's directory")
    return found[1]
