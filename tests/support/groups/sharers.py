"""What members of share groups say to a coordinator over logs in memory."""

from __future__ import annotations

from typing import Any

from controller_runtime.coordinator.share_requests import states_settled
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from support.groups.consumers import Members
from support.groups.coordinated import READ


class Sharers(Members):
    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.replay(FeatureLevelRecord(name="share.version", feature_level=1))

    def share(self, member_id: str = "a", epoch: int = 0, **more: Any) -> Any:
        told: dict[str, Any] = {"group_id": "s", "member_id": member_id, "member_epoch": epoch}
        if epoch == 0:
            told["subscribed_topic_names"] = (READ,)
        return self.ask(ShareGroupHeartbeatRequest(**(told | more)))

    def wanted(self, group_id: str = "s") -> list[dict[str, list[int]]]:
        """Partitions whose states are to be initialized, request by request, by topic."""
        partition, names = self.partition(group_id), self.logs.image.topics
        out, partition.wanted = partition.wanted, []
        return [
            {
                topic.name: list(offsets)
                for topic_id, offsets in each.start_offsets.items()
                if (topic := names.get(topic_id))
            }
            for each in out
        ]

    def settle(self, group_id: str = "s", error: ErrorCode = ErrorCode.NONE) -> None:
        """The share coordinator has answered what is wanted."""
        partition = self.partition(group_id)
        out, partition.wanted = partition.wanted, []
        for each in out:
            asked = {topic_id: frozenset(offsets) for topic_id, offsets in each.start_offsets.items()}
            states_settled(self.coordinator, each.group_id, asked, error, now=self.now, wall=self.wall)
