# Generated from WriteTxnMarkersRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""WriteTxnMarkersRequest: request, key 27, versions 1-2, flexible 1+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class WritableTxnMarkerTopic(Struct):
    name: str = field("string", "0+", default="")
    partition_indexes: tuple[int, ...] = field(["int32"], "0+", default=())


class WritableTxnMarker(Struct):
    producer_id: int = field("int64", "0+", default=0)
    producer_epoch: int = field("int16", "0+", default=0)
    transaction_result: bool = field("bool", "0+", default=False)
    topics: tuple[WritableTxnMarkerTopic, ...] = field([WritableTxnMarkerTopic], "0+", default=())
    coordinator_epoch: int = field("int32", "0+", default=0)
    transaction_version: int = field("int8", "2+", default=0, ignorable=True)


class WriteTxnMarkersRequest(Message, kind="request", valid="1-2", flexible="1+", key=27, listeners=("broker",)):
    markers: tuple[WritableTxnMarker, ...] = field([WritableTxnMarker], "0+", default=())
