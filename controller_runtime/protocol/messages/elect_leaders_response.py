# Generated from ElectLeadersResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ElectLeadersResponse: response, key 43, versions 0-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class PartitionResult(Struct):
    partition_id: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")


class ReplicaElectionResult(Struct):
    topic: str = field("string", "0+", default="")
    partition_result: tuple[PartitionResult, ...] = field([PartitionResult], "0+", default=())


class ElectLeadersResponse(Message, kind="response", valid="0-2", flexible="2+", key=43):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "1+", default=0, ignorable=True)
    replica_election_results: tuple[ReplicaElectionResult, ...] = field([ReplicaElectionResult], "0+", default=())
