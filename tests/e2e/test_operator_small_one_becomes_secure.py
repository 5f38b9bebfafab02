"""The smallest plaintext cluster becomes a secure one: the short form of `test_operator_becomes_secure.py`, stage by
stage on a real Kubernetes, for every run that the seed chooses it for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import SECRET
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

TOPICS = ("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", "localhost:9092")


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-small") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19670) as process:
        one = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
        story.apply(controllers=one, brokerPools=[pool(1)])
        story.await_ready()
        yield process


def broker(story: Story, *command: str) -> str:
    pod = f"{story.name}-b-100-0"
    return story.kubernetes.kubectl("-n", story.namespace, "exec", pod, "-c", "kafka", "--", *TOPICS, *command)


def stage(story: Story) -> str:
    return str((story.resource()["status"].get("tlsMigration") or {}).get("stage"))


def test_one_controller_and_one_broker_become_secure_and_their_client_keeps_its_listener(
    story: Story, running: OperatorProcess
) -> None:
    """OPS-07: what was there is there afterwards, every stage was entered once, and disks are what they were."""
    assert story.condition("Secure")["reason"] == "Disabled"
    broker(story, "--create", "--topic", "kept", "--partitions", "1", "--replication-factor", "1")
    before = story.directories()
    story.apply(security={"tls": {"mode": "Required", "migration": {"quiet": "2s"}}})

    def is_authorized() -> None:
        assert stage(story) == "Authorized", stage(story)

    eventually("every node asks the authorizer", is_authorized, 600)
    story.await_ready()
    assert story.condition("Secure")["reason"] == "PlaintextListener"
    assert "kept" in broker(story, "--list").split()
    assert story.directories() == before
    assert story.ledger()["security"] == "Secured/Authorized"
    names = [f"{story.name}-{each}" for each in ("ca", "ca-cert", "0-tls", "100-tls", "operator-tls")]
    assert all(story.kubernetes.gateway.get(SECRET, story.namespace, each) for each in names)
    entered = [each["note"] for each in story.events("StageEntered")]
    assert len(entered) == len(set(entered)) >= 7, entered
