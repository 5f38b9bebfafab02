# Generated from ShareAcknowledgeRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareAcknowledgeRequest: request, key 79, versions 1-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class AcknowledgementBatch(Struct):
    first_offset: int = field("int64", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    acknowledge_types: tuple[int, ...] = field(["int8"], "0+", default=())


class AcknowledgePartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = field([AcknowledgementBatch], "0+", default=())


class AcknowledgeTopic(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[AcknowledgePartition, ...] = field([AcknowledgePartition], "0+", default=())


class ShareAcknowledgeRequest(Message, kind="request", valid="1-2", flexible="0+", key=79, listeners=("broker",)):
    group_id: str | None = field("string", "0+", default=None, nullable="0+")
    member_id: str | None = field("string", "0+", default="", nullable="0+")
    share_session_epoch: int = field("int32", "0+", default=0)
    is_renew_ack: bool = field("bool", "2+", default=False)
    topics: tuple[AcknowledgeTopic, ...] = field([AcknowledgeTopic], "0+", default=())
