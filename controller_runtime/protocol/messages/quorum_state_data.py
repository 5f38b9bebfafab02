# Generated from QuorumStateData in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""QuorumStateData: data, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class Voter(Struct):
    voter_id: int = field("int32", "0", default=0)


class QuorumStateData(Message, kind="data", valid="0-1", flexible="0+"):
    cluster_id: str = field("string", "0", default="")
    leader_id: int = field("int32", "0+", default=-1)
    leader_epoch: int = field("int32", "0+", default=-1)
    voted_id: int = field("int32", "0+", default=-1)
    voted_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID)
    applied_offset: int = field("int64", "0", default=0)
    current_voters: tuple[Voter, ...] | None = field([Voter], "0", default=(), nullable="0")
