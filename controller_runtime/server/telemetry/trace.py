"""Events and effects as one line each, for the debug log. Bytes are shown by their number."""

from __future__ import annotations

from controller_runtime.node.effects import NodeEffect
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.quorum.effects import Append, WriteSnapshot
from controller_runtime.parts.effects import Call, Respond
from controller_runtime.parts.events import RequestReceived, ResponseReceived, UnreadRequest
from controller_runtime.protocol.api_keys import ApiKey

_MAX_TEXT = 400


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
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}... ({len(text)} characters)"
