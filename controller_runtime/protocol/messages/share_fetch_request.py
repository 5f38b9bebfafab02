# Generated from ShareFetchRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareFetchRequest: request, key 78, versions 1-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class AcknowledgementBatch(Struct):
    first_offset: int = field("int64", "0+", default=0)
    last_offset: int = field("int64", "0+", default=0)
    acknowledge_types: tuple[int, ...] = field(["int8"], "0+", default=())


class FetchPartition(Struct):
    partition_index: int = field("int32", "0+", default=0)
    partition_max_bytes: int = field("int32", "0", default=0)
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = field([AcknowledgementBatch], "0+", default=())


class FetchTopic(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[FetchPartition, ...] = field([FetchPartition], "0+", default=())


class ForgottenTopic(Struct):
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class ShareFetchRequest(Message, kind="request", valid="1-2", flexible="0+", key=78, listeners=("broker",)):
    group_id: str | None = field("string", "0+", default=None, nullable="0+")
    member_id: str | None = field("string", "0+", default="", nullable="0+")
    share_session_epoch: int = field("int32", "0+", default=0)
    max_wait_ms: int = field("int32", "0+", default=0)
    min_bytes: int = field("int32", "0+", default=0)
    max_bytes: int = field("int32", "0+", default=2147483647)
    max_records: int = field("int32", "1+", default=0)
    batch_size: int = field("int32", "1+", default=0)
    share_acquire_mode: int = field("int8", "2+", default=0, ignorable=True)
    is_renew_ack: bool = field("bool", "2+", default=False)
    topics: tuple[FetchTopic, ...] = field([FetchTopic], "0+", default=())
    forgotten_topics_data: tuple[ForgottenTopic, ...] = field([ForgottenTopic], "0+", default=())
