"""What the shell must provide to a node: reading, synchronously and from memory or page cache.

Reads are the only thing a node does besides returning effects. They see every effect of earlier steps, flushed or not,
but not those of the running step. Nobody writes through a port.
"""

from __future__ import annotations

from typing import Protocol

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch


class MetadataLogReader(Protocol):
    """The metadata log as the node reads it. Offsets are exclusive at ends; batches are never cut."""

    @property
    def start_offset(self) -> Offset: ...

    @property
    def end_offset(self) -> Offset:
        """Of all that was appended, flushed or not."""
        ...

    @property
    def flushed_offset(self) -> Offset:
        """Everything below is on disk."""
        ...

    @property
    def size_bytes(self) -> int:
        """Of all segments."""
        ...

    @property
    def segment_bytes(self) -> int:
        """No reader is given more at once, but for a batch that is larger."""
        ...

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches, from the one that contains `offset`, up to `max_bytes` in all but at least one; b"" at the
        log's end.
        """
        ...

    def epoch_starts(self) -> tuple[tuple[Epoch, Offset], ...]:
        """(epoch, first offset) ascending, as in `leader-epoch-checkpoint`. Asked once, at start."""
        ...


class SnapshotReader(Protocol):
    """Frozen snapshots. The bootstrap snapshot (0, 0) is one of them, if the directory has it."""

    def snapshots(self) -> tuple[OffsetAndEpoch, ...]:
        """Ids of the frozen snapshots, ascending."""
        ...

    def snapshot_size(self, snapshot_id: OffsetAndEpoch) -> int | None: ...

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        """A slice of the file; it may cut a batch. Raises KeyError if there is no such snapshot."""
        ...
