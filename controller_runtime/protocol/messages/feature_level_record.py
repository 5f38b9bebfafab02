# Generated from FeatureLevelRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""FeatureLevelRecord: metadata, key 12, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class FeatureLevelRecord(Message, kind="metadata", valid="0", flexible="0+", key=12):
    name: str = field("string", "0+", default="")
    feature_level: int = field("int16", "0+", default=0)
