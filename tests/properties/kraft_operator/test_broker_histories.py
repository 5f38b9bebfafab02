"""Random losses of brokers' disks, claims deleted and disks emptied, operators that die, approvals good and stale: what
must hold in every history.

(i) No partition begins empty unless a plan that named it was approved. (ii) A directory whose disk was lost is never
made again. (iii) When nothing happens any more, every broker whose partitions are in sync elsewhere serves again, and
whoever does not serve waits for an approval.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from support.operator_model.world import World, pool

pytestmark = [pytest.mark.properties, pytest.mark.timeout(3600)]

EXAMPLES = 500 if os.environ.get("QUORATE_SOAK") else 6
EVENTS = (
    "lose", "lose", "wipe", "keep volume", "delete pod", "die", "take over", "fall behind", "keep up", "approve",
    "approve stale", "replace", "cancel", "commit",
)  # fmt: skip
BROKERS = (100, 101, 102)
SPEC = {"brokerPools": [pool("b", 3, 100)]}


class History:
    def __init__(self, factors: list[int]) -> None:
        self.world = World(**SPEC)
        self.world.settle(80)
        for number, factor in enumerate(factors):
            self.world.place("t", *(100 + (number + each) % 3 for each in range(factor)))
        self.passes(2)
        self.approved: set[str] = set()
        """Of partitions: what the approved plans named."""

    def passes(self, count: int) -> None:
        for _ in range(count):
            self.world.reconcile()
            self.world.kubelet()
            assert not self.world.broken, self.world.broken

    def strike(self, event: str, number: int) -> None:
        world = self.world
        node_id = BROKERS[number % 3]
        runs = node_id in world.pods and world.pods[node_id].runs
        match event:
            case "lose" if runs:
                world.delete_claim(node_id)
            case "wipe" if runs:
                world.wipe(node_id)
            case "keep volume" if runs:
                world.restore(node_id, world.copy_of(node_id))
            case "delete pod":
                world.delete_pod(node_id)
            case "die":
                world.reconcile(stop_after=number % 5)
            case "take over":
                world.take_over()
                world.waited.clear()
            case "fall behind":
                world.fall_behind(node_id)
            case "keep up":
                world.keep_up(node_id)
            case "approve":
                self.approve()
            case "approve stale":
                world.approve("stale")
            case "replace" if not world.operations:
                world.ask("r", "ReplaceBroker", node_id)
            case "cancel":
                world.operations.clear()
            case "commit":
                world.write_metadata()
            case _:
                pass

    def approve(self) -> None:
        named = [each.reason for each in self.world.published.ahead if each.risk.value == "DataLoss"]
        for reason in named:
            everything = "everything that it held" in reason
            self.approved |= {
                f"t-{index}" for _, index in self.world.partitions if everything or f"t-{index}" in reason
            }
        self.world.approve()

    def check(self) -> None:
        empty = {f"{topic}-{index}" for topic, index in self.world.begun_empty}
        assert empty <= self.approved, f"{empty - self.approved} began empty, and nobody approved that"


@example(factors=[1], history=[("lose", 0, 6), ("approve stale", 0, 4), ("die", 2, 3)])
@example(factors=[3, 2], history=[("replace", 1, 1), ("fall behind", 0, 0), ("fall behind", 2, 5), ("keep up", 0, 3)])
@given(
    st.lists(st.integers(1, 3), max_size=3),
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 30), st.integers(0, 6)), max_size=10),
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_history_begins_a_partition_empty_that_nobody_gave_up(
    factors: list[int], history: list[tuple[str, int, int]]
) -> None:
    told = History(factors)
    for event, number, passes in history:
        note(f"{event} {number}: {told.world.in_sync}")
        told.strike(event, number)
        told.passes(passes)
        told.check()
    told.world.operations.clear()
    told.world.behind.clear()
    decision = told.world.settle(120)
    told.check()
    waiting = {each.subject for each in decision.findings if each.reason == "DataLossPending"}
    away = [each for each in BROKERS if f"broker {each}" not in waiting and not told.world.pods[each].runs]
    assert not away, [each.message for each in decision.findings]
    if waiting:
        told.approve()
        for _ in range(3):
            if any(each.reason == "DataLossPending" for each in told.world.settle(120).findings):
                told.approve()
    told.check()
    assert all(told.world.pods[each].runs for each in BROKERS)
