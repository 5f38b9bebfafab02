"""Disks that are good but not the right ones: another node's, another cluster's, an older copy, or put together from
two.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.disks.metadata_disk import metadata_directory
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration


def data(node: NodeProcess) -> Path:
    return Path(node.properties["log.dirs"])


def refuses(node: NodeProcess, *words: str) -> None:
    """It ends at once with these words in its log."""
    node.start()
    assert node.wait(60) == 1
    last = node.log().strip().splitlines()[-1]
    assert "cannot start" in last
    for word in words:
        assert word in last, last


def grown(cluster: Cluster, more: int = 5) -> None:
    before = cluster.quorum().high_watermark
    eventually("commits go on", lambda: cluster.quorum().high_watermark >= before + more)


def test_directories_of_two_nodes_that_were_swapped_are_refused_by_both(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        one, other = cluster.nodes[1], cluster.nodes[2]
        for node in (one, other):
            assert node.stop() == 0
        aside = tmp_path / "aside"
        data(one).rename(aside)
        data(other).rename(data(one))
        aside.rename(data(other))
        for node in (one, other):
            refuses(node, str(data(node) / "meta.properties"), "has node.id=")


def test_a_directory_of_another_cluster_is_not_let_in(tmp_path: Path) -> None:
    with Cluster(tmp_path / "a", controllers=3) as cluster, Cluster(tmp_path / "b", controllers=3) as stranger:
        cluster.start()
        for node in stranger.nodes.values():
            node.format("--no-initial-controllers", cluster_id="AAAAAAAAAAAAAAAAAAAAAQ")
        leader = cluster.wait_for_leader()
        lost = next(node for node in cluster.controller_nodes if node is not leader)
        assert lost.stop() == 0
        shutil.rmtree(data(lost))
        shutil.copytree(data(stranger.nodes[lost.node_id]), data(lost))
        epoch = cluster.quorum().leader_epoch
        lost.start()
        lost.wait_for_log("belongs to another cluster")
        assert lost.http("/readyz")[0] == 503
        lost.kill()
        grown(cluster)
        assert cluster.quorum().leader_epoch == epoch


@pytest.mark.parametrize("what", ["missing", "older"])
def test_a_voter_whose_promises_are_missing_or_older_than_its_log_is_refused(tmp_path: Path, what: str) -> None:
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        node = cluster.wait_for_leader()
        state = metadata_directory(data(node)) / "quorum-state"
        grown(cluster)
        assert node.stop() == 0
        older = state.read_bytes()
        node.start()
        cluster.wait_for_leader()
        grown(cluster)
        assert node.stop() == 0
        if what == "missing":
            state.unlink()
            refuses(node, str(state), "it is missing", "replace it")
        else:
            newer = state.read_bytes()
            state.write_bytes(older)
            refuses(node, str(state), "it says epoch", "the log beside it has records of epoch")
            state.write_bytes(newer)
            node.start()
            cluster.wait_for_leader()


def test_an_older_copy_of_a_voters_directory_is_told_loudly_by_the_leader(tmp_path: Path) -> None:
    """It agrees with itself, so the voter cannot know. What it had acknowledged to this leader is not there."""
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        follower = next(node for node in cluster.controller_nodes if node is not leader)
        grown(cluster)
        assert follower.stop() == 0
        copy = tmp_path / "copy"
        shutil.copytree(data(follower), copy)
        epoch = cluster.quorum().leader_epoch
        follower.start()
        level = cluster.quorum().high_watermark + 4
        eventually("it acknowledges more", lambda: cluster.log_end_offsets().get(follower.node_id, 0) >= level)  # type: ignore[call-overload]
        follower.kill()
        shutil.rmtree(data(follower))
        shutil.copytree(copy, data(follower))
        follower.start()
        leader.wait_for_log("its disk is another one or an older copy")
        assert cluster.quorum().leader_epoch == epoch, "nothing of the test's sense is left after an election"
        line = next(line for line in leader.log().splitlines() if "older copy" in line)
        assert "ERROR" in line
        assert f"voter {follower.node_id} had the log up to" in line
        grown(cluster)
