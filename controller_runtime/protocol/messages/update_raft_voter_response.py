# Generated from UpdateRaftVoterResponse in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""UpdateRaftVoterResponse: response, key 82, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, default_of, field


class CurrentLeader(Struct):
    leader_id: int = field("int32", "0+", default=-1)
    leader_epoch: int = field("int32", "0+", default=-1)
    host: str = field("string", "0+", default="")
    port: int = field("int32", "0+", default=0)


class UpdateRaftVoterResponse(Message, kind="response", valid="0", flexible="0+", key=82):
    throttle_time_ms: int = field("int32", "0+", default=0)
    error_code: int = field("int16", "0+", default=0)
    current_leader: CurrentLeader = field(CurrentLeader, "0+", default=default_of(CurrentLeader), tag=0, tagged="0+")
