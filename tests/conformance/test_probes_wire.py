"""The recorded probes whose answer is the network's: bytes on the socket of a real controller process, and what it does
with them.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any, Final

import pytest

from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.json_form import to_json
from support.golden import json_lines
from support.nodes.processes import Cluster

pytestmark = pytest.mark.conformance

RAW: Final = {row["name"]: row for row in json_lines("wire/probes.jsonl.gz") if "raw" in row}
CLOSED: Final = [name for name, row in RAW.items() if "connection" in row]


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a controller that runs alone."""
    with Cluster(tmp_path_factory.mktemp("probed"), controllers=1) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        yield cluster.nodes[1].port


def send(port: int, frame: bytes) -> bytes | None:
    """One frame, and the frame that comes back; None when the connection is closed instead."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, connection.makefile("rb") as answer:
        connection.sendall(len(frame).to_bytes(4, "big") + frame)
        size = answer.read(4)
        return answer.read(int.from_bytes(size, "big")) if size else None


def test_the_raw_probes_are_the_expected_ones() -> None:
    assert sorted(CLOSED) == ["metadata on a controller", "unknown api key", "vote v9"]
    assert sorted(set(RAW) - set(CLOSED)) == ["api versions v0 header garbage body", "api versions v9"]


@pytest.mark.parametrize("name", CLOSED)
def test_what_a_controller_does_not_serve_closes_the_connection(name: str, controller: int) -> None:
    assert send(controller, bytes.fromhex(RAW[name]["raw"])) is None


@pytest.mark.parametrize("name", sorted(set(RAW) - set(CLOSED)))
def test_api_versions_is_answered_whatever_its_version(name: str, controller: int) -> None:
    row = RAW[name]
    answer = send(controller, bytes.fromhex(row["raw"]))
    assert answer is not None
    ours, kafkas = shown(answer), shown(bytes.fromhex(row["response_hex"]))
    assert ours["errorCode"] == kafkas["errorCode"]
    assert set(map(repr, ours["apiKeys"])) <= set(map(repr, kafkas["apiKeys"]))
    assert {"apiKey": 18, "minVersion": 0, "maxVersion": 4} in ours["apiKeys"]


def shown(frame: bytes) -> dict[str, Any]:
    """Both are answered in version 0, the first because its version is unknown."""
    found: dict[str, Any] = to_json(decode_response(frame, 18, 0).body, 0)
    return found


def test_the_process_survives_all_of_it(controller: int) -> None:
    """Asked last: the node still answers."""
    for row in RAW.values():
        send(controller, bytes.fromhex(row["raw"]))
    answer = send(controller, bytes.fromhex(RAW["api versions v0 header garbage body"]["raw"]))
    assert answer is not None
