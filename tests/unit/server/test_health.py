from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.server.telemetry.health import Readiness

pytestmark = pytest.mark.unit


LEADER = NodeId(2)


def test_a_controller_is_ready_when_it_hears_a_leader() -> None:
    assert Readiness(LEADER, hears_leader=True).reasons == ()
    assert Readiness(None, hears_leader=False).reasons == ("no leader of the metadata log is known",)
    assert Readiness(LEADER, hears_leader=False).reasons == (
        "no news from node 2, the leader of the metadata log, within the fetch timeout",
    )


def test_a_broker_is_ready_when_it_is_also_unfenced() -> None:
    assert Readiness(LEADER, unfenced=True).reasons == ()
    assert Readiness(LEADER, unfenced=False).reasons == ("the broker is not registered and unfenced",)
    assert len(Readiness(None, unfenced=False).reasons) == 2


def test_it_is_told_that_a_broker_accepts_nobody_yet() -> None:
    assert Readiness(LEADER, unfenced=False, caught_up=False).reasons == (
        "the broker has not caught up with the metadata log: its listeners accept nobody yet",
        "the broker is not registered and unfenced",
    )
