"""Apache Kafka 4.2 becomes 4.3.1 under a producer with acks=all, on a real Kubernetes with Apache Kafka's own jars: one
cluster, told in order.

A follower hangs on the way: its partitions have too few replicas in sync, and no broker is restarted before it is back.
At the end every record that was acknowledged is read back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.apache_kafka import java_kafka
from support.clients.steady_load import CONFIG, SteadyLoad, steady_load
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.hanging import hanging
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

FOLLOW = {"policy": "FollowVersionAfterSoak", "soak": "5s"}


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    java_kafka.require_java()
    java_kafka.fetch("4.2.0")
    with kubernetes.namespace("op-upgrade") as namespace:
        yield Story(kubernetes, namespace, images("apache-kafka-4.2"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("upgrade")), images, port=19560) as process:
        story.apply(brokerPools=[pool(3)], config=CONFIG, metadataVersion=FOLLOW)
        story.await_ready()
        yield process


@pytest.fixture(scope="module")
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    """Broker 102 follows everywhere and leads nothing: when it hangs nobody waits for it as a leader."""
    with steady_load(story, tmp_path_factory.mktemp("load"), "100:101:102,101:100:102") as found:
        yield found


def uids(story: Story, part: str) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in story.pods().items() if part in name}


def runs(pod: dict[str, Any]) -> bool:
    states = [each["state"] for each in pod["status"].get("containerStatuses", ()) if each["name"] == "kafka"]
    return "deletionTimestamp" not in pod["metadata"] and any("running" in each for each in states)


@dataclass(slots=True)
class Watch:
    """How many of three controllers were down at once, looked at several times a second."""

    looks: int = 0
    worst: set[str] = field(default_factory=set)
    trouble: list[str] = field(default_factory=list)


@contextmanager
def watched_controllers(story: Story) -> Iterator[Watch]:
    watch, ended = Watch(), threading.Event()
    names = set(uids(story, "-controller-"))

    def look() -> None:
        while not ended.wait(0.2):
            try:
                up = {name for name, pod in story.pods().items() if runs(pod)}
            except Exception as error:
                watch.trouble.append(repr(error))
                continue
            watch.looks += 1
            watch.worst = max(watch.worst, names - up, key=len)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


def versions(story: Story) -> dict[str, Any]:
    return dict(story.resource()["status"]["versions"])


def test_a_cluster_of_4_2_stays_at_its_level_as_long_as_its_image_does(story: Story, load: SteadyLoad) -> None:
    story.await_condition("VersionFinalized", "True")
    assert versions(story)["metadataVersion"] == "4.2-IV1"
    assert versions(story)["metadataVersionTarget"] == "4.2-IV1"


def test_controllers_are_rolled_then_brokers_and_only_while_partitions_have_their_replicas(
    story: Story, load: SteadyLoad, images: Images, sampled: Callable[[str], None]
) -> None:
    controllers, brokers = uids(story, "-controller-"), uids(story, "-b-")
    image, began = images("apache-kafka"), time.monotonic()
    repository, _, tag = image.rpartition(":")

    def the_gate_is_closed() -> str:
        now, told = uids(story, "-controller-"), story.condition("RolloutComplete")
        assert not set(now.values()) & set(controllers.values()), now
        assert told["reason"] == "RestartDeferred", told
        assert "steady-0, steady-1 would have too few replicas in sync" in told["message"], told
        return str(told["message"])

    with watched_controllers(story) as watch:
        with hanging(brokers[f"{story.name}-b-102-0"]):
            story.apply(image={"repository": repository, "tag": tag})
            message = eventually("the brokers wait for replicas in sync", the_gate_is_closed)
            load.goes_on()
            time.sleep(10)  # several looks of the operator
            assert the_gate_is_closed()
            assert uids(story, "-b-") == brokers
            assert story.condition("VersionFinalized")["reason"] == "WaitingForRollout"
            assert versions(story)["metadataVersion"] == "4.2-IV1"
        story.await_condition("RolloutComplete", "True")
    assert not set(uids(story, "-b-").values()) & set(brokers.values())
    assert {each["image"] for pod in story.pods().values() for each in pod["spec"]["containers"]} == {image}
    assert watch.looks > 20, watch.trouble
    assert len(watch.worst) == 1, watch.worst
    sampled(f"4.2 to 4.3.1: {time.monotonic() - began:.0f} s for 6 pods, a hanging broker on the way; told: {message}")


def test_the_level_is_made_final_after_the_last_pod_and_its_soak_time(story: Story, load: SteadyLoad) -> None:
    eventually("4.3 is final", lambda: versions(story)["metadataVersion"] == "4.3-IV0")
    story.await_condition("VersionFinalized", "True")
    assert [each["note"] for each in story.events("MetadataVersionFinalized")]
    asked = ("--bootstrap-controller", f"{story.name}-controller-0-0.{story.name}-nodes:9093", "describe")
    told = story.kafka("/opt/kafka/bin/kafka-features.sh", *asked)
    line = next(line for line in told.splitlines() if "metadata.version" in line)
    assert "FinalizedVersionLevel: 4.3-IV0" in line
    load.goes_on()


def test_a_lower_level_is_refused(story: Story, load: SteadyLoad) -> None:
    story.apply(metadataVersion={"value": "4.2"})
    found = story.await_condition("VersionFinalized", "False", "DowngradeRefused")
    assert "4.3-IV0" in found["message"]
    assert versions(story)["metadataVersion"] == "4.3-IV0"


def test_every_acknowledged_record_is_read_back(story: Story, load: SteadyLoad, sampled: Callable[[str], None]) -> None:
    load.stop()
    acknowledged = load.acknowledged()
    missing = acknowledged - load.read_back()
    sampled(f"{len(acknowledged)} records were acknowledged during the upgrade, {len(missing)} are missing")
    assert len(acknowledged) > 1000
    assert not missing
