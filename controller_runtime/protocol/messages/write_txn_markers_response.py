# Generated from WriteTxnMarkersResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""WriteTxnMarkersResponse: response, key 27, versions 1-2, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class WritableTxnMarkerTopicResult(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[WritableTxnMarkerPartitionResult, ...] = field([WritableTxnMarkerPartitionResult], "0+", default=())


class WritableTxnMarkerResult(Struct):
    producer_id: int = field("int64", "0+", default=0)
    topics: tuple[WritableTxnMarkerTopicResult, ...] = field([WritableTxnMarkerTopicResult], "0+", default=())


class WriteTxnMarkersResponse(Message, kind="response", valid="1-2", flexible="1+", key=27):
    markers: tuple[WritableTxnMarkerResult, ...] = field([WritableTxnMarkerResult], "0+", default=())
