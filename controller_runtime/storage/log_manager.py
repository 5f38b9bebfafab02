"""Which log directory of a broker has which topic partition.

What was found at start and what was placed since is remembered, so to find a partition's home no disk is asked: the
event loop does it, and leaves the work to the thread that owns the directory.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final, Self

from controller_runtime.identifiers import DirectoryId, PartitionId
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.file_names import partition_directory
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.found_logs import FoundLog
from controller_runtime.storage.log.open_files import MANY
from controller_runtime.storage.log_directory import NO_BROKER_EPOCH, LogDirectory


class LogOffline(StorageError):
    """A log may lie where nothing can be read."""


class LogManager:
    def __init__(self, directories: Mapping[DirectoryId, LogDirectory], *, has_offline: bool = False) -> None:
        """Use `open`."""
        self.directories: Final = dict(directories)
        self._has_offline = has_offline
        self._online = set(self.directories)
        self._homes: dict[PartitionId, LogDirectory] = {}
        self._counts = dict.fromkeys(self.directories, 0)
        self._nameless: dict[tuple[str, int], LogDirectory] = {}
        """A crash came between making the directory and naming its topic."""
        self.old: dict[DirectoryId, set[tuple[str, int]]] = {}
        """Logs that lie rightly in another directory, too (`found_twice`)."""
        self._found_twice: list[tuple[PartitionId, FoundLog, LogDirectory, LogDirectory]] = []
        self._copies: dict[PartitionId, DirectoryId] = {}
        """Where a move to was not over, at start."""
        for directory in self.directories.values():
            self._copies |= dict.fromkeys(directory.futures.found, directory.id)
            for found in directory.found:
                self._note(found, directory)
        epochs = {directory.broker_epoch for directory in self.directories.values()}
        self.previous_broker_epoch: Final = epochs.pop() if len(epochs) == 1 else NO_BROKER_EPOCH
        """Of the last run if it ended cleanly in every directory, else -1."""

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        directories: Mapping[DirectoryId, str],
        *,
        open_files: int = MANY,
        has_offline: bool = False,
    ) -> Self:
        """Read what the directories say of themselves; no log is opened. They share `open_files`. `has_offline`: there
        are others, which cannot be read.
        """
        share = max(1, open_files // max(1, len(directories)))
        found = {each: LogDirectory(filesystem, each, path, share) for each, path in directories.items()}
        return cls(found, has_offline=has_offline)

    def _note(self, found: FoundLog, directory: LogDirectory) -> None:
        if found.topic_id is None:
            self._nameless.setdefault((found.topic, found.index), directory)
            return
        partition_id = PartitionId(found.topic_id, found.index)
        if partition_id in self._homes:
            self._found_twice.append((partition_id, found, self._homes[partition_id], directory))
        else:
            self._settle(partition_id, directory)

    def found_twice(self, known: Container[PartitionId]) -> str | None:
        """What to do about a replica that lies in two directories; None if there is none. A crash at the end of a move
        leaves two, and a mark in the one that counts. Else, as in Kafka, nobody but a person can say which of the two
        is the right one. What is not `known` is stray, wherever it lies.
        """
        for partition_id, found, first, second in self._found_twice:
            if partition_id not in known:
                continue
            moved = [each for each in (first, second) if each.has_moved_here(found)]
            if len(moved) != 1:
                name = partition_directory(found.topic, found.index)
                return (
                    f"delete one of two directories: the log of {name} is found in both {join(first.path, name)} and "
                    f"{join(second.path, name)}; if a log directory failed recently, delete the one that lies there"
                )
            old = second if moved[0] is first else first
            self.move(partition_id, moved[0].id)
            self.old.setdefault(old.id, set()).add((found.topic, found.index))
        return None

    def copy_of(self, partition_id: PartitionId) -> DirectoryId | None:
        """Where a copy of it was found at start, once: it lies elsewhere."""
        found = self._copies.pop(partition_id, None)
        return None if found == self.home(partition_id).id else found

    def move(self, partition_id: PartitionId, target: DirectoryId) -> None:
        """It lies there from now on."""
        self.forget(partition_id)
        self._settle(partition_id, self.directories[target])

    def home_of(
        self,
        partition_id: PartitionId,
        topic: str,
        wanted: DirectoryId | None = None,
        *,
        is_new: bool = True,
        avoid: Container[DirectoryId] = (),
    ) -> LogDirectory:
        """Where the partition lies, else where it is wanted, else where the fewest are among directories that need not
        be avoided; as in Kafka, where all do, in the first. It stays there. Raises LogOffline when it may lie in a
        directory that was offline at start: it must not begin anew elsewhere.
        """
        home = self._homes.get(partition_id)
        if home is None:
            home = self._nameless.pop((topic, partition_id.index), None)
            is_copy = wanted is not None and self._copies.get(partition_id) == wanted
            if home is None and wanted is not None and not (is_copy and self._has_offline):
                home = self.directories.get(wanted)
            if home is None and self._has_offline and (wanted is not None or not is_new):
                name = partition_directory(topic, partition_id.index)
                raise LogOffline(f"{name} is in no log directory that is online, and one is offline")
            home = home or self._least_loaded(avoid)
            self._settle(partition_id, home)
        return home

    def home(self, partition_id: PartitionId) -> LogDirectory:
        """Of a partition that has one; for any other a directory that does not know it either."""
        return self._homes.get(partition_id) or next(iter(self.directories.values()))

    def forget(self, partition_id: PartitionId) -> None:
        """It is deleted, or set aside: one that comes later may lie elsewhere."""
        home = self._homes.pop(partition_id, None)
        if home is not None:
            self._counts[home.id] -= 1

    def forget_strays(self, known: Container[PartitionId]) -> None:
        for stray in [one for one in self._homes if one not in known]:
            self.forget(stray)
        self._nameless.clear()

    def lose(self, directory_id: DirectoryId) -> None:
        """Its disk failed: nothing new is placed there."""
        self._online.discard(directory_id)

    def _settle(self, partition_id: PartitionId, home: LogDirectory) -> None:
        self._homes[partition_id] = home
        self._counts[home.id] += 1

    def _least_loaded(self, avoid: Container[DirectoryId]) -> LogDirectory:
        candidates = [one for one in self.directories if one in self._online] or list(self.directories)
        candidates = [one for one in candidates if one not in avoid] or candidates[:1]
        return self.directories[min(candidates, key=self._counts.__getitem__)]
