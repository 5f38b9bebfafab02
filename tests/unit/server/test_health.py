from __future__ import annotations

import pytest

from controller_runtime.server.health import Readiness

pytestmark = pytest.mark.unit


def test_a_controller_is_ready_when_it_knows_a_leader() -> None:
    assert Readiness(leader_known=True, unfenced=None).reasons == ()
    assert Readiness(leader_known=False, unfenced=None).reasons == ("no leader of the metadata log is known",)


def test_a_broker_is_ready_when_it_is_also_unfenced() -> None:
    assert Readiness(leader_known=True, unfenced=True).reasons == ()
    assert Readiness(leader_known=True, unfenced=False).reasons == ("the broker is not registered and unfenced",)
    assert len(Readiness(leader_known=False, unfenced=False).reasons) == 2
