"""Events and effects as one line each, for the debug log. Bytes are shown by their number."""

from __future__ import annotations

from controller_runtime.node.effects import Append, Call, NodeEffect, Respond, WriteSnapshot
from controller_runtime.node.events import NodeEvent, RequestReceived, ResponseReceived

_MAX_TEXT = 400


def render_event(event: NodeEvent) -> str:
    match event:
        case RequestReceived(request_id, connection, _, version, client_id, body):
            return f"request {request_id} {_short(body)} v{version} from {client_id} on {connection.listener}"
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
