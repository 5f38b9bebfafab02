# Generated from FetchRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FetchRequest: request, key 1, versions 4-18, flexible 12+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class ReplicaState(Struct):
    replica_id: int = field("int32", "15+", default=-1)
    replica_epoch: int = field("int64", "15+", default=-1)


class FetchPartition(Struct):
    partition: int = field("int32", "0+", default=0)
    current_leader_epoch: int = field("int32", "9+", default=-1, ignorable=True)
    fetch_offset: int = field("int64", "0+", default=0)
    last_fetched_epoch: int = field("int32", "12+", default=-1)
    log_start_offset: int = field("int64", "5+", default=-1, ignorable=True)
    partition_max_bytes: int = field("int32", "0+", default=0)
    replica_directory_id: Uuid = field("uuid", "17+", default=ZERO_UUID, tag=0, tagged="17+", ignorable=True)
    high_watermark: int = field("int64", "18+", default=9223372036854775807, tag=1, tagged="18+", ignorable=True)


class FetchTopic(Struct):
    topic: str = field("string", "0-12", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "13+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[FetchPartition, ...] = field([FetchPartition], "0+", default=())


class ForgottenTopic(Struct):
    topic: str = field("string", "7-12", default="", ignorable=True)
    topic_id: Uuid = field("uuid", "13+", default=ZERO_UUID, ignorable=True)
    partitions: tuple[int, ...] = field(["int32"], "7+", default=())


class FetchRequest(Message, kind="request", valid="4-18", flexible="12+", key=1, listeners=("broker", "controller")):
    cluster_id: str | None = field("string", "12+", default=None, nullable="12+", tag=0, tagged="12+", ignorable=True)
    replica_id: int = field("int32", "0-14", default=-1)
    replica_state: ReplicaState = field(ReplicaState, "15+", default=default_of(ReplicaState), tag=1, tagged="15+")
    max_wait_ms: int = field("int32", "0+", default=0)
    min_bytes: int = field("int32", "0+", default=0)
    max_bytes: int = field("int32", "3+", default=2147483647, ignorable=True)
    isolation_level: int = field("int8", "4+", default=0, ignorable=True)
    session_id: int = field("int32", "7+", default=0, ignorable=True)
    session_epoch: int = field("int32", "7+", default=-1, ignorable=True)
    topics: tuple[FetchTopic, ...] = field([FetchTopic], "0+", default=())
    forgotten_topics_data: tuple[ForgottenTopic, ...] = field([ForgottenTopic], "7+", default=())
    rack_id: str = field("string", "11+", default="", ignorable=True)
