# Generated from StreamsGroupMemberMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupMemberMetadataValue: coordinator-value, key 19, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class Endpoint(Struct):
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class KeyValue(Struct):
    key: str = field("string", "0+", default="")
    value: str = field("string", "0+", default="")


class StreamsGroupMemberMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=19):
    instance_id: str | None = field("string", "0+", default="", nullable="0+")
    rack_id: str | None = field("string", "0+", default="", nullable="0+")
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    rebalance_timeout_ms: int = field("int32", "0+", default=-1)
    topology_epoch: int = field("int32", "0+", default=0)
    process_id: str = field("string", "0+", default="")
    user_endpoint: Endpoint | None = field(Endpoint, "0+", default=None, nullable="0+")
    client_tags: tuple[KeyValue, ...] = field([KeyValue], "0+", default=())
