# Generated from UpdateRaftVoterRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UpdateRaftVoterRequest: request, key 82, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class Listener(Struct):
    name: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class KRaftVersionFeature(Struct):
    min_supported_version: int = field("int16", "0+", default=0)
    max_supported_version: int = field("int16", "0+", default=0)


class UpdateRaftVoterRequest(Message, kind="request", valid="0", flexible="0+", key=82, listeners=("controller",)):
    cluster_id: str | None = field("string", "0+", default="", nullable="0+")
    current_leader_epoch: int = field("int32", "0+", default=0)
    voter_id: int = field("int32", "0+", default=0)
    voter_directory_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    listeners: tuple[Listener, ...] = field([Listener], "0+", default=())
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature, "0+", default=default_of(KRaftVersionFeature), json_name="kRaftVersionFeature")
