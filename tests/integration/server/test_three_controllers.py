"""Three controllers as processes: elect, lose the leader, commit on, take it back."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import LeaderSeen
from controller_runtime.identifiers import NodeId, Offset
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("static", [False, True], ids=["voters from the log", "static voters"])
def test_three_controllers_elect_one_leader_and_commit(tmp_path: Path, static: bool) -> None:
    with Cluster(tmp_path, controllers=3, static_voters=static) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        before = cluster.quorum()
        assert {one.replica_id for one in before.voters} == {1, 2, 3}
        eventually("no-op records are committed", lambda: cluster.quorum().high_watermark > before.high_watermark)
        for node in cluster.nodes.values():
            eventually("each is ready", lambda one=node: one.http("/readyz") == (200, "ok\n"))  # type: ignore[misc]
        active = {
            node.node_id for node in cluster.nodes.values()
            if "kafka_controller_kafkacontroller_activecontrollercount 1\n" in node.http("/metrics")[1]
        }  # fmt: skip
        assert active == {leader.node_id}


def test_every_controller_names_the_leader_to_whoever_asks_it_alone(tmp_path: Path) -> None:
    async def seen_by(node: NodeProcess) -> LeaderSeen:
        async with AdminClient(bootstrap_controllers=[node.endpoint], timeout_seconds=20) as admin:
            return await admin.raft_fetch_as_non_replica(node.endpoint)

    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        epoch = cluster.quorum().leader_epoch
        for node in cluster.nodes.values():
            wanted = LeaderSeen(NodeId(leader.node_id), epoch, leader.endpoint, Offset(-1))
            eventually(f"node {node.node_id} names it", lambda one=node, it=wanted: asyncio.run(seen_by(one)) == it)  # type: ignore[misc]


def test_a_killed_leader_is_replaced_commits_go_on_and_it_catches_up_when_it_returns(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        old = cluster.wait_for_leader()
        epoch = cluster.quorum().leader_epoch
        old.kill()
        new = cluster.wait_for_leader(other_than=old.node_id)
        after = cluster.quorum()
        assert after.leader_epoch > epoch
        eventually(
            "commits go on with two of three", lambda: cluster.quorum().high_watermark > after.high_watermark + 2
        )
        old.start()

        def caught_up() -> bool:
            ends = cluster.log_end_offsets()
            return ends[old.node_id] >= ends[new.node_id] - 1  # type: ignore[index]

        eventually("the returned node catches up", caught_up)
        assert cluster.quorum().leader_id == new.node_id, "it did not disturb the leader"
        eventually("it is ready again", lambda: old.http("/readyz")[0] == 200)


def test_without_a_majority_nothing_is_committed_and_readiness_says_so(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        followers = [node for node in cluster.controller_nodes if node is not leader]
        for node in followers:
            node.kill()
        eventually("the lonely leader resigns", lambda: leader.http("/readyz")[0] == 503)
        assert "leader" in leader.http("/readyz")[1]
        assert leader.http("/livez")[0] == 200
        followers[0].start()
        cluster.wait_for_leader()


@pytest.mark.parametrize("survivor", ["the leader", "a follower"])
def test_a_controller_whose_quorum_is_frozen_is_not_ready_but_alive_until_it_is_back(
    tmp_path: Path, survivor: str
) -> None:
    """The frozen processes keep their connections: only their silence tells."""
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        followers = [node for node in cluster.controller_nodes if node is not leader]
        left, frozen = (leader, followers) if survivor == "the leader" else (followers[0], [leader, followers[1]])
        eventually("it is ready", lambda: left.http("/readyz")[0] == 200)
        for node in frozen:
            os.kill(node.pid, signal.SIGSTOP)
        try:
            status, why = eventually("it is not ready", lambda: refusal(left))
            assert status == 503
            assert "leader" in why
            assert left.http("/livez") == (200, "ok\n")
        finally:
            for node in frozen:
                os.kill(node.pid, signal.SIGCONT)
        for node in cluster.nodes.values():
            eventually("it is ready again", lambda one=node: one.http("/readyz")[0] == 200)  # type: ignore[misc]
        assert left.is_running


def refusal(node: NodeProcess) -> tuple[int, str] | None:
    answer = node.http("/readyz")
    return None if answer[0] == 200 else answer


def test_a_leader_asked_to_stop_hands_over_and_exits_with_0(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        old = cluster.wait_for_leader()
        assert old.stop() == 0
        new = cluster.wait_for_leader(other_than=old.node_id)
        assert new is not old
        assert "stopped: shut down" in old.log()


def test_all_killed_at_once_return_with_everything_that_was_committed(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        committed = cluster.quorum().high_watermark
        for node in cluster.nodes.values():
            node.kill()
        for node in cluster.nodes.values():
            node.start()
        cluster.wait_for_leader()
        assert cluster.quorum().high_watermark > committed
