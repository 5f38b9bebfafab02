"""A Kubernetes node with a voter's local volume is lost for good: nothing is done until its owner says so, then the voter lives on another node.

It takes a node away from the Kubernetes of the whole run and gives it back at the end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.devcluster import why_not_here
from support.kubernetes import ROOT, Kubernetes
from support.operator_process import Images, Story, eventually, operator

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


def voters(story: Story) -> dict[int, tuple[str, str]]:
    found = story.resource()["status"]["quorum"].get("voters") or []
    return {each["nodeID"]: (each["directoryID"], each["state"]) for each in found}


def alone(story: Story) -> tuple[str, str]:
    """A Kubernetes node with exactly one controller, and that controller's pod; not the leader's, whose loss moves more."""
    hosts = {name: pod["spec"]["nodeName"] for name, pod in story.pods().items()}
    leader = f"{story.name}-controller-{story.resource()['status']['quorum']['leaderID']}-0"
    single = [name for name in sorted(hosts) if list(hosts.values()).count(hosts[name]) == 1 and name != leader]
    assert single, f"no node carries exactly one controller: {hosts}"
    return hosts[single[0]], single[0]


def test_a_lost_node_is_no_proof_until_its_owner_says_so(story: Story, images: Images, tmp_path: Path) -> None:
    with operator(story.namespace, tmp_path, images, port=19571):
        story.apply(brokerPools=[], recoveryPolicy={"nodeGone": "TreatAsLost"})
        story.await_ready()
        host, pod = alone(story)
        node_id, before = int(pod.split("-")[-2]), voters(story)
        power("stop-node", host)
        try:
            found = story.await_condition("StorageHealthy", "False", "DiskSuspect", 240)
            assert f"{host}, which is not Ready" in found["message"]
            assert {each: name for each, (name, _) in voters(story).items()} == {
                each: name for each, (name, _) in before.items()
            }
            story.kubernetes.kubectl("delete", "node", host)

            def redundant() -> bool:
                now = voters(story)
                return [state for _, state in now.values()] == ["Live"] * 3 and now[node_id][0] != before[node_id][0]

            eventually("three live voters, one of them new", redundant)
            story.await_ready()
            assert story.pods()[pod]["spec"]["nodeName"] != host
            assert story.events("VolumeDiscarded")
        finally:
            power("start-node", host)
