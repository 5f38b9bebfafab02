# Generated from StreamsGroupMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""StreamsGroupMetadataValue: coordinator-value, key 17, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class LastAssignmentConfig(Struct):
    key: str = field("string", "0+", default="")
    value: str = field("string", "0+", default="")


class StreamsGroupMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=17):
    epoch: int = field("int32", "0+", default=0)
    metadata_hash: int = field("int64", "0+", default=0)
    validated_topology_epoch: int = field("int32", "0+", default=-1, tag=0, tagged="0+")
    last_assignment_configs: tuple[LastAssignmentConfig, ...] | None = field([LastAssignmentConfig], "0+", default=(), nullable="0+", tag=1, tagged="0+")
