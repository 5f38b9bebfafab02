from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from controller_runtime.parts.effects import LimitConnections
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.server.shell.connection_gate import ConnectionGate

pytestmark = pytest.mark.integration

SAMPLES = (11, 1000)
ROLES = {"CLIENTS": ListenerType.BROKER, "BROKERS": ListenerType.BROKER, "CONTROLLER": ListenerType.CONTROLLER}


async def test_names_are_looked_up_beside_everything_else_and_unknown_ones_are_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = {"one": asyncio.Event(), "unknown": asyncio.Event(), "slow": asyncio.Event()}

    async def resolve(name: str, port: int) -> Sequence[tuple[str, int]]:
        await known[name].wait()
        if name == "unknown":
            raise OSError("no such name")
        return (("::ffff:10.0.0.1", port), ("10.0.0.2", port))

    gate = ConnectionGate(ROLES, "BROKERS", SAMPLES, resolve)
    gate.limit(LimitConnections(9, 8, (("slow", 1),)))
    gate.limit(LimitConnections(7, 6, (("127.0.0.1", 5), ("unknown", 4), ("one", 3)), (("clients", 2),)))
    limits = gate.of("CONTROLLER").limits
    assert (limits.of_all, limits.per_address, limits.of_listener) == (7, 6, {"CLIENTS": 2})
    assert limits.of_address == {b"\x7f\x00\x00\x01": 5}
    for event in known.values():
        event.set()
    for _ in range(10):
        await asyncio.sleep(0)
    assert gate.of("CLIENTS").limits.of_address == {b"\x7f\x00\x00\x01": 5, b"\x0a\x00\x00\x01": 3}
    assert "correct unknown, it has no address" in caplog.text
    assert "slow" not in caplog.text
    gate.close()


def test_roles_count_their_own_connections() -> None:
    gate = ConnectionGate(ROLES, "BROKERS", SAMPLES)
    assert gate.of("CLIENTS") is gate.of("BROKERS")
    assert gate.of("CLIENTS") is not gate.of("CONTROLLER")
