"""Answers of the classic protocol: of one group, in the shape of one API."""

from __future__ import annotations

from controller_runtime.coordinator.classic_members import Asked
from controller_runtime.parts.effects import Respond
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.heartbeat_response import HeartbeatResponse
from controller_runtime.protocol.messages.join_group_response import JoinGroupResponse
from controller_runtime.protocol.messages.sync_group_response import SyncGroupResponse

_FIRST_JOIN_WITHOUT_NAME = 7
"""From this version on a refusal names no protocol; before it an empty one."""


def join_refused(asked: Asked, error: ErrorCode, member_id: str = "") -> Respond:
    return Respond(asked.request_id, not_joined(asked.version, error, member_id))


def not_joined(version: int, error: ErrorCode, member_id: str) -> JoinGroupResponse:
    name = None if version >= _FIRST_JOIN_WITHOUT_NAME else ""
    return JoinGroupResponse(error_code=error, member_id=member_id, protocol_name=name)


def sync_refused(asked: Asked, error: ErrorCode) -> Respond:
    return Respond(asked.request_id, SyncGroupResponse(error_code=error))


def heartbeat(asked: Asked, error: ErrorCode) -> Respond:
    return Respond(asked.request_id, HeartbeatResponse(error_code=error))
