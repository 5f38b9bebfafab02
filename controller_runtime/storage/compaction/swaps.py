"""One cleaned segment takes the place of several, so that a crash at any moment leaves a log that can be read.

As Apache Kafka does it, and either finishes what the other began: the new files are whole and durable as `.cleaned`;
they become `.swap` before any old file goes; the old ones get `.deleted`, the oldest first, so that what is left of
them never lacks what came later; then the new ones get their names. A start that finds `.cleaned` has the old log, one
that finds only `.swap` takes the new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller_runtime.storage import file_names
from controller_runtime.storage.file_names import CLEANED, SWAP
from controller_runtime.storage.filesystem import FileSystem, join
from controller_runtime.storage.log.batches import ScanEnd, scan
from controller_runtime.storage.log.disk_work import SEGMENT_SUFFIXES, remove_files, set_aside
from controller_runtime.storage.log.segment import Segment

OF_CLEANED: Final = (
    file_names.LOG,
    file_names.OFFSET_INDEX,
    file_names.TIME_INDEX,
    file_names.TRANSACTION_INDEX,
)


def swap(filesystem: FileSystem, new: Segment, old: Sequence[Segment]) -> None:
    """The durable `.cleaned` files of `new` become the segment's; `old` are set aside."""
    paths = [new.path_of(suffix) for suffix in OF_CLEANED if filesystem.exists(new.path_of(suffix) + CLEANED)]
    for path in paths:
        filesystem.rename(path + CLEANED, path + SWAP)
    filesystem.sync_directory(new.directory)
    for segment in old:
        is_replaced = segment.base_offset == new.base_offset
        set_aside(filesystem, segment, OF_CLEANED if is_replaced else SEGMENT_SUFFIXES)
    for path in paths:
        filesystem.rename(path + SWAP, path)
    filesystem.sync_directory(new.directory)


def finish_swaps(filesystem: FileSystem, directory: str) -> None:
    """Before a log is opened: what was cleaned and not finished is dropped, what was being swapped is swapped."""
    names = filesystem.list_directory(directory)
    cleaned = [name for name in names if file_names.is_unfinished(name, CLEANED)]
    swaps = [name for name in names if file_names.is_unfinished(name, SWAP)]
    if not cleaned and not swaps:
        return
    least = min((_base(name) for name in cleaned), default=None)
    dropped = [name for name in swaps if least is not None and _base(name) >= least]
    remove_files(filesystem, directory, [*dropped, *cleaned])
    _take(filesystem, directory, [name for name in swaps if name not in dropped])


def _take(filesystem: FileSystem, directory: str, swaps: list[str]) -> None:
    logs = [name for name in swaps if name.endswith(file_names.LOG + SWAP)]
    least = min(map(_base, logs), default=0)
    end = max((_end(filesystem, join(directory, name)) for name in logs), default=0)
    replaced = []
    for name in filesystem.list_directory(directory):
        place = file_names.parse_segment_file(name)
        if place is not None and least <= place[0] < end:
            of_snapshot = place[1] == file_names.PRODUCER_SNAPSHOT
            if not (of_snapshot and f"{name[:20]}{file_names.LOG}{SWAP}" in logs):
                replaced.append(name)
    remove_files(filesystem, directory, replaced)
    for name in swaps:
        filesystem.rename(join(directory, name), join(directory, name.removesuffix(SWAP)))
    filesystem.sync_directory(directory)


def _end(filesystem: FileSystem, path: str) -> int:
    """Behind the last batch of a swapped file, which was durable before it got this name."""
    end = _base(path.rpartition("/")[2])
    file = filesystem.open(path, write=False)
    try:
        for item in scan(file, verify=False):
            if isinstance(item, ScanEnd):
                break
            end = item.next_offset
    finally:
        file.close()
    return end


def _base(name: str) -> int:
    return int(name[:20])
