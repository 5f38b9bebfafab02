"""Copies of logs that are on their way from one log directory of a broker to another (KIP-113): Kafka's future logs.

A copy is a log like any other, under a name that is no partition's, so whoever finds it after a crash knows that it may
not be whole. It is given up at any time without loss. Not thread-safe: the thread of its directory has it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Final

from controller_runtime.identifiers import PartitionId
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.found_logs import DELETE, found_futures, future_name
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.log.open_files import OpenFiles
from controller_runtime.storage.partition_log import Grave, PartitionLog


class FutureLogs:
    """Of one log directory."""

    def __init__(self, filesystem: FileSystem, path: str, files: OpenFiles, graves: deque[Grave]) -> None:
        self._filesystem = filesystem
        self._path = path
        self._files = files
        self._graves = graves
        self._names: dict[PartitionId, str] = {}
        """Their directories, open or not."""
        self._logs: dict[PartitionId, PartitionLog] = {}
        for name, found in found_futures(filesystem, path):
            if found.topic_id is not None:  # else a crash came before anything was in it, or it is a person's
                self._names[PartitionId(found.topic_id, found.index)] = name
        self.found: Final = tuple(self._names)
        """Those that were there at start."""

    def open(self, key: PartitionId, topic: str, config: LogConfig) -> PartitionLog:
        """It goes on where it was left, or begins. Raises StorageError for a topic with too long a name."""
        log = self._logs.get(key)
        if log is None:
            name = self._names.get(key) or future_name(topic, key.index, key.topic_id)
            if name is None:
                raise StorageError(f"the name of topic {topic} is too long to move a partition of it")
            path = join(self._path, name)
            self._names[key] = name
            log = self._logs[key] = PartitionLog.open(
                self._filesystem, path, key.topic_id, config, files=self._files, graves=self._graves
            )
            self._filesystem.sync_directory(self._path)
        return log

    def log(self, key: PartitionId) -> PartitionLog:
        """Raises StorageError when it is not open."""
        found = self._logs.get(key)
        if found is None:
            raise StorageError(f"no copy of partition {key.index} of topic id {key.topic_id} is on its way here")
        return found

    def take(self, key: PartitionId) -> str | None:
        """It is a copy no more: the name of its directory, whoever goes on with it; its files are closed."""
        self._logs.pop(key, None)
        return self._names.pop(key, None)

    def drop(self, key: PartitionId) -> None:
        """Give it up, and remove what there is of it."""
        if (log := self._logs.get(key)) is not None:
            log.abandon()
        name = self.take(key)
        if name is not None and self._filesystem.is_directory(join(self._path, name)):
            grave = join(self._path, name + DELETE)
            self._filesystem.rename(join(self._path, name), grave)
            self._filesystem.sync_directory(self._path)
            remove_tree(self._filesystem, grave)

    def remove_strays(self, known: Container[PartitionId]) -> None:
        """Of replicas that are not here any more nothing is lost: they were copies."""
        for key in [each for each in self._names if each not in known]:
            self.drop(key)

    def sizes(self) -> dict[PartitionId, tuple[int, int]]:
        """Bytes, and where they end."""
        return {key: (log.size_bytes, log.end_offset) for key, log in self._logs.items()}

    def flush(self) -> None:
        for log in self._logs.values():
            log.flush()

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
        self._logs.clear()


def remove_tree(filesystem: FileSystem, path: str) -> None:
    for name in filesystem.list_directory(path):
        below = join(path, name)
        if filesystem.is_directory(below):
            remove_tree(filesystem, below)
        else:
            filesystem.remove(below)
    filesystem.remove_directory(path)
