# Generated from ApiVersionsResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ApiVersionsResponse: response, key 18, versions 0-4, flexible 3+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class ApiVersion(Struct):
    api_key: int = field("int16", "0+", default=0)
    min_version: int = field("int16", "0+", default=0)
    max_version: int = field("int16", "0+", default=0)


class SupportedFeatureKey(Struct):
    name: str = field("string", "3+", default="")
    min_version: int = field("int16", "3+", default=0)
    max_version: int = field("int16", "3+", default=0)


class FinalizedFeatureKey(Struct):
    name: str = field("string", "3+", default="")
    max_version_level: int = field("int16", "3+", default=0)
    min_version_level: int = field("int16", "3+", default=0)


class ApiVersionsResponse(Message, kind="response", valid="0-4", flexible="3+", key=18):
    error_code: int = field("int16", "0+", default=0)
    api_keys: tuple[ApiVersion, ...] = field([ApiVersion], "0+", default=())
    throttle_time_ms: int = field("int32", "1+", default=0, ignorable=True)
    supported_features: tuple[SupportedFeatureKey, ...] = field([SupportedFeatureKey], "3+", default=(), tag=0, tagged="3+", ignorable=True)
    finalized_features_epoch: int = field("int64", "3+", default=-1, tag=1, tagged="3+", ignorable=True)
    finalized_features: tuple[FinalizedFeatureKey, ...] = field([FinalizedFeatureKey], "3+", default=(), tag=2, tagged="3+", ignorable=True)
    zk_migration_ready: bool = field("bool", "3+", default=False, tag=3, tagged="3+", ignorable=True)
