# Generated from BrokerRegistrationRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BrokerRegistrationRequest: request, key 62, versions 0-4, flexible 0+."""

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


class BrokerRegistrationRequest(Message, kind="request", valid="0-4", flexible="0+", key=62, listeners=("controller",)):
    broker_id: int = field("int32", "0+", default=0)
    cluster_id: str = field("string", "0+", default="")
    incarnation_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    listeners: tuple[Listener, ...] = field([Listener], "0+", default=())
    features: tuple[Feature, ...] = field([Feature], "0+", default=())
    rack: str | None = field("string", "0+", default="", nullable="0+")
    is_migrating_zk_broker: bool = field("bool", "1+", default=False)
    log_dirs: tuple[Uuid, ...] = field(["uuid"], "2+", default=(), ignorable=True)
    previous_broker_epoch: int = field("int64", "3+", default=-1, ignorable=True)
