# Generated from UpdateFeaturesResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UpdateFeaturesResponse: response, key 57, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class UpdatableFeatureResult(Struct):
    feature: str = field("string", "0+", default="")
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")


class UpdateFeaturesResponse(Message, kind="response", valid="0-2", flexible="0+", key=57):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    error_message: str | None = field("string", "0+", default="", nullable="0+")
    results: tuple[UpdatableFeatureResult, ...] = field([UpdatableFeatureResult], "0-1", default=(), ignorable=True)
