"""Events and effects as one line each, for the debug log. Of bytes only their number is shown, and no value of a
configuration that is a secret or that nobody knows: tokens, keys and passwords are in requests and records
(CVE-2026-33558).
"""

from __future__ import annotations

import re
from ast import literal_eval
from typing import Final

from controller_runtime.configuration.settings import row_of
from controller_runtime.metadata.topic_configs import TOPIC_CONFIGS
from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum.effects import Append, WriteSnapshot
from controller_runtime.parts.effects import Call, Respond
from controller_runtime.parts.events import RequestReceived, ResponseReceived, UnreadRequest
from controller_runtime.protocol.api_keys import ApiKey

_MAX_TEXT: Final = 400
_LITERAL: Final = re.compile(r"""(name=|value=|)(b?)('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_MAX_WALKED: Final = 100_000
"""Characters of one value; what is longer is shown by its type."""


def render_event(event: NodeEvent) -> str:
    match event:
        case RequestReceived(request_id, connection, _, version, client_id, body):
            return f"request {request_id} {_short(body)} v{version} from {client_id} on {connection.listener}"
        case UnreadRequest(request_id, connection, key, version):
            return f"request {request_id} {ApiKey(key).name} v{version} on {connection.listener}, to be forwarded"
        case ResponseReceived(call_id, version, body):
            return f"answer {call_id} {_short(body)} v{version}"
        case _:
            return _short(event)


def render_effect(effect: NodeEffect) -> str:
    match effect:
        case Respond(request_id, body):
            return f"respond {request_id} {_short(body)}"
        case Call(call_id, channel, endpoint, body, timeout_ms):
            return f"call {call_id} {endpoint} ({channel}, {timeout_ms} ms) {_short(body)}"
        case Append(base_offset, end_offset, batches):
            return f"append {base_offset}..{end_offset} ({len(batches)} bytes)"
        case WriteSnapshot(snapshot_id, position, data, last):
            return f"snapshot {snapshot_id} at {position} ({len(data)} bytes{', last' if last else ''})"
        case _:
            return _short(effect)


def _short(value: object) -> str:
    text = repr(value)
    text = _redacted(text) if len(text) <= _MAX_WALKED else f"{type(value).__name__}(...)"
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}... ({len(text)} characters)"


def _redacted(text: str) -> str:
    """Every literal of a representation is looked at in its turn, so that nothing inside one is taken for another."""
    hides = False

    def shown(found: re.Match[str]) -> str:
        nonlocal hides
        field, is_bytes, literal = found.groups()
        if is_bytes:
            return f"{field}<{len(literal_eval(is_bytes + literal))} bytes>"
        if field == "name=":
            hides = _is_sensitive(literal[1:-1])
        elif field == "value=" and hides:
            return "value='[hidden]'"
        return found.group()

    return _LITERAL.sub(shown, text)


def _is_sensitive(name: str) -> bool:
    """As DescribeConfigs: of a name that nobody knows nobody can say whether it is a secret."""
    row = row_of(name)
    return name not in TOPIC_CONFIGS if row is None else row.kind == "password"
