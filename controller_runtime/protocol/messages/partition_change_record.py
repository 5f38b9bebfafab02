# Generated from PartitionChangeRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""PartitionChangeRecord: metadata, key 5, versions 0-2, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class PartitionChangeRecord(Message, kind="metadata", valid="0-2", flexible="0+", key=5):
    partition_id: int = field("int32", "0+", default=-1)
    topic_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    isr: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+", tag=0, tagged="0+")
    leader: int = field("int32", "0+", default=-2, tag=1, tagged="0+")
    replicas: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+", tag=2, tagged="0+")
    removing_replicas: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+", tag=3, tagged="0+")
    adding_replicas: tuple[int, ...] | None = field(["int32"], "0+", default=None, nullable="0+", tag=4, tagged="0+")
    leader_recovery_state: int = field("int8", "0+", default=-1, tag=5, tagged="0+")
    directories: tuple[Uuid, ...] | None = field(["uuid"], "1+", default=None, nullable="1+", tag=8, tagged="1+")
    eligible_leader_replicas: tuple[int, ...] | None = field(["int32"], "2+", default=None, nullable="2+", tag=6, tagged="2+")
    last_known_elr: tuple[int, ...] | None = field(["int32"], "2+", default=None, nullable="2+", tag=7, tagged="2+")
