"""The small text files of a log directory: replaced whole, never edited in place.

One discipline for all of them: write `NAME.tmp`, sync it, rename it over `NAME`, sync the directory. After a crash the
old file or the new one is there, never a mixture. Each format has a pure `encode` and `decode`; `decode` raises
`CorruptFile` naming the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller_runtime.identifiers import Epoch, Offset, Uuid
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import FileSystem, parent

TEMPORARY: Final = ".tmp"
LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT: Final = "replication-offset-checkpoint"
CLEANER_CHECKPOINT: Final = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"


def write_atomically(filesystem: FileSystem, path: str, data: bytes) -> None:
    """Replace `path` durably."""
    temporary = path + TEMPORARY
    if filesystem.exists(temporary):
        filesystem.remove(temporary)
    file = filesystem.open(temporary, create=True)
    try:
        file.write_at(0, data)
        file.fdatasync()
    finally:
        file.close()
    filesystem.rename(temporary, path)
    filesystem.sync_directory(parent(path))


def encode_epoch_starts(starts: Sequence[tuple[Epoch, Offset]]) -> bytes:
    """The text of `leader-epoch-checkpoint`."""
    lines = ["0", str(len(starts)), *(f"{epoch} {offset}" for epoch, offset in starts)]
    return ("\n".join(lines) + "\n").encode()


def decode_epoch_starts(data: bytes, path: str) -> tuple[tuple[Epoch, Offset], ...]:
    rows = _checkpoint_rows(data, path, 2)
    return tuple((Epoch(int(epoch)), Offset(int(offset))) for epoch, offset in rows)


def encode_partition_offsets(offsets: Sequence[tuple[str, int, int]]) -> bytes:
    """The text of an offset checkpoint: (topic, partition, offset) rows."""
    lines = ["0", str(len(offsets)), *(f"{topic} {partition} {offset}" for topic, partition, offset in offsets)]
    return ("\n".join(lines) + "\n").encode()


def decode_partition_offsets(data: bytes, path: str) -> dict[tuple[str, int], int]:
    rows = _checkpoint_rows(data, path, 3)
    return {(topic, int(partition)): int(offset) for topic, partition, offset in rows}


def encode_partition_metadata(topic_id: Uuid) -> bytes:
    return f"version: 0\ntopic_id: {topic_id}".encode()


def decode_partition_metadata(data: bytes, path: str) -> Uuid:
    """The topic id that this directory belongs to."""
    match data.decode(errors="replace").splitlines():
        case ["version: 0", topic] if topic.startswith("topic_id: "):
            try:
                return Uuid.parse(topic.removeprefix("topic_id: "))
            except ValueError as error:
                raise CorruptFile(path, str(error)) from error
        case lines:
            raise CorruptFile(path, f"not partition metadata of version 0: {lines[:2]!r}")


def _checkpoint_rows(data: bytes, path: str, columns: int) -> list[list[str]]:
    if not data:
        return []  # Java makes the file before it has anything to write
    lines = data.decode(errors="replace").splitlines()
    if lines[0].strip() != "0":
        raise CorruptFile(path, f"checkpoint version {lines[0]!r}, not 0")
    rows = [line.split() for line in lines[2:] if line.strip()]
    if len(lines) < 2 or lines[1].strip() != str(len(rows)):
        raise CorruptFile(path, f"{len(rows)} entries, {lines[1] if len(lines) > 1 else 'nothing'!r} announced")
    for row in rows:
        if len(row) != columns or not all(_is_integer(cell) for cell in row[columns - 2 :]):
            raise CorruptFile(path, f"not a checkpoint entry: {' '.join(row)!r}")
    return rows


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
