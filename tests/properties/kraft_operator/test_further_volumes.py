"""Random losses of brokers' further volumes, claims deleted with and without their volume, volumes added and exchanged,
ledgers lost, operators that die between any two actions: what must hold in every history.

(i) No partition begins empty unless a plan that named it was approved. (ii) No directory id is ever on two disks, and
none whose disk was lost is made again. (iii) When nothing happens any more, every broker serves all of its volumes, or
somebody is told what has to be done.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from support.operator_model.world import World, pool

pytestmark = [pytest.mark.properties, pytest.mark.timeout(3600)]

EXAMPLES = 300 if os.environ.get("QUORATE_SOAK") else 5
EVENTS = ("lose", "lose", "lose first", "release", "delete pod", "die", "die", "take over", "add", "forget", "exchange")
BROKERS = (100, 101)
NAMES = ("one", "two", "three")
WAITS = {"DiskLost", "DiskSuspect"}
"""Reasons that name what somebody has to do, or what is waited for."""


def spec(volumes: int) -> list[dict[str, object]]:
    storage = {"size": "1Gi", "volumes": [{"name": name, "size": "1Gi"} for name in NAMES[:volumes]]}
    return [{**pool("b", 2, 100), "storage": storage}]


class History:
    def __init__(self) -> None:
        self.volumes = 1
        self.world = World(brokerPools=spec(1))
        self.world.settle(80)
        for _ in range(2):
            self.world.place("t", *BROKERS)
        self.world.settle(80)
        self.approved = False

    def strike(self, event: str, number: int) -> None:
        world, node_id = self.world, BROKERS[number % 2]
        pod = world.pods.get(node_id)
        runs = pod is not None and pod.runs
        name = NAMES[number % self.volumes]
        there = runs and pod is not None and name in pod.further
        match event:
            case "lose" if there:
                world.delete_volume(node_id, name)
            case "lose first" if runs:
                world.delete_claim(node_id)
            case "release" if there:
                world.release_volume(node_id, name)
            case "delete pod":
                world.delete_pod(node_id)
            case "die":
                world.reconcile(stop_after=number % 7)
            case "take over":
                world.take_over()
                world.waited.clear()
            case "add" if self.volumes < len(NAMES):
                self.volumes += 1
                world.edit(brokerPools=spec(self.volumes))
            case "forget":
                world.lose_ledger()
            case "exchange" if runs and pod is not None and len(pod.further) > 1:
                world.swap_volumes(node_id, *list(pod.further)[:2])
            case _:
                pass
        for _ in range(1 + number % 3):
            world.reconcile()
            world.kubelet()


WAITS_FOR_AN_APPROVAL = [
    ("lose first", 28), ("lose", 0), ("lose", 0), ("add", 20), ("forget", 32), ("lose", 40), ("delete pod", 0),
]  # fmt: skip
"""Its pod was nudged, and restarted again and again, while one of its volumes waited for its owner."""


@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 41)), min_size=2, max_size=9))
@example(WAITS_FOR_AN_APPROVAL)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_directory_is_one_disks_and_nothing_begins_empty(events: list[tuple[str, int]]) -> None:
    history = History()
    world = history.world
    for event, number in events:
        note(f"{event} {number}")
        history.strike(event, number)
        assert not world.broken, world.broken
        assert not world.begun_empty
    held = world.settle(120)
    assert not world.broken, world.broken
    assert not world.begun_empty
    serving = {each for each in BROKERS if each in world.pods and world.pods[each].runs}
    whole = {each for each in serving if set(world.pods[each].further) == set(NAMES[: history.volumes])}
    assert whole == set(BROKERS) or any(each.stalled or each.reason in WAITS for each in held.findings), held.findings
