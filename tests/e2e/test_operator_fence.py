"""Two operators, one frozen between its journal and its call: whoever wakes up late takes no wrong step.

The freeze is a real SIGSTOP at a failpoint, the takeover a real Lease that runs out. The late one must end by itself,
and what it was about to do must not happen a second time, nor to another pod, nor to a broker that was made anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

ONE = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
GRANT = "kraft.quorate.dev/grant"


@pytest.fixture
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-fence") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


def frozen(process: OperatorProcess) -> None:
    eventually("the operator froze at its failpoint", process.frozen, 240)


def late_riser_ends(process: OperatorProcess) -> None:
    told = len(process.log.read_text())
    process.thaw()
    eventually("the late operator ended by itself", process.ended, 30)
    assert process.process.returncode != 0
    done = [line for line in process.log.read_text()[told:].splitlines() if " INFO kraft_operator: " in line]
    assert done == [], "it performed nothing after it woke up"


def ready(story: Story, pod: str) -> bool:
    conditions = story.pods()[pod]["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def grant_of(story: Story, pod: str) -> dict[str, object] | None:
    text = story.pods()[pod]["metadata"].get("annotations", {}).get(GRANT)
    return dict(json.loads(text)) if text else None


def test_frozen_between_the_journal_and_the_grant(story: Story, images: Images, tmp_path: Path) -> None:
    pod = f"{story.name}-controller-0-0"
    with operator(story.namespace, tmp_path, images, failpoints="after_journal.grant=stop", port=19511) as first:
        story.apply(controllers=ONE, brokerPools=[])
        frozen(first)
        journaled = story.ledger()
        assert [(step["kind"], step["nodeID"]) for step in journaled["journal"]] == [("Grant", 0)]
        assert grant_of(story, pod) is None
        with operator(story.namespace, tmp_path, images, port=19512):
            story.await_ready()
            ledger, grant = story.ledger(), grant_of(story, pod)
            assert grant is not None
            assert (
                grant["nonce"] == journaled["nodes"][0]["grant"]["nonce"]
            )  # the journaled step was finished, not repeated
            late_riser_ends(first)
            assert (story.ledger(), grant_of(story, pod)) == (ledger, grant)
            story.await_ready()
    gone = story.delete_pod(pod)
    story.await_pod(pod, other_than=gone)
    eventually("a known disk starts although no operator runs", lambda: ready(story, pod))
    assert grant_of(story, pod) is None


def test_frozen_between_the_last_check_and_the_call_while_the_pod_is_replaced(
    story: Story, images: Images, tmp_path: Path
) -> None:
    pod = f"{story.name}-controller-0-0"
    with operator(story.namespace, tmp_path, images, failpoints="before_call.grant=stop", port=19513) as first:
        story.apply(controllers=ONE, brokerPools=[])
        frozen(first)
        with operator(story.namespace, tmp_path, images, port=19514):
            story.await_ready()
            directories = story.directories()
            gone = story.delete_pod(pod)
            story.await_pod(pod, other_than=gone)
            story.await_ready()
            late_riser_ends(first)
            assert grant_of(story, pod) is None  # the new pod needed none, and the late one reached nobody
            assert story.directories() == directories


def test_frozen_before_unregistering_a_broker_that_came_back_meanwhile(
    story: Story, images: Images, tmp_path: Path
) -> None:
    with operator(story.namespace, tmp_path, images, failpoints="after_journal.unregister=stop", port=19515) as first:
        story.apply(controllers=ONE, brokerPools=[pool(2)])
        story.await_ready()
        story.apply(brokerPools=[pool(1)])
        frozen(first)
        with operator(story.namespace, tmp_path, images, port=19516) as second:
            story.await_condition("MembershipSynced", "True")
            eventually("broker 101 has retired", lambda: story.ledger()["nodes"][-1].get("retired"))
            story.apply(brokerPools=[pool(2)])
            story.await_ready()
            eventually("both brokers are registered", lambda: registered(story) == {"100", "101"})
            late_riser_ends(first)
            time.sleep(5)
            assert registered(story) == {"100", "101"}
            assert "UnregisterBroker" not in first.log.read_text()
            assert second.log.read_text().count("UnregisterBroker broker 101") == 1
            story.await_ready()


def registered(story: Story) -> set[str]:
    bootstrap = f"{story.name}-bootstrap:9092"
    tool = ("/opt/kafka/bin/kafka-cluster.sh", "list-endpoints", "--include-fenced-brokers")
    endpoints = story.kafka(*tool, "--bootstrap-server", bootstrap)
    return {line.split()[0] for line in endpoints.splitlines()[1:] if line.strip()}
