# Generated from CreateTopicsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""CreateTopicsResponse: response, key 19, versions 2-7, flexible 5+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class CreatableTopicConfigs(Struct):
    name: str = field("string", "5+", default="")
    value: str | None = field("string", "5+", default="", nullable="5+")
    read_only: bool = field("bool", "5+", default=False)
    config_source: int = field("int8", "5+", default=-1, ignorable=True)
    is_sensitive: bool = field("bool", "5+", default=False)


class CreatableTopicResult(Struct):
    name: str = field("string", "0+", default="")
    topic_id: Uuid = field("uuid", "7+", default=ZERO_UUID, ignorable=True)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "1+", default="", nullable="0+", ignorable=True)
    topic_config_error_code: int = field("int16", "5+", default=0, tag=0, tagged="5+", ignorable=True)
    num_partitions: int = field("int32", "5+", default=-1, ignorable=True)
    replication_factor: int = field("int16", "5+", default=-1, ignorable=True)
    configs: tuple[CreatableTopicConfigs, ...] | None = field([CreatableTopicConfigs], "5+", default=(), nullable="5+", ignorable=True)


class CreateTopicsResponse(Message, kind="response", valid="2-7", flexible="5+", key=19):
    throttle_time_ms: int = field("int32", "2+", default=0, ignorable=True)
    topics: tuple[CreatableTopicResult, ...] = field([CreatableTopicResult], "0+", default=())
