# Generated from BrokerRegistrationChangeRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BrokerRegistrationChangeRecord: metadata, key 17, versions 0-3, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.schema import Message, field


class BrokerRegistrationChangeRecord(Message, kind="metadata", valid="0-3", flexible="0+", key=17):
    broker_id: int = field("int32", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=0)
    fenced: int = field("int8", "0+", default=0, tag=0, tagged="0+")
    in_controlled_shutdown: int = field("int8", "1+", default=0, tag=1, tagged="1+")
    log_dirs: tuple[Uuid, ...] = field(["uuid"], "2+", default=(), tag=2, tagged="2+")
    cordoned_log_dirs: tuple[Uuid, ...] | None = field(["uuid"], "3+", default=None, nullable="3+", tag=3, tagged="3+")
