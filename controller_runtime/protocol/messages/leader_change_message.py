# Generated from LeaderChangeMessage in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""LeaderChangeMessage: data, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class Voter(Struct):
    voter_id: int = field("int32", "0+", default=0)
    voter_directory_id: Uuid = field("uuid", "1+", default=ZERO_UUID)


class LeaderChangeMessage(Message, kind="data", valid="0-1", flexible="0+"):
    version: int = field("int16", "0+", default=0)
    leader_id: int = field("int32", "0+", default=0)
    voters: tuple[Voter, ...] = field([Voter], "0+", default=())
    granting_voters: tuple[Voter, ...] = field([Voter], "0+", default=())
