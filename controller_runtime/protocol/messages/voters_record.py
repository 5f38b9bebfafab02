# Generated from VotersRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""VotersRecord: data, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.schema import Message, Struct, default_of, field


class Endpoint(Struct):
    name: str = field("string", "0+", default="")
    host: str = field("string", "0+", default="")
    port: int = field("uint16", "0+", default=0)


class KRaftVersionFeature(Struct):
    min_supported_version: int = field("int16", "0+", default=0)
    max_supported_version: int = field("int16", "0+", default=0)


class Voter(Struct):
    voter_id: int = field("int32", "0+", default=0)
    voter_directory_id: Uuid = field("uuid", "0+", default=ZERO_UUID)
    endpoints: tuple[Endpoint, ...] = field([Endpoint], "0+", default=())
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature, "0+", default=default_of(KRaftVersionFeature), json_name="kRaftVersionFeature")


class VotersRecord(Message, kind="data", valid="0", flexible="0+"):
    version: int = field("int16", "0+", default=0)
    voters: tuple[Voter, ...] = field([Voter], "0+", default=())
