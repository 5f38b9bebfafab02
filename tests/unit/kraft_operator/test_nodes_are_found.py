"""A Kubernetes node is found by its hostname label and as the one that the pod ran on, never by its name alone: a live
node does not count as gone.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.operator_model.world import World
from support.operator_model.world_api import WorldApi
from support.operator_model.world_runs import Run

pytestmark = pytest.mark.unit


def settled() -> Run:
    run = Run(WorldApi(World()))
    run.settle()
    run.api.edit(recoveryPolicy={"nodeGone": "TreatAsLost"})
    run.settle()
    return run


def reboot(run: Run, node_id: int) -> str:
    """Its node is silent for a while; returns the volume."""
    run.world.cut_power(node_id)
    for _ in range(8):
        run.tick()
    return run.world.claims[run.world.pods[node_id].claim].volume


def written_off(run: Run) -> list[int]:
    ledger = run.world.ledger
    assert ledger is not None
    return [each.node_id for each in ledger.written_off]


def test_a_node_that_reboots_under_another_name_than_its_hostname_keeps_its_voter_and_disk() -> None:
    run = settled()
    voters = dict(run.world.voters)
    volume = reboot(run, 2)
    assert run.condition("StorageHealthy")["reason"] == "DiskSuspect"
    del run.world.away[volume]
    run.world.thaw(2)
    run.settle()
    assert run.world.voters == voters
    assert written_off(run) == []
    assert run.condition("Ready")["status"] == "True"


def test_a_node_whose_hostname_label_somebody_changed_is_the_one_that_the_pod_ran_on() -> None:
    run = settled()
    volume = run.world.claims[run.world.pods[2].claim].volume
    run.api.hostnames[volume] = "another"
    run.api.node_uids[volume] = "registered-again"
    reboot(run, 2)
    assert run.condition("StorageHealthy")["reason"] == "DiskSuspect"
    assert written_off(run) == []


def test_a_node_that_is_deleted_is_gone_and_its_voter_is_replaced() -> None:
    run = settled()
    reboot(run, 2)
    run.world.delete_node(2)
    run.settle()
    assert written_off(run) == [2]
    assert sorted(run.world.voters) == [0, 1, 2]


def test_the_ledger_remembers_the_node_that_each_of_ours_ran_on() -> None:
    run = settled()
    ledger: Any = run.world.ledger
    volume = run.world.claims[run.world.pods[2].claim].volume
    assert ledger.entry(2).host == (f"machine-{volume}", f"machine-{volume}")
    broker = run.world.claims[run.world.pods[100].claim].volume
    assert ledger.entry(100).host == (f"machine-{broker}", f"machine-{broker}")
