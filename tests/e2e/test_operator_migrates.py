"""A cluster of Apache Kafka gets controllers of ours, and its own ones back, under a producer with acks=all, on a real
Kubernetes with Apache Kafka's own jars: one cluster, told in order.

`spec.controllers.image` is set, and taken out again. The disks stay, no voter changes, one controller is away at a
time, and the broker's pod lives through all of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from support.apache_kafka import java_kafka
from support.clients.steady_load import SteadyLoad, steady_load, topics
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

CONTROLLERS: Final = {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
CONFIG: Final = {
    "broker": {"offsets.topic.replication.factor": "1", "initial.broker.registration.timeout.ms": "240000"}
}


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    java_kafka.require_java()
    with kubernetes.namespace("op-migrates") as namespace:
        yield Story(kubernetes, namespace, images("apache-kafka"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    images("runtime")
    with operator(story.namespace, Path(tmp_path_factory.mktemp("migrates")), images, port=19580) as process:
        story.apply(brokerPools=[pool(1)], config=CONFIG)
        story.await_ready()
        yield process


@pytest.fixture(scope="module")
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    with steady_load(story, tmp_path_factory.mktemp("load"), "100,100") as found:
        yield found


def pods_of(story: Story, part: str) -> dict[str, dict[str, Any]]:
    return {name: pod for name, pod in story.pods().items() if part in name}


def images_of(pods: dict[str, dict[str, Any]]) -> set[str]:
    return {each["image"] for pod in pods.values() for each in pod["spec"]["containers"]}


def rolled(story: Story, image: str) -> bool:
    """Every controller runs this image and is a live voter, and nothing is left to do."""
    controllers = pods_of(story, "-controller-")
    assert images_of(controllers) == {image}, images_of(controllers)
    assert story.condition("RolloutComplete")["status"] == "True"
    states = [state for _, state in story.voters().values()]
    assert states == ["Live"] * 3, states
    return bool(story.condition("QuorumRedundant")["status"] == "True")


@pytest.mark.parametrize("kind", ["runtime", "apache-kafka"])
def test_controllers_change_their_program_one_by_one_on_their_disks(
    story: Story, load: SteadyLoad, images: Images, sampled: Callable[[str], None], kind: str
) -> None:
    """To ours first, then back to what the whole cluster runs."""
    before, brokers, voters = pods_of(story, "-controller-"), pods_of(story, "-b-"), story.voters()
    directories, image, began = story.directories(), images(kind), time.monotonic()
    repository, _, tag = image.rpartition(":")
    own = {"image": {"repository": repository, "tag": tag}, "probes": "HTTP"} if kind == "runtime" else {}
    story.apply(controllers={**CONTROLLERS, **own})
    eventually(f"the controllers run {image}", lambda: rolled(story, image))
    load.goes_on()
    topics(story, "--create", "--topic", f"made-under-{kind}", "--partitions", "2", "--replication-factor", "1")
    after = pods_of(story, "-controller-")
    assert len({pod["metadata"]["uid"] for pod in (*before.values(), *after.values())}) == 6
    assert pods_of(story, "-b-")[f"{story.name}-b-100-0"]["metadata"]["uid"] == next(
        pod["metadata"]["uid"] for pod in brokers.values()
    )
    assert story.directories() == directories
    assert {node: directory for node, (directory, _) in story.voters().items()} == {
        node: directory for node, (directory, _) in voters.items()
    }
    sampled(f"controllers to {kind}: {time.monotonic() - began:.0f} s")


def test_an_image_that_does_not_know_the_level_is_given_to_one_controller_and_taken_back(
    story: Story, load: SteadyLoad, images: Images, sampled: Callable[[str], None]
) -> None:
    """Apache Kafka 4.2, after 4.3-IV0 was made final: what it says is told, and the two others are never touched."""
    java_kafka.fetch("4.2.0")
    eventually(
        "all run well", lambda: {each["group"] for each in story.ledger()["revisions"]["good"]} >= {"controller"}
    )
    before, image, directories = pods_of(story, "-controller-"), images("apache-kafka-4.2"), story.directories()
    kept = images_of(before)
    repository, _, tag = image.rpartition(":")
    story.apply(
        controllers={**CONTROLLERS, "image": {"repository": repository, "tag": tag}}, rollout={"readyTimeout": "60s"}
    )
    found = story.await_condition("RolloutComplete", "False", "BadRevision")
    eventually("every controller runs what it ran before", lambda: whole_again(story, kept))
    after = pods_of(story, "-controller-")
    changed = [name for name, pod in before.items() if pod["metadata"]["uid"] != after[name]["metadata"]["uid"]]
    assert len(changed) == 1, changed
    assert story.directories() == directories
    load.goes_on()
    sampled(f"4.2 for controllers at 4.3-IV0: {found['message']}")
    story.apply(controllers=CONTROLLERS, rollout=None)
    story.await_condition("RolloutComplete", "True")


def whole_again(story: Story, kept: set[str]) -> bool:
    assert images_of(pods_of(story, "-controller-")) == kept
    states = [state for _, state in story.voters().values()]
    assert states == ["Live"] * 3, states
    return bool(story.condition("QuorumRedundant")["status"] == "True")


def test_nothing_acknowledged_and_no_topic_is_lost(
    story: Story, load: SteadyLoad, sampled: Callable[[str], None]
) -> None:
    load.stop()
    acknowledged = load.acknowledged()
    missing = acknowledged - load.read_back()
    sampled(f"{len(acknowledged)} records were acknowledged during the migration, {len(missing)} are missing")
    assert len(acknowledged) > 500
    assert not missing
    made = set(topics(story, "--list").split())
    assert {"made-under-runtime", "made-under-apache-kafka"} <= made
