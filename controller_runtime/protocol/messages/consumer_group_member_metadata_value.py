# Generated from ConsumerGroupMemberMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ConsumerGroupMemberMetadataValue: coordinator-value, key 5, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, default_of, field


class ClassicProtocol(Struct):
    name: str = field("string", "0+", default="")
    metadata: bytes = field("bytes", "0+", default=b"")


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = field("int32", "0+", default=0)
    supported_protocols: tuple[ClassicProtocol, ...] = field([ClassicProtocol], "0+", default=())


class ConsumerGroupMemberMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=5):
    instance_id: str | None = field("string", "0+", default="", nullable="0+")
    rack_id: str | None = field("string", "0+", default="", nullable="0+")
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    subscribed_topic_names: tuple[str, ...] = field(["string"], "0+", default=())
    subscribed_topic_regex: str | None = field("string", "0+", default="", nullable="0+")
    rebalance_timeout_ms: int = field("int32", "0+", default=-1)
    server_assignor: str | None = field("string", "0+", default="", nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(ClassicMemberMetadata, "0+", default=default_of(ClassicMemberMetadata), nullable="0+", tag=0, tagged="0+")
