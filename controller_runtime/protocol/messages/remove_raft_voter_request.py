# Generated from RemoveRaftVoterRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""RemoveRaftVoterRequest: request, key 81, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, field


class RemoveRaftVoterRequest(Message, kind="request", valid="0", flexible="0+", key=81, listeners=("broker", "controller")):
    cluster_id: str | None = field("string", "0+", default="", nullable="0+")
    voter_id: int = field("int32", "0+", default=0)
    voter_directory_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
