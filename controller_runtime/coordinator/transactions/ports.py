"""What a transaction coordinator needs of the broker that it runs on."""

from __future__ import annotations

from typing import Final, Protocol

from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode

TOPIC: Final = "__transaction_state"
FEATURE: Final = "transaction.version"


class StateTopic(Protocol):
    """The partitions of `__transaction_state`, ids of producers, and the image that says what else there is."""

    @property
    def image(self) -> MetadataImage:
        """The newest."""
        ...

    def append(self, index: int, batch: bytes, wall: WallClock) -> int | ErrorCode:
        """Append one batch to a partition that is led here. Where it ends: it is committed when the high watermark is
        there. Or why it is not taken; then nothing has changed.
        """
        ...

    def next_producer_id(self) -> int | None:
        """One that nobody has; None: a block of them is being asked for."""
        ...
