# Generated from PartitionRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""PartitionRecord: metadata, key 3, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class PartitionRecord(Message, kind="metadata", valid="0-2", flexible="0+", key=3):
    partition_id: int = field("int32", "0+", default=-1)
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    replicas: tuple[int, ...] = field(["int32"], "0+", default=())
    isr: tuple[int, ...] = field(["int32"], "0+", default=())
    removing_replicas: tuple[int, ...] = field(["int32"], "0+", default=())
    adding_replicas: tuple[int, ...] = field(["int32"], "0+", default=())
    leader: int = field("int32", "0+", default=-1)
    leader_recovery_state: int = field("int8", "0+", default=0, tag=0, tagged="0+")
    leader_epoch: int = field("int32", "0+", default=-1)
    partition_epoch: int = field("int32", "0+", default=-1)
    directories: tuple[Uuid, ...] = field(["uuid"], "1+", default=())
    eligible_leader_replicas: tuple[int, ...] | None = field(["int32"], "2+", default=None, nullable="2+", tag=1, tagged="2+")
    last_known_elr: tuple[int, ...] | None = field(["int32"], "2+", default=None, nullable="2+", tag=2, tagged="2+")
