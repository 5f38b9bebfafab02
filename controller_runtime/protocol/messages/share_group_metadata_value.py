# Generated from ShareGroupMetadataValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ShareGroupMetadataValue: coordinator-value, key 11, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ShareGroupMetadataValue(Message, kind="coordinator-value", valid="0", flexible="0+", key=11):
    epoch: int = field("int32", "0+", default=0)
    metadata_hash: int = field("int64", "0+", default=0)
