"""What members of share groups say to a coordinator over logs in memory. Share coordinators are what is outside: they
answer what they are asked for when the test says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_runtime.broker.share_state import share_groups
from controller_runtime.broker.share_state.persister import Answered, Place, Unanswered
from controller_runtime.coordinator.share.values import StatesWanted
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.share_group_describe_request import ShareGroupDescribeRequest
from controller_runtime.protocol.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from support.groups.consumers import Members
from support.groups.coordinated import READ


class ShareCoordinators:
    """Has the form of `SharePersister`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Mapping[Place, Any], Answered]] = []

    def ask(self, _: Any, __: str, places: Mapping[Place, Any], answered: Answered) -> None:
        self.asked.append((places, answered))


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
        partition = self.partition(group_id)
        names = {topic.id: topic.name for topic in self.logs.image.topics}
        out, partition.wanted = partition.wanted, []
        return [
            {names[topic_id]: list(offsets) for topic_id, offsets in each.start_offsets.items()}
            for each in out
            if isinstance(each, StatesWanted)
        ]

    def settle(self, group_id: str = "s", error: ErrorCode = ErrorCode.NONE) -> None:
        """Share coordinators have answered what is wanted."""
        partition, outside = self.partition(group_id), ShareCoordinators()
        out, partition.wanted = partition.wanted, []
        for each in out:
            share_groups.ask(outside, self.coordinator, each)  # type: ignore[arg-type]
        for places, answered in outside.asked:
            said = answered(dict.fromkeys(places, Unanswered(error)), self.now, self.wall)
            self.take([each for each in said if isinstance(each, Respond)])
        if not self.holds:
            self.commit()

    def described_sharers(self, group_id: str = "s") -> Any:
        return self.ask(ShareGroupDescribeRequest(group_ids=(group_id,))).groups[0]
