# Generated from BrokerHeartbeatRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""BrokerHeartbeatRequest: request, key 63, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.schema import Message, field


class BrokerHeartbeatRequest(Message, kind="request", valid="0-2", flexible="0+", key=63, listeners=("controller",)):
    broker_id: int = field("int32", "0+", default=0)
    broker_epoch: int = field("int64", "0+", default=-1)
    current_metadata_offset: int = field("int64", "0+", default=0)
    want_fence: bool = field("bool", "0+", default=False)
    want_shut_down: bool = field("bool", "0+", default=False)
    offline_log_dirs: tuple[Uuid, ...] = field(["uuid"], "1+", default=(), tag=0, tagged="1+")
    cordoned_log_dirs: tuple[Uuid, ...] | None = field(["uuid"], "2+", default=None, nullable="2+", tag=1, tagged="2+")
