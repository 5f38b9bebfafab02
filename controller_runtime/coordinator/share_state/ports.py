"""What a share coordinator needs of the broker that it runs on."""

from __future__ import annotations

from typing import Final, Protocol

from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode

TOPIC: Final = "__share_group_state"
KEYS: Final = (
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
)
"""Of the requests that it answers."""


class ShareStateTopic(Protocol):
    """The partitions of `__share_group_state`, and the image that says what else there is."""

    @property
    def image(self) -> MetadataImage:
        """The newest."""
        ...

    def append(self, index: int, batch: bytes, wall: WallClock) -> int | ErrorCode:
        """Append one batch to a partition that is led here. Where it ends: it is committed when the high watermark is
        there. Or why it is not taken; then nothing has changed.
        """
        ...
