"""What a group coordinator needs of the broker that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.events import ConnectionInfo
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic

TOPIC: Final = "__consumer_offsets"
KEYS: Final = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.OFFSET_DELETE,
    ApiKey.LIST_GROUPS,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_DESCRIBE,
)
"""Requests that are answered by it."""


class OffsetsTopic(Protocol):
    """The partitions of `__consumer_offsets`, and the image that says what else there is."""

    @property
    def image(self) -> MetadataImage:
        """The newest."""
        ...

    @property
    def version(self) -> int:
        """Of the image: where it ends in the metadata log."""
        ...

    @property
    def topics_made_at(self) -> int:
        """The version at which topics were made last."""
        ...

    def may_describe(self, connection: ConnectionInfo, topic: str) -> bool:
        """Whether who speaks there may know of the topic."""
        ...

    def make_topics(
        self, connection: ConnectionInfo, topics: Mapping[str, CreatableTopic], kept_ms: int, now: Instant
    ) -> str:
        """Topics that a streams group needs for itself are asked for, in the name of who speaks there. Why they are
        not, or could not be made in the last `kept_ms`; empty: nothing is known against it.
        """
        ...

    def append(self, index: int, batch: bytes, wall: WallClock, verification: Any = None) -> int | ErrorCode:
        """Append one batch to a partition that is led here. Where it ends: it is committed when the high watermark is
        there (`GroupPartition.committed_to`). Or why it is not taken; then nothing has changed. `verification`: what
        the broker knows of the transaction that it belongs to.
        """
        ...
