"""A pod whose configuration changed behind its back starts with what is mounted once patience ends, and says so."""

from __future__ import annotations

import pytest

from storage_guard.formats import Identity, Report, config_hash
from storage_guard.passage import Hold
from support.operator_model.guarded_world import CLUSTER_ID, World

pytestmark = pytest.mark.unit


def test_an_impatient_gate_takes_the_mounted_configuration_and_reports_its_hash() -> None:
    world = World(nodes=1)
    world.run(0)
    world.grant(0)
    world.run(0)
    world.record(0)
    assert isinstance(world.ledger[0], Identity)
    assert world.ledger[0].cluster_id == CLUSTER_ID
    pod = world.pods[0]
    pod.write("/config/in", "newer\n")
    pod.write("/ledger/identity.json", world.ledger[0].to_json())
    guard = world.guard(0)
    waiting = guard.look_through_gate(patient=True)
    assert isinstance(waiting, Hold)
    assert waiting.reason == "AwaitingConfig"
    passed = guard.look_through_gate(patient=False)
    assert isinstance(passed, Report)
    assert (passed.reason, passed.config_hash) == ("Start", config_hash("newer\n"))
    assert bytes(pod.kubelet.names["/config/out"].data) == b"newer\n"
