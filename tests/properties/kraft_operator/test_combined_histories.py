"""Random histories of combined nodes: disks lost and emptied, processes that hang, replicas that fall behind, rolls,
approvals good and stale, operators that die. What must hold in every one of them.

(i) Nothing that the quorum acknowledged is lost, and no partition begins empty unless a plan that named it was
approved. (ii) A node that serves is stopped only while the other live voters are a majority and no partition of it
would be left with too few replicas in sync. (iii) A voter is removed only if its disk may go. (iv) When nothing happens
any more, all are voters and brokers again, but for those that wait for an approval.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from kraft_operator.actions import Action, RemoveVoter, RestartPod
from kraft_operator.observed import Brokers
from support.operator_model.world import World

pytestmark = [pytest.mark.properties, pytest.mark.timeout(3600)]

EXAMPLES = 500 if os.environ.get("QUORATE_SOAK") else 6
NODES = (0, 1, 2)
CONTROLLERS = {
    "role": "Combined", "replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"},
}  # fmt: skip
EVENTS = (
    "lose", "lose", "wipe", "freeze", "thaw", "delete pod", "die", "take over", "fall behind", "keep up", "roll",
    "roll", "approve", "approve stale", "commit",
)  # fmt: skip


class Combined(World):
    """Three combined nodes; a partition is at risk as soon as one of its replicas is not in sync."""

    def __init__(self) -> None:
        super().__init__(controllers=CONTROLLERS, brokerPools=[])

    def edited(self, **changes: object) -> None:
        self.edit(controllers=CONTROLLERS, brokerPools=[], **changes)

    def _brokers(self) -> Brokers:
        self._replicate()
        self.at_risk = {}
        for (topic, index), replicas in self.partitions.items():
            synced = set(self.in_sync[topic, index])
            for node_id in synced if len(replicas) > 1 and set(replicas) - synced else ():
                self.at_risk[node_id] = (*self.at_risk.get(node_id, ()), f"{topic}-{index}")
        return super()._brokers()

    def perform(self, action: Action) -> None:
        match action:
            case RestartPod():
                self._judge_restart(next((each for each, pod in self.pods.items() if pod.uid == action.uid), -1))
            case RemoveVoter():
                self._judge_removal(action.node_id)
            case _:
                pass
        super().perform(action)

    def _judge_restart(self, node_id: int) -> None:
        if node_id not in self.pods or not self._serves(node_id) or self.leader() < 0:
            return
        left = [each for each in self.running_voters() if each != node_id]
        if node_id in self.running_voters() and len(left) <= len(self.voters) // 2 and len(self.voters) > 1:
            self.broken.append(f"node {node_id} is restarted, and of {self.voters} only {left} are left")
        self._replicate()
        for key, replicas in self.partitions.items():
            synced = set(self.in_sync[key])
            if len(replicas) > 1 and node_id in synced and set(replicas) - synced:
                self.broken.append(f"node {node_id} is restarted while {key} has {synced} of {replicas} in sync")

    def _judge_removal(self, node_id: int) -> None:
        if node_id in self.running_voters():
            self.broken.append(f"voter {node_id} is removed, and lives")


class History:
    def __init__(self, factors: list[int]) -> None:
        self.world = Combined()
        self.world.settle(80)
        for number, factor in enumerate(factors):
            self.world.place("t", *((number + each) % 3 for each in range(factor)))
        self.world.write_metadata()
        self.passes(2)
        self.approved: set[str] = set()

    def passes(self, count: int) -> None:
        for _ in range(count):
            self.world.reconcile()
            self.world.kubelet()
            assert not self.world.broken, self.world.broken

    def strike(self, event: str, number: int) -> None:
        world, node_id = self.world, NODES[number % 3]
        match event:
            case "lose" if self._bears(node_id):
                world.delete_claim(node_id)
            case "wipe" if self._bears(node_id):
                world.wipe(node_id)
            case "freeze" if node_id in world.pods:
                world.freeze(node_id)
            case "thaw":
                world.frozen.clear()
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
            case "roll":
                world.edited(image={"repository": "kafka", "tag": str(number)})
            case "approve":
                self.approve()
            case "approve stale":
                world.approve("stale")
            case "commit":
                world.write_metadata()
            case _:
                pass

    def _bears(self, node_id: int) -> bool:
        """The voters that are left hold everything and are a majority: what is lost beyond that the fault has lost."""
        world = self.world
        running = world.running_voters()
        left = [each for each in running if each != node_id and world.end_of(each) >= world.acknowledged]
        return node_id in running and len(left) > len(world.voters) // 2

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


@example(factors=[1], history=[("lose", 0, 6), ("approve stale", 0, 4), ("die", 2, 3), ("roll", 4, 3)])
@example(factors=[3, 2], history=[("roll", 4, 3), ("lose", 2, 8), ("fall behind", 1, 3), ("roll", 5, 6)])
@given(
    st.lists(st.integers(1, 3), max_size=3),
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 30), st.integers(0, 8)), max_size=12),
)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_history_stops_or_replaces_a_combined_node_that_either_half_still_needs(
    factors: list[int], history: list[tuple[str, int, int]]
) -> None:
    told = History(factors)
    world = told.world
    for event, number, passes in history:
        note(f"{event} {number}: voters {world.voters}, running {world.running_voters()}, in sync {world.in_sync}")
        told.strike(event, number)
        told.passes(passes)
        told.check()
    world.frozen.clear()
    world.behind.clear()
    decision = world.settle(200)
    told.check()
    for _ in range(3):
        if any(each.reason == "DataLossPending" for each in decision.findings):
            told.approve()
            decision = world.settle(200)
    told.check()
    assert not world.broken, world.broken
    assert set(world.running_voters()) == set(world.voters) == set(NODES), [each.message for each in decision.findings]
    assert world.registered == set(NODES)
