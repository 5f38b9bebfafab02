# Generated from UpdateFeaturesRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UpdateFeaturesRequest: request, key 57, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class FeatureUpdateKey(Struct):
    feature: str = field("string", "0+", default="")
    max_version_level: int = field("int16", "0+", default=0)
    allow_downgrade: bool = field("bool", "0", default=False)
    upgrade_type: int = field("int8", "1+", default=1)


class UpdateFeaturesRequest(Message, kind="request", valid="0-2", flexible="0+", key=57, listeners=("broker", "controller")):
    timeout_ms: int = field("int32", "0+", default=60000)
    feature_updates: tuple[FeatureUpdateKey, ...] = field([FeatureUpdateKey], "0+", default=())
    validate_only: bool = field("bool", "1+", default=False)
