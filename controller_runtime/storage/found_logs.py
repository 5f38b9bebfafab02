"""Directories of partitions as they are found, before any log is opened; and the names of those that are no partition's
any more.

`topic-0` is a partition's, `topic-0.<32 hex digits>-delete` is about to be removed, `…-stray` is kept for a person: the
cluster does not know it, or has it elsewhere; `…-future` is a copy on its way from another log directory (KIP-113).
The digits begin as the topic's id, so that a person knows whose it was;
Kafka takes any.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Final

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.file_names import parse_partition_directory, partition_directory
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.metadata_log import METADATA_DIRECTORY
from controller_runtime.storage.remembered_logs import RememberedLogs
from controller_runtime.storage.small_files import PARTITION_METADATA, decode_partition_metadata
from controller_runtime.values import dataclass

DELETE: Final = "-delete"
STRAY: Final = "-stray"
FUTURE: Final = "-future"
_FUTURE_NAME: Final = re.compile(r"(.+)-(\d+)\.[0-9a-f]{32}-future\Z")
_LONGEST_NAME: Final = 255
"""What file systems take for the name of a directory."""


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A partition's directory. `topic_id` is None if it does not say whose it is."""

    topic: str
    index: int
    topic_id: Uuid | None


def found_logs(filesystem: FileSystem, path: str, remembered: RememberedLogs) -> Iterator[FoundLog]:
    """Of the log directory `path`; not the metadata log. What cannot be read is left out: opening it will tell. What is
    `remembered` and as it was left says no more than that.
    """
    for name in sorted(filesystem.list_directory(path)):
        parsed = parse_partition_directory(name)
        if parsed is None or partition_directory(*parsed) != name or name == METADATA_DIRECTORY:
            continue
        known = remembered.get(*parsed)
        if known is not None and filesystem.names_stamp(join(path, name)) == known.names_stamp:
            yield FoundLog(*parsed, known.topic_id)
            continue
        if not filesystem.is_directory(join(path, name)):
            continue
        try:
            yield FoundLog(*parsed, topic_id_of(filesystem, join(path, name)))
        except CorruptFile:
            continue


def found_futures(filesystem: FileSystem, path: str) -> Iterator[tuple[str, FoundLog]]:
    """Copies that a stop or a crash left unfinished, by the names of their directories."""
    for name in sorted(filesystem.list_directory(path)):
        match = _FUTURE_NAME.match(name)
        if match is None or not filesystem.is_directory(join(path, name)):
            continue
        try:
            yield name, FoundLog(match[1], int(match[2]), topic_id_of(filesystem, join(path, name)))
        except CorruptFile:
            yield name, FoundLog(match[1], int(match[2]), None)


def future_name(topic: str, index: int, topic_id: Uuid) -> str | None:
    """As in Kafka nothing of it is left out, so a long topic has none."""
    name = f"{partition_directory(topic, index)}.{topic_id.hex()}{FUTURE}"
    return name if len(name) <= _LONGEST_NAME else None


def topic_id_of(filesystem: FileSystem, directory: str) -> Uuid | None:
    """None: a crash came between making the directory and naming its topic, so there is nothing in it."""
    file = join(directory, PARTITION_METADATA)
    return decode_partition_metadata(read_whole(filesystem, file), file) if filesystem.exists(file) else None


def set_aside_name(topic: str, index: int, topic_id: Uuid | None, suffix: str, taken: Container[str]) -> str:
    """A name that is not taken. As in Kafka, what is too much of a long topic's name is left out."""
    number = int((topic_id or ZERO_UUID).hex(), 16)
    while True:
        end = f"-{index}.{number:032x}{suffix}"
        name = topic[: _LONGEST_NAME - len(end)] + end
        if name not in taken:
            return name
        number = (number + 1) % (1 << 128)
