"""What members of groups of the consumer protocol say to a coordinator over logs in memory."""

from __future__ import annotations

from typing import Any

from controller_runtime.coordinator.offsets_records import read
from controller_runtime.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from controller_runtime.protocol.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from controller_runtime.protocol.record_batch import decode_batches
from support.groups.coordinated import READ, Coordinated, topic_id

ORDERS = topic_id(2)
"""The id of `READ`."""


class Members(Coordinated):
    """And what members of the consumer protocol say."""

    def say(self, member_id: str = "a", epoch: int = 0, **more: Any) -> Any:
        told: dict[str, Any] = {"group_id": "g", "member_id": member_id, "member_epoch": epoch}
        if epoch == 0:
            told |= {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": (READ,), "topic_partitions": ()}
        told |= more
        version = told.pop("version", 1)
        return self.ask(ConsumerGroupHeartbeatRequest(**told), version)

    def owns(self, member_id: str, epoch: int, *indexes: int, **more: Any) -> Any:
        owned = (TopicPartitions(topic_id=ORDERS, partitions=indexes),) if indexes else ()
        return self.say(member_id, epoch, topic_partitions=owned, **more)

    def described(self, group_id: str = "g") -> Any:
        return self.ask(ConsumerGroupDescribeRequest(group_ids=(group_id,))).groups[0]

    def members(self) -> dict[str, int]:
        """The epochs of all."""
        return {each.member_id: each.member_epoch for each in self.described().members}

    def written(self) -> list[str]:
        """Types of the records in the log, a tombstone with a minus."""
        out = []
        for batch in decode_batches(self.logs.logs.get(0, b"")):
            for each in batch.records:
                assert each.key is not None
                assert read(each.key, each.value) is not None
                out.append(f"{'-' if each.value is None else ''}{int.from_bytes(each.key[:2], 'big')}")
        return out


def indexes(answer: Any) -> list[int] | None:
    """What a member is told to have; None: nothing is said of it."""
    if answer.assignment is None:
        return None
    return sorted(index for topic in answer.assignment.topic_partitions for index in topic.partitions)
