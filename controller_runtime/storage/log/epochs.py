"""Which leader epoch begins at which offset of a log: the content of `leader-epoch-checkpoint`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from controller_runtime.identifiers import Epoch, Offset
from controller_runtime.storage import small_files
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.filesystem import FileSystem, join, read_whole

NO_EPOCH: Final = -1


class EpochStarts:
    """(epoch, first offset) pairs, ascending in both."""

    __slots__ = ("_entries", "latest")

    def __init__(self, entries: Iterable[tuple[Epoch, Offset]] = ()) -> None:
        self._set(list(entries))

    def _set(self, entries: list[tuple[Epoch, Offset]]) -> None:
        self._entries = entries
        self.latest: int = entries[-1][0] if entries else NO_EPOCH

    def entries(self) -> tuple[tuple[Epoch, Offset], ...]:
        return tuple(self._entries)

    def note(self, epoch: int, offset: int) -> None:
        """A batch of this epoch is appended at `offset`."""
        if epoch > self.latest:
            self._entries.append((Epoch(epoch), Offset(offset)))
            self.latest = epoch

    def cut(self, end: int) -> None:
        """The log ends at `end` now."""
        self._set([entry for entry in self._entries if entry[1] < end])

    def begin_at(self, start: Offset, *, keep: bool) -> None:
        """The log begins at `start` now: the epoch that wrote what lies there is kept, and with `keep` the one that
        wrote up to there, too.
        """
        kept = [entry for entry in self._entries if entry[1] >= start]
        before = [entry for entry in self._entries if entry[1] < start]
        if before and keep and (not kept or kept[0][1] > start):
            kept.insert(0, (before[-1][0], start))
        self._set(kept)

    def encode(self) -> bytes:
        return small_files.encode_epoch_starts(self._entries)


def load_epochs(filesystem: FileSystem, directory: str) -> EpochStarts | None:
    """What the checkpoint says; None when it is missing or cannot be right: the batches know better."""
    path = join(directory, small_files.LEADER_EPOCH_CHECKPOINT)
    if not filesystem.exists(path):
        return None
    try:
        entries = small_files.decode_epoch_starts(read_whole(filesystem, path), path)
    except CorruptFile:
        return None
    ascending = all(a[0] < b[0] and a[1] <= b[1] for a, b in pairwise(entries))
    return EpochStarts(entries) if ascending else None
