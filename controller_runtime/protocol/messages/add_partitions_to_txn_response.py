# Generated from AddPartitionsToTxnResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AddPartitionsToTxnResponse: response, key 24, versions 0-5, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = field("int32", "0+", default=0)
    partition_error_code: int = field("int16", "0+", default=0)


class AddPartitionsToTxnTopicResult(Struct):
    name: str = field("string", "0+", default="")
    results_by_partition: tuple[AddPartitionsToTxnPartitionResult, ...] = field([AddPartitionsToTxnPartitionResult], "0+", default=())


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = field("string", "4+", default="")
    topic_results: tuple[AddPartitionsToTxnTopicResult, ...] = field([AddPartitionsToTxnTopicResult], "4+", default=())


class AddPartitionsToTxnResponse(Message, kind="response", valid="0-5", flexible="3+", key=24):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "4+", default=0, ignorable=True)
    results_by_transaction: tuple[AddPartitionsToTxnResult, ...] = field([AddPartitionsToTxnResult], "4+", default=())
    results_by_topic_v3_and_below: tuple[AddPartitionsToTxnTopicResult, ...] = field([AddPartitionsToTxnTopicResult], "0-3", default=())
