# Generated from ControllerRegistrationRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ControllerRegistrationRequest: request, key 70, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class Listener(Struct):
    name: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)
    security_protocol: int = field("int16", "0+", default=0)


class Feature(Struct):
    name: str = field("string", "0+", default="")
    min_supported_version: int = field("int16", "0+", default=0)
    max_supported_version: int = field("int16", "0+", default=0)


class ControllerRegistrationRequest(Message, kind="request", valid="0", flexible="0+", key=70, listeners=("controller",)):
    controller_id: int = field("int32", "0+", default=0)
    incarnation_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    zk_migration_ready: bool = field("bool", "0+", default=False)
    listeners: tuple[Listener, ...] = field([Listener], "0+", default=())
    features: tuple[Feature, ...] = field([Feature], "0+", default=())
