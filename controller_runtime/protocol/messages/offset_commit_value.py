# Generated from OffsetCommitValue in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""OffsetCommitValue: coordinator-value, key 1, versions 0-4, flexible 4+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class OffsetCommitValue(Message, kind="coordinator-value", valid="0-4", flexible="4+", key=1):
    offset: int = field("int64", "0+", default=0)
    leader_epoch: int = field("int32", "3+", default=-1, ignorable=True)
    metadata: str = field("string", "0+", default="")
    commit_timestamp: int = field("int64", "0+", default=0)
    expire_timestamp: int = field("int64", "1", default=-1, ignorable=True)
    topic_id: Uuid = field("uuid", "4+", default=ZERO_UUID, tag=0, tagged="4+", ignorable=True)
