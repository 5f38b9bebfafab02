# Generated from AddRaftVoterRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AddRaftVoterRequest: request, key 80, versions 0-1, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, field


class Listener(Struct):
    name: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class AddRaftVoterRequest(Message, kind="request", valid="0-1", flexible="0+", key=80, listeners=("broker", "controller")):
    cluster_id: str | None = field("string", "0+", default="", nullable="0+")
    timeout_ms: int = field("int32", "0+", default=0)
    voter_id: int = field("int32", "0+", default=0)
    voter_directory_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    listeners: tuple[Listener, ...] = field([Listener], "0+", default=())
    ack_when_committed: bool = field("bool", "1+", default=True)
