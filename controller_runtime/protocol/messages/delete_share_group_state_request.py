# Generated from DeleteShareGroupStateRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""DeleteShareGroupStateRequest: request, key 86, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition: int = field("int32", "0+", default=0)


class DeleteStateData(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class DeleteShareGroupStateRequest(Message, kind="request", valid="0", flexible="0+", key=86, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[DeleteStateData, ...] = field([DeleteStateData], "0+", default=())
