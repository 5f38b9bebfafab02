"""What consensus must know of who writes while this node leads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from controller_runtime.identifiers import Epoch, Offset
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.raft.messages import LogBatch


class Writer(Protocol):
    """The active controller's, of one epoch."""

    epoch: Epoch
    committed_image: MetadataImage
    committed_offset: Offset
    """Where `committed_image` ends."""
    committed_timestamp: int
    """Of the newest committed batch, in ms."""
    committed_bytes: int
    """How much of the log this process replayed or wrote."""

    @property
    def has_work(self) -> bool:
        """Something has its offsets, and was not handed over."""
        ...

    def handing_over(self) -> AbstractContextManager[list[LogBatch]]:
        """Everything that was written so far, as batches; if what is done with them raises, they were not taken."""
        ...
