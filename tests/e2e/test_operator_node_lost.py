"""A Kubernetes node with a voter's local volume is lost for good, under a client that writes: nothing is done until its
owner says so, then the voter lives on another node, and the disk of the old one is refused when it comes back.

It takes a node away from the Kubernetes of the whole run and gives it back at the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]


def power(command: str, node: str) -> None:
    subprocess.run([sys.executable, str(ROOT / "deploy" / "devcluster"), command, node], check=True)


@pytest.fixture
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    if kubernetes.context is not None:
        pytest.skip("the nodes of another cluster are not ours to switch off")
    with kubernetes.namespace("op-node") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


def alone(story: Story) -> tuple[str, str]:
    """A Kubernetes node with exactly one pod, and that controller's; not the leader's, whose loss moves more."""
    hosts = {name: pod["spec"]["nodeName"] for name, pod in story.pods().items()}
    leader = f"{story.name}-controller-{story.resource()['status']['quorum']['leaderID']}-0"
    beside = {host for host in hosts.values() if list(hosts.values()).count(host) > 1}
    single = [name for name in sorted(hosts) if "-controller-" in name and hosts[name] not in beside and name != leader]
    assert single, f"no node carries one controller and nothing else: {hosts}"
    return hosts[single[0]], single[0]


def redundant_without(story: Story, node_id: int, *refused: str) -> bool:
    """All three voters are live, and the node's has none of the directories that are refused."""
    now = story.voters()
    assert len(now) == 3 and [state for _, state in now.values()] == ["Live"] * 3, now
    return now[node_id][0] not in refused


def test_a_lost_node_is_no_proof_until_its_owner_says_so_and_its_disk_is_refused_when_it_returns(
    story: Story, images: Images, tmp_path: Path, sampled: Callable[[str], None]
) -> None:
    with operator(story.namespace, tmp_path, images, port=19571):
        story.apply(brokerPools=[pool(1)], recoveryPolicy={"nodeGone": "TreatAsLost"})
        story.await_ready()
        host, pod = alone(story)
        node_id, before = int(pod.split("-")[-2]), story.voters()
        old, kept = before[node_id][0], tmp_path / "kept"
        with topic_client(story, "node", tmp_path) as names:
            disk = story.disk(node_id)
            power("stop-node", host)
            try:
                subprocess.run(["cp", "-a", str(disk), str(kept)], check=True)
                found = story.await_condition("StorageHealthy", "False", "DiskSuspect", 240)
                assert f"{host}, which is not Ready" in found["message"]
                assert {each: name for each, (name, _) in story.voters().items()} == {
                    each: name for each, (name, _) in before.items()
                }
                count, proof = len(names), time.monotonic()
                story.kubernetes.kubectl("delete", "node", host)
                eventually("three live voters, one of them new", lambda: redundant_without(story, node_id, old))
                sampled(f"a lost node: redundant again {time.monotonic() - proof:.0f} s after the proof")
                nothing_is_lost(story, names, count)
                story.await_ready()
                assert story.pods()[pod]["spec"]["nodeName"] != host
                assert story.events("VolumeDiscarded")
            finally:
                power("start-node", host)
            came_back(story, node_id, kept)
            second, count = story.directories()[node_id], len(names)
            eventually(
                "three live voters, one of them new again", lambda: redundant_without(story, node_id, old, second)
            )
            nothing_is_lost(story, names, count)
        assert {old, second} <= {each["directoryID"] for each in story.ledger()["writtenOff"]}
        story.await_ready()


def came_back(story: Story, node_id: int, kept: Path) -> None:
    """What the lost node had on its disk is now behind the claim of the node's successor, as if somebody had bound the
    old volume to it.
    """
    root = story.disk(node_id)
    subprocess.run(["rm", "-rf", str(root)], check=True)
    subprocess.run(["cp", "-a", str(kept), str(root)], check=True)
    story.delete_pod(f"{story.name}-controller-{node_id}-0")
