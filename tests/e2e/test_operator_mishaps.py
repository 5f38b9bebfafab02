"""Somebody deletes all claims, or all ConfigMaps, of a cluster that runs under a client: nothing acknowledged is lost,
and no disk is another one afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import OPERATION
from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-mishap") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19597) as process:
        story.apply(brokerPools=[pool(1)])
        story.await_ready()
        yield process


def volumes(story: Story) -> dict[str, tuple[str, str]]:
    """Claims to their UID and volume."""
    found = story.kubernetes.kubectl(
        "-n", story.namespace, "get", "pvc", "-o",
        "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.spec.volumeName}{'\\n'}{end}"
    )  # fmt: skip
    return {name: (uid, volume) for name, uid, volume in (line.split() for line in found.split("\n") if line.strip())}


def test_all_configmaps_are_deleted_and_nothing_is_forgotten(
    story: Story, running: OperatorProcess, tmp_path: Path
) -> None:
    before, pods = story.ledger(), story.pods()
    with topic_client(story, "configmaps", tmp_path) as names:
        count = len(names)
        story.kubernetes.kubectl("-n", story.namespace, "delete", "configmap", "--all")
        eventually("the ledger is there again", lambda: bool(story.events("LedgerRebuilt")), 60)
        story.await_ready()
        nothing_is_lost(story, names, count)
    after = story.ledger()
    kept = ("nodeID", "directoryID", "pvcUID", "pvName", "nonce")
    assert [{key: each.get(key) for key in kept} for each in after["nodes"]] == [
        {key: each.get(key) for key in kept} for each in before["nodes"]
    ]
    assert after["serial"] > before["serial"]
    assert set(story.pods()) == set(pods)


def test_all_claims_are_deleted_and_made_anew_on_their_volumes(
    story: Story, running: OperatorProcess, tmp_path: Path
) -> None:
    before, directories = volumes(story), story.directories()
    with topic_client(story, "claims", tmp_path) as names:
        count = len(names)
        story.kubernetes.kubectl("-n", story.namespace, "delete", "pvc", "--all", "--wait=false")
        story.await_condition("StorageHealthy", "False", "ClaimTerminating")
        body = {
            "apiVersion": OPERATION.api, "kind": OPERATION.kind,
            "metadata": {"name": "protect", "namespace": story.namespace},
            "spec": {"clusterName": story.name, "type": "ProtectClaims"},
        }  # fmt: skip
        gateway = story.kubernetes.gateway
        gateway.create(OPERATION, story.namespace, body)

        def ended() -> bool:
            return str(gateway.get(OPERATION, story.namespace, "protect").get("status", {}).get("phase")) == "Succeeded"

        eventually("every claim is made anew", ended, 400)
        story.await_ready()
        nothing_is_lost(story, names, count)
    after = volumes(story)
    assert {name: volume for name, (_, volume) in after.items()} == {
        name: volume for name, (_, volume) in before.items()
    }
    assert all(after[name][0] != uid for name, (uid, _) in before.items())
    assert story.directories() == directories
