"""Brokers that lose their disks on a real Kubernetes under a producer with acks=all, and are rolled: Apache Kafka's and
ours.

By themselves they are replaced when nothing is lost with the disk. What nobody else has in sync waits for the approval
of the plan that names it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.api import names
from kraft_operator.kube import CLUSTER, OPERATION
from support.clients.steady_load import CONFIG, TOPIC, SteadyLoad, steady_load, topics
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, OperatorProcess, Story, default_spec, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]


def lose_disk(story: Story, node_id: int) -> str:
    """Claim and volume go; returns the directory that was there."""
    before = story.directories()[node_id]
    story.delete_claim(f"data-{story.name}-b-{node_id}-0")
    story.delete_pod(f"{story.name}-b-{node_id}-0")
    return before


def await_new_directory(story: Story, node_id: int, before: str) -> None:
    eventually("a new directory", lambda: story.directories().get(node_id) not in (None, "", before), 300)
    story.await_condition("StorageHealthy", "True", seconds=300)
    story.await_ready()
    written_off = [(each["nodeID"], each["directoryID"]) for each in story.ledger()["writtenOff"]]
    assert (node_id, before) in written_off


def data_loss_pending(story: Story, *partitions: str) -> dict[str, Any]:
    """The published plan, which names what would be lost and waits."""
    told = story.await_condition("StorageHealthy", "False", "DataLossPending", 300)
    plan: dict[str, Any] = story.resource()["status"]["plan"]
    losing = [each for each in plan["steps"] if each.get("risk") == "DataLoss"]
    assert losing, plan
    assert plan["approved"] == "No"
    for each in partitions:
        assert each in told["message"], told
        assert each in losing[0]["reason"], plan
    return plan


def approve(story: Story, plan: dict[str, Any]) -> None:
    mark = {"metadata": {"annotations": {names.ANNOTATION_APPROVE: plan["hash"]}}}
    story.kubernetes.gateway.patch(CLUSTER, story.namespace, story.name, mark)


@pytest.fixture(scope="module", params=["apache-kafka", "runtime"])
def story(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, resource_definition: None, images: Images
) -> Iterator[Story]:
    with kubernetes.namespace("op-lost-brokers") as namespace:
        yield Story(kubernetes, namespace, images(request.param))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("brokers")), images, port=19590) as process:
        alone = {**default_spec(story.image)["controllers"], "replicas": 1}
        story.apply(controllers=alone, brokerPools=[pool(4)], config=CONFIG)
        story.await_ready()
        yield process


@pytest.fixture(scope="module")
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    with steady_load(story, tmp_path_factory.mktemp("load"), "101:100:102,100:102:101") as found:
        yield found


def in_sync(story: Story) -> list[set[str]]:
    lines = [line for line in topics(story, "--describe", "--topic", TOPIC).splitlines() if "Isr: " in line]
    return [set(line.partition("Isr: ")[2].partition("\t")[0].strip().split(",")) for line in lines]


def broker_pods(story: Story) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in story.pods().items() if "-b-" in name}


def test_a_lost_broker_is_replaced_by_itself_when_everything_is_in_sync_elsewhere(
    story: Story, load: SteadyLoad, sampled: Callable[[str], None]
) -> None:
    began, before = time.monotonic(), lose_disk(story, 101)
    await_new_directory(story, 101, before)
    whole = [{"100", "101", "102"}] * 2
    eventually("its replicas are in sync again", lambda: in_sync(story) == whole, 240)
    sampled(f"a lost broker of {story.image} redundant again after {time.monotonic() - began:.0f} s")
    load.goes_on()
    assert story.events("DiskWrittenOff")


def test_what_nobody_else_has_in_sync_waits_for_an_approval_that_names_it(story: Story, load: SteadyLoad) -> None:
    topics(story, "--create", "--topic", "alone", "--replica-assignment", "103")
    before = lose_disk(story, 103)
    plan = data_loss_pending(story, "alone-0")
    time.sleep(10)  # several looks of the operator
    assert story.directories().get(103) == before
    load.goes_on()
    approve(story, plan)
    await_new_directory(story, 103, before)
    assert story.events("ReplicasGivenUp")


def test_a_whole_disk_is_replaced_on_request(story: Story, load: SteadyLoad) -> None:
    before = story.directories()[102]
    meta = {"name": "another-disk", "namespace": story.namespace}
    spec = {"clusterName": story.name, "type": "ReplaceBroker", "nodeID": 102}
    gateway = story.kubernetes.gateway
    gateway.create(
        OPERATION,
        story.namespace,
        {"apiVersion": OPERATION.api, "kind": OPERATION.kind, "metadata": meta, "spec": spec},
    )

    def done() -> dict[str, Any] | None:
        status: dict[str, Any] = gateway.get(OPERATION, story.namespace, "another-disk").get("status") or {}
        return status if status.get("phase") in ("Succeeded", "Failed", "Rejected") else None

    assert eventually("the broker is replaced", done, 400)["phase"] == "Succeeded"
    await_new_directory(story, 102, before)
    assert in_sync(story) == [{"100", "101", "102"}] * 2


def test_a_roll_restarts_one_broker_after_the_other_while_two_replicas_are_in_sync(
    story: Story, load: SteadyLoad
) -> None:
    before, seen = broker_pods(story), list[int]()
    story.apply(config={"broker": {**CONFIG["broker"], "replica.fetch.wait.max.ms": "400"}})

    def rolled() -> bool:
        after = broker_pods(story)
        seen.append(min(map(len, in_sync(story))))
        return after.keys() == before.keys() and not set(after.values()) & set(before.values())

    eventually("every broker is another pod", rolled)
    story.await_ready()
    assert min(seen) == 2, seen
    load.goes_on()


def test_every_record_that_was_acknowledged_is_read_back(
    story: Story, load: SteadyLoad, sampled: Callable[[str], None]
) -> None:
    load.stop()
    acknowledged = load.acknowledged()
    missing = acknowledged - load.read_back()
    sampled(f"{len(acknowledged)} records were acknowledged while brokers were replaced, {len(missing)} are missing")
    assert len(acknowledged) > 500
    assert not missing


def test_our_broker_is_given_up_only_with_an_approval_that_names_its_partitions(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path: Path
) -> None:
    """Of a partition with one replica; a broker that holds nothing is replaced by itself."""
    with kubernetes.namespace("op-lost-brokers-ours") as namespace, operator(namespace, tmp_path, images, port=19591):
        story = Story(kubernetes, namespace, images("runtime"))
        alone = {**default_spec(story.image)["controllers"], "replicas": 1}
        story.apply(controllers=alone, brokerPools=[pool(2)])
        story.await_ready()
        bootstrap = f"{story.name}-b-100-0.{story.name}-nodes.{story.namespace}.svc.cluster.local:9092"
        command = (
            "/opt/kafka/bin/kafka-topics.sh",
            "--bootstrap-server",
            bootstrap,
            "--create",
            "--topic",
            "alone",
        )
        story.kafka(*command, "--replica-assignment", "101")
        before = lose_disk(story, 101)
        plan = data_loss_pending(story, "alone-0")
        approve(story, plan)
        eventually("a new directory", lambda: story.directories().get(101) not in (None, "", before), 300)
        told = story.await_condition("MembershipSynced", "False", "PartitionsWithoutLeader", 300)
        assert "alone-0" in told["message"]
        story.kafka("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", bootstrap, "--delete", "--topic", "alone")
        await_new_directory(story, 101, before)
        assert story.events("ReplicasGivenUp")
        before = lose_disk(story, 100)
        await_new_directory(story, 100, before)
