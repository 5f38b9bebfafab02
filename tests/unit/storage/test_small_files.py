"""The small files: what is refused, and that a crash leaves the old or the new.

STO-04: directories that do not belong together, are missing or damaged.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import DirectoryId, Epoch, NodeId, Uuid
from controller_runtime.storage import small_files
from controller_runtime.storage.directories import NotFormatted, open_directories
from controller_runtime.storage.errors import CorruptFile, DirectoryLocked, DiskFailed, StorageError
from controller_runtime.storage.meta_properties import (
    DirectoriesDisagree,
    MetaProperties,
    load_ensemble,
    save_meta_properties,
)
from controller_runtime.storage.quorum_state import (
    QuorumState,
    decode_quorum_state,
    load_quorum_state,
    save_quorum_state,
)
from support.disks.memory_disk import Crashed, MemoryDisk, Policy

pytestmark = pytest.mark.unit

OLD = QuorumState(Epoch(4), voted_id=NodeId(2), voted_directory=DirectoryId(Uuid.of(5, 5)))
NEW = QuorumState(Epoch(5), leader_id=NodeId(3))


@pytest.mark.parametrize("policy", ["synced only", "everything", "half of unsynced"])
def test_a_crash_while_voting_leaves_the_old_state_or_the_new(policy: Policy) -> None:
    seen = set()
    for operations in range(12):
        disk = MemoryDisk()
        disk.make_directories("/log")
        save_quorum_state(disk, "/log", OLD)
        disk.crash_after(operations)
        finished = False
        try:
            save_quorum_state(disk, "/log", NEW)
            finished = True
        except Crashed:
            pass
        found = load_quorum_state(disk.survivors(policy), "/log")
        assert found in ((NEW,) if finished else (OLD, NEW))
        seen.add(found)
        after = disk.survivors(policy)
        save_quorum_state(after, "/log", NEW)
        assert load_quorum_state(after, "/log") == NEW
    assert seen == {OLD, NEW}


def test_a_quorum_state_that_cannot_be_synced_is_not_reported_as_saved() -> None:
    disk = MemoryDisk()
    disk.make_directories("/log")
    disk.failing_syncs = True
    with pytest.raises(DiskFailed):
        save_quorum_state(disk, "/log", NEW)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"data_version":2}',
        b'{"leaderEpoch":"x","leaderId":1,"votedId":1,"data_version":1}',
        b'{"leaderId":1,"votedId":1,"data_version":1}',
        b'{"leaderEpoch":1,"leaderId":1,"votedId":1,"votedDirectoryId":"short","data_version":1}',
    ],
)
def test_a_quorum_state_that_is_none_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="/log/quorum-state"):
        decode_quorum_state(data, "/log/quorum-state")


@pytest.mark.parametrize("data", [b"1\n0\n", b"0\n2\n1 1\n", b"0\n1\n1\n", b"0\n1\nx y\n", b"0"])
def test_a_checkpoint_that_is_none_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="/log/leader-epoch-checkpoint"):
        small_files.decode_epoch_starts(data, "/log/leader-epoch-checkpoint")


def directories(disk: MemoryDisk, **formatted: MetaProperties | None) -> list[str]:
    paths = [f"/{name}" for name in formatted]
    for path, properties in zip(paths, formatted.values(), strict=True):
        disk.make_directories(path)
        if properties is not None:
            save_meta_properties(disk, path, properties, "today")
    return paths


def identity(node: int, directory: int | None, cluster: str = "one") -> MetaProperties:
    return MetaProperties(cluster, NodeId(node), None if directory is None else DirectoryId(Uuid.of(9, directory)))


def open_all(disk: MemoryDisk, paths: list[str], node: int = 1) -> dict[str, DirectoryId]:
    opened = open_directories(
        disk,
        paths,
        metadata_dir=paths[0],
        node_id=NodeId(node),
        new_directory_id=lambda: DirectoryId(Uuid.of(1, 1)),
        date="today",
    )
    return dict(opened.ids)


def test_directories_of_one_node_open_together() -> None:
    disk = MemoryDisk()
    paths = directories(disk, a=identity(1, 1), b=identity(1, 2))
    assert open_all(disk, paths) == {"/a": Uuid.of(9, 1), "/b": Uuid.of(9, 2)}


def test_a_directory_without_an_id_is_given_one_for_good() -> None:
    disk = MemoryDisk()
    paths = directories(disk, a=identity(1, None))
    assert open_all(disk, paths) == {"/a": Uuid.of(1, 1)}
    assert load_ensemble(disk, paths, "/a").formatted["/a"].directory_id == Uuid.of(1, 1)


@pytest.mark.parametrize(
    ("second", "node", "complaint"),
    [
        (identity(2, 2), 1, "/b/meta.properties has node.id=2, expected 1"),
        (identity(1, 2, "two"), 1, "/b/meta.properties has cluster.id=two, expected one"),
        (identity(1, 1), 1, "directory.id .* is in both /a and /b"),
        (identity(1, 2), 7, "/a/meta.properties has node.id=1, expected 7"),
    ],
)
def test_directories_that_disagree_are_refused_by_name(second: MetaProperties, node: int, complaint: str) -> None:
    disk = MemoryDisk()
    paths = directories(disk, a=identity(1, 1), b=second)
    with pytest.raises(DirectoriesDisagree, match=complaint):
        open_all(disk, paths, node)
    with pytest.raises(DirectoriesDisagree):
        open_all(disk, paths, node)  # the locks of the failed attempt are gone


def test_an_unformatted_directory_is_never_formatted_by_a_start() -> None:
    disk = MemoryDisk()
    paths = directories(disk, a=identity(1, 1), b=None)
    with pytest.raises(NotFormatted, match=r"no meta\.properties in /b"):
        open_all(disk, paths)
    with pytest.raises(NotFormatted, match="/c does not exist"):
        open_all(disk, [*paths, "/c"])


def test_a_directory_opens_once() -> None:
    disk = MemoryDisk()
    paths = directories(disk, a=identity(1, 1))
    open_all(disk, paths)
    with pytest.raises(DirectoryLocked):
        open_all(disk, paths)


def test_meta_properties_that_are_damaged_stop_the_start() -> None:
    disk = MemoryDisk()
    paths = directories(disk, a=identity(1, 1))
    small_files.write_atomically(disk, "/a/meta.properties", b"#\nversion=7\ncluster.id=x\nnode.id=1\n")
    with pytest.raises(StorageError, match=r"/a/meta\.properties: version '7', only 1 is known"):
        open_all(disk, paths)
