"""What the authorizer says of members of share groups: they need Read on the group. Topics are judged as they are
served: a session has more of them than its requests name.
"""

from __future__ import annotations

from typing import Any, Final

from controller_runtime.answers.rights.verdict import Judged, Refused, Verdict
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode

_FEATURE: Final = "share.version"


def members_request(judged: Judged, request: Any) -> Verdict:
    """ShareFetch and ShareAcknowledge."""
    if judged.image.features.level(_FEATURE) < 1 or request.group_id is None:
        return None  # That is said first.
    if judged.asking.may(Operation.READ, Resource.GROUP, request.group_id):
        return None
    return Refused(refusal(request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
