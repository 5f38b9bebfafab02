"""A log directory that its disk refuses to read at start: it is offline, and no log that may lie there begins anew in
another one. What Apache Kafka 4.3.1 did with the same directories is in each case.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_runtime.identifiers import DirectoryId, NodeId, PartitionId, Uuid
from controller_runtime.storage.directories import NodeDirectories, open_directories
from controller_runtime.storage.errors import StorageError
from controller_runtime.storage.filesystem import FileSystem, OsFileSystem, OsLock
from controller_runtime.storage.log_manager import LogManager, LogOffline
from controller_runtime.storage.meta_properties import MetaProperties, save_meta_properties
from support.disks.memory_disk import MemoryDisk

pytestmark = pytest.mark.unit

KEY = PartitionId(Uuid.of(1, 1), 0)
ONLINE, GONE = DirectoryId(Uuid.of(1, 200)), DirectoryId(Uuid.of(1, 201))


class Refusing(OsFileSystem):
    """One operation on a directory or on what is in it ends with an error of its disk."""

    def __init__(self, operation: str, where: Path) -> None:
        self._operation, self._where = operation, str(where)

    def _refuse(self, operation: str, path: str) -> None:
        if operation == self._operation and path.startswith(self._where):
            raise OSError(errno.EIO, "Input/output error", path)

    def exists(self, path: str) -> bool:
        self._refuse("exists", path)
        return super().exists(path)

    def is_directory(self, path: str) -> bool:
        self._refuse("is_directory", path)
        return super().is_directory(path)

    def lock(self, path: str) -> OsLock:
        self._refuse("lock", path)
        return super().lock(path)


def opened(home: Path, disk: FileSystem | None = None) -> NodeDirectories:
    paths = [str(home / name) for name in ("a", "b")]
    return open_directories(
        disk or OsFileSystem(),
        paths,
        metadata_dir=paths[0],
        node_id=NodeId(1),
        new_directory_id=lambda: DirectoryId(Uuid.of(1, 1)),
        date="today",
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for number, name in enumerate("ab", 1):
        (tmp_path / name).mkdir()
        found = MetaProperties("one", NodeId(1), DirectoryId(Uuid.of(9, number)))
        save_meta_properties(OsFileSystem(), str(tmp_path / name), found, "today")
    return tmp_path


def a_file_instead(directory: Path) -> None:
    remove(directory)
    directory.write_text("not a directory")


def a_directory_for_the_file(directory: Path) -> None:
    (directory / "meta.properties").unlink()
    (directory / "meta.properties").mkdir()


def remove(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()


def nonsense(directory: Path) -> None:
    (directory / "meta.properties").write_text("version=1\n")


@pytest.mark.parametrize("breaks", [a_file_instead, a_directory_for_the_file])
def test_it_is_offline_and_the_others_are_opened(home: Path, breaks: Callable[[Path], None]) -> None:
    """Kafka: "Error while reading meta.properties file", and it starts."""
    breaks(home / "b")
    found = opened(home)
    assert dict(found.ids) == {str(home / "a"): Uuid.of(9, 1)}
    assert [path for path, why in found.offline.items() if path in why] == [str(home / "b")]
    found.release()


@pytest.mark.parametrize(
    ("operation", "what"), [("exists", ""), ("exists", "meta.properties"), ("is_directory", ""), ("lock", "")]
)
def test_one_whose_disk_answers_with_errors_is_offline(home: Path, operation: str, what: str) -> None:
    """STO-04: whatever is asked of it first. That of the metadata log stops the start."""
    found = opened(home, Refusing(operation, home / "b" / what))
    assert dict(found.ids) == {str(home / "a"): Uuid.of(9, 1)}
    assert [(path, "Input/output error" in why) for path, why in found.offline.items()] == [(str(home / "b"), True)]
    found.release()
    with pytest.raises(StorageError, match=r"replace the disk of the metadata log: .*/a cannot be .*: Input/output"):
        opened(home, Refusing(operation, home / "a" / what))


@pytest.mark.parametrize("breaks", [a_file_instead, a_directory_for_the_file])
def test_nothing_starts_without_the_directory_of_the_metadata_log(home: Path, breaks: Callable[[Path], None]) -> None:
    """Kafka: Encountered I/O error in metadata log directory. Cannot continue."""
    breaks(home / "a")
    with pytest.raises(StorageError, match="replace the disk of the metadata log"):
        opened(home)


def test_one_that_is_missing_stops_the_start(home: Path) -> None:
    """Kafka: "No `meta.properties` found in ... (have you run `kafka-storage.sh` to format the directory?)"."""
    remove(home / "b")
    with pytest.raises(StorageError, match=r"b does not exist: run kafka-storage format first"):
        opened(home)


def test_one_that_can_be_read_and_says_nonsense_stops_the_start(home: Path) -> None:
    """Kafka: Error: node ID not found."""
    nonsense(home / "b")
    with pytest.raises(StorageError, match="is missing"):
        opened(home)


def manager(*, has_offline: bool) -> LogManager:
    disk = MemoryDisk()
    disk.make_directories("/data")
    return LogManager.open(disk, {ONLINE: "/data"}, has_offline=has_offline)


@pytest.mark.parametrize(
    ("wanted", "is_new", "is_refused"),
    [(GONE, False, True), (GONE, True, True), (None, False, True), (None, True, False), (ONLINE, False, False)],
)
def test_a_log_that_may_lie_there_does_not_begin_anew(
    wanted: DirectoryId | None, is_new: bool, is_refused: bool
) -> None:
    """DIR-02."""
    if is_refused:
        with pytest.raises(LogOffline, match="orders-0 is in no log directory that is online"):
            manager(has_offline=True).home_of(KEY, "orders", wanted, is_new=is_new)
    else:
        assert manager(has_offline=True).home_of(KEY, "orders", wanted, is_new=is_new).id == ONLINE
    assert manager(has_offline=False).home_of(KEY, "orders", wanted, is_new=is_new).id == ONLINE
