# Generated from RegisterBrokerRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RegisterBrokerRecord: metadata, key 0, versions 0-4, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class BrokerEndpoint(Struct):
    name: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)
    security_protocol: int = field("int16", "0+", default=0)


class BrokerFeature(Struct):
    name: str = field("string", "0+", default="")
    min_supported_version: int = field("int16", "0+", default=0)
    max_supported_version: int = field("int16", "0+", default=0)


class RegisterBrokerRecord(Message, kind="metadata", valid="0-4", flexible="0+", key=0):
    broker_id: int = field("int32", "0+", default=0)
    is_migrating_zk_broker: bool = field("bool", "2+", default=False)
    incarnation_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    broker_epoch: int = field("int64", "0+", default=0)
    end_points: tuple[BrokerEndpoint, ...] = field([BrokerEndpoint], "0+", default=())
    features: tuple[BrokerFeature, ...] = field([BrokerFeature], "0+", default=())
    rack: str | None = field("string", "0+", default="", nullable="0+")
    fenced: bool = field("bool", "0+", default=True)
    in_controlled_shutdown: bool = field("bool", "1+", default=False)
    log_dirs: tuple[Uuid, ...] = field(["uuid"], "3+", default=(), tag=0, tagged="3+")
    cordoned_log_dirs: tuple[Uuid, ...] | None = field(["uuid"], "4+", default=None, nullable="4+", tag=1, tagged="4+")
