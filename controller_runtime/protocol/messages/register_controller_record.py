# Generated from RegisterControllerRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RegisterControllerRecord: metadata, key 27, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class ControllerEndpoint(Struct):
    name: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)
    security_protocol: int = field("int16", "0+", default=0)


class ControllerFeature(Struct):
    name: str = field("string", "0+", default="")
    min_supported_version: int = field("int16", "0+", default=0)
    max_supported_version: int = field("int16", "0+", default=0)


class RegisterControllerRecord(Message, kind="metadata", valid="0", flexible="0+", key=27):
    controller_id: int = field("int32", "0+", default=0)
    incarnation_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    zk_migration_ready: bool = field("bool", "0+", default=False)
    end_points: tuple[ControllerEndpoint, ...] = field([ControllerEndpoint], "0+", default=())
    features: tuple[ControllerFeature, ...] = field([ControllerFeature], "0+", default=())
