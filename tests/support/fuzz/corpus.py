"""Every request that the recorded Apache Kafkas were sent, by the API that we serve: what valid frames look like,
Envelope's included.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import find_api
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.framing import decode_request
from controller_runtime.protocol.schema import Message
from support.golden import json_lines
from support.nodes.processes import CLUSTER_ID

OTHER_CLUSTERS = ("7677wbtSR9GVS57onaI9tA", "a6BXpVR2RX6fd-tbvzhsfw")
RECORDINGS = ("wire/cluster.jsonl.gz", "wire/static-voters.jsonl.gz", "wire/probes.jsonl.gz")


class Recorded(NamedTuple):
    key: int
    version: int
    body: Message


@cache
def recorded() -> dict[int, list[Recorded]]:
    """By API key, each different one once, with our cluster's id in the place of theirs."""
    found: dict[bytes, Recorded] = {}
    for name in RECORDINGS:
        for row in json_lines(name):
            text = row["request_hex"] if "request_hex" in row else row["request"].get("hex", "")
            if text and len(text) < 40_000:
                frame = _ours(bytes.fromhex(text))
                _remember(frame, found)
    by_key: dict[int, list[Recorded]] = {}
    for each in found.values():
        by_key.setdefault(each.key, []).append(each)
    return by_key


def _remember(frame: bytes, found: dict[bytes, Recorded]) -> None:
    try:
        request = decode_request(frame)
    except ProtocolError:
        return  # some of the probes are no requests
    found[frame[:4] + frame[8:]] = Recorded(int(request.key), request.version, request.body)
    inner = getattr(request.body, "request_data", b"")
    if inner and find_api(int.from_bytes(inner[:2], "big")) is not None:
        _remember(inner, found)


def _ours(frame: bytes) -> bytes:
    for theirs in OTHER_CLUSTERS:
        frame = frame.replace(theirs.encode(), CLUSTER_ID.encode()).replace(Uuid.parse(theirs), Uuid.parse(CLUSTER_ID))
    return frame
