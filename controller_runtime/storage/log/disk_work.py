"""What a log still has to do to its disk, as a list of tasks in their one right order.

The loop makes the list; a writer performs it, in a thread in production and on a virtual disk in the simulator. Order
is what recovery relies on: a segment is durable before the next one exists, removals happen from the end that keeps the
rest contiguous, each one durable before the next. So after a crash only the last segment can be torn, and a gap between
segments is never our doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.log.segment import Segment, put_end, sync_file
from controller_runtime.storage.small_files import write_atomically
from controller_runtime.values import dataclass

SEGMENT_SUFFIXES: Final = (
    file_names.LOG,
    file_names.OFFSET_INDEX,
    file_names.TIME_INDEX,
    file_names.TRANSACTION_INDEX,
    file_names.PRODUCER_SNAPSHOT,
)
"""Of all files of a segment, in the order in which they go."""


@dataclass(frozen=True, slots=True)
class CreateSegment:
    segment: Segment


@dataclass(slots=True)
class WriteBatches:
    """Bytes for one place of a segment; adjacent appends are merged into one write."""

    segment: Segment
    position: int
    chunks: list[bytes]
    size: int


@dataclass(frozen=True, slots=True)
class SyncSegment:
    segment: Segment


@dataclass(frozen=True, slots=True)
class SyncIndexes:
    """Of a segment that is closed now: the next start believes them."""

    segment: Segment


@dataclass(frozen=True, slots=True)
class TruncateSegment:
    segment: Segment
    size: int


@dataclass(frozen=True, slots=True)
class RemoveSegment:
    segment: Segment


@dataclass(frozen=True, slots=True)
class SetAsideSegment:
    """Its files get Kafka's suffix `.deleted`; they are removed later, or by the next start."""

    segment: Segment


@dataclass(frozen=True, slots=True)
class WriteIndexEntries:
    path: str
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ReplaceFile:
    """A small file, replaced atomically."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class WriteUnsynced:
    """A small file whose loss costs nothing but time: it says itself whether it is whole."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class WriteSnapshotPart:
    """Bytes of an unfinished snapshot; position 0 begins it anew, `last` freezes it."""

    directory: str
    snapshot_id: OffsetAndEpoch
    position: int
    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class RemoveFiles:
    """Files of a directory, in order; missing ones are fine."""

    directory: str
    names: tuple[str, ...]


DiskTask = (
    CreateSegment
    | WriteBatches
    | SyncSegment
    | SyncIndexes
    | TruncateSegment
    | RemoveSegment
    | SetAsideSegment
    | WriteIndexEntries
    | ReplaceFile
    | WriteUnsynced
    | WriteSnapshotPart
    | RemoveFiles
)


def perform(filesystem: FileSystem, tasks: Sequence[DiskTask]) -> None:
    """Do all of it, in order. Raises `DiskFailed` (or OSError) at the first task that the disk refuses; nothing is
    retried.
    """
    for task in tasks:
        match task:
            case WriteBatches(segment, position, chunks):
                segment.file.write_at(position, chunks[0] if len(chunks) == 1 else b"".join(chunks))
            case SyncSegment(segment):
                segment.file.fdatasync()
            case CreateSegment(segment):
                segment.files.get(segment.path, create=True)
                filesystem.sync_directory(segment.directory)
            case SyncIndexes(segment):
                for suffix in (file_names.OFFSET_INDEX, file_names.TIME_INDEX):
                    sync_file(filesystem, segment.path_of(suffix))
            case TruncateSegment(segment, size):
                segment.file.truncate(size)
                segment.file.fdatasync()
            case RemoveSegment(segment):
                _remove_segment(filesystem, segment)
            case SetAsideSegment(segment):
                set_aside(filesystem, segment, SEGMENT_SUFFIXES)
            case WriteIndexEntries(path, position, data):
                put_end(filesystem, path, position, data)
            case ReplaceFile(path, data):
                write_atomically(filesystem, path, data)
            case WriteUnsynced(path, data):
                put_end(filesystem, path, 0, data)
            case WriteSnapshotPart():
                _write_snapshot_part(filesystem, task)
            case RemoveFiles(directory, names):
                remove_files(filesystem, directory, names)
            case _ as unknown:
                assert_never(unknown)


def remove_files(filesystem: FileSystem, directory: str, names: Sequence[str]) -> None:
    """Remove files in order, each durably before the next."""
    for name in names:
        path = join(directory, name)
        if filesystem.exists(path):
            filesystem.remove(path)
            filesystem.sync_directory(directory)


def _remove_segment(filesystem: FileSystem, segment: Segment) -> None:
    segment.files.close(segment.path)
    names = [file_names.segment_file(segment.base_offset, suffix) for suffix in SEGMENT_SUFFIXES]
    remove_files(filesystem, segment.directory, names)


def set_aside(filesystem: FileSystem, segment: Segment, suffixes: Sequence[str]) -> None:
    """Give these of its files the suffix of what is deleted, durably; those that are missing are fine."""
    segment.files.close(segment.path)
    for suffix in suffixes:
        path = segment.path_of(suffix)
        if filesystem.exists(path):
            filesystem.rename(path, path + file_names.DELETED)
    filesystem.sync_directory(segment.directory)


def _write_snapshot_part(filesystem: FileSystem, task: WriteSnapshotPart) -> None:
    part = join(task.directory, file_names.snapshot_part_file(task.snapshot_id))
    if task.position == 0 and filesystem.exists(part):
        filesystem.remove(part)
    file = filesystem.open(part, create=True)
    try:
        assert file.size() == task.position, f"{part} has {file.size()} bytes, bytes for {task.position} came"
        if task.data:
            file.write_at(task.position, task.data)
        if task.last:
            file.fdatasync()
    finally:
        file.close()
    if task.last:
        filesystem.make_read_only(part)
        filesystem.rename(part, join(task.directory, file_names.snapshot_file(task.snapshot_id)))
        filesystem.sync_directory(task.directory)
