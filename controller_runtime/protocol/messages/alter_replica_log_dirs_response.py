# Generated from AlterReplicaLogDirsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterReplicaLogDirsResponse: response, key 34, versions 1-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str = field("string", "0+", default="")
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...] = field([AlterReplicaLogDirPartitionResult], "0+", default=())


class AlterReplicaLogDirsResponse(Message, kind="response", valid="1-2", flexible="2+", key=34):
    throttle_time_ms: int = field("int32", "0+", default=0)
    results: tuple[AlterReplicaLogDirTopicResult, ...] = field([AlterReplicaLogDirTopicResult], "0+", default=())
