# Generated from ReadShareGroupStateSummaryRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ReadShareGroupStateSummaryRequest: request, key 87, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class PartitionData(Struct):
    partition: int = field("int32", "0+", default=0)
    leader_epoch: int = field("int32", "0+", default=0)


class ReadStateSummaryData(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[PartitionData, ...] = field([PartitionData], "0+", default=())


class ReadShareGroupStateSummaryRequest(Message, kind="request", valid="0-1", flexible="0+", key=87, listeners=("broker",)):
    group_id: str = field("string", "0+", default="")
    topics: tuple[ReadStateSummaryData, ...] = field([ReadStateSummaryData], "0+", default=())
