"""Brokers with several volumes on a real Kubernetes under a producer with acks=all: Apache Kafka's and ours.

Every volume is served; one more comes by a roll; one that is lost costs its directory and no other; one that is taken
out is emptied first, and every acknowledged record is still there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import CLAIM
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
BROKERS = (100, 101, 102)


def brokers(**volumes: str) -> list[dict[str, Any]]:
    further = [{"name": name, "size": size} for name, size in volumes.items()]
    return [{**pool(3), "storage": {"size": "1Gi", "volumes": further}}]


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, resource_definition: None, images: Images
) -> Iterator[Story]:
    with kubernetes.namespace("op-jbod") as namespace:
        yield Story(kubernetes, namespace, images(request.param))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("jbod")), images, port=19640) as process:
        alone = {**default_spec(story.image)["controllers"], "replicas": 1}
        story.apply(controllers=alone, brokerPools=brokers(one="2Gi"), config=CONFIG)
        story.await_ready()
        yield process


@pytest.fixture(scope="module")
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    replicas = ",".join(["101:100:102", "100:102:101", "102:101:100"] * 2)
    with steady_load(story, tmp_path_factory.mktemp("load"), replicas) as found:
        yield found


def served(story: Story) -> dict[int, dict[str, int]]:
    """Of each broker: its log directories, and how many partitions are on each."""
    host = f"{story.name}-b-100-0.{story.name}-nodes.{story.namespace}.svc.cluster.local:9092"
    told = story.kafka("/opt/kafka/bin/kafka-log-dirs.sh", "--describe", "--bootstrap-server", host)
    answer = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    return {
        each["broker"]: {one["logDir"]: len(one["partitions"]) for one in each["logDirs"]} for each in answer["brokers"]
    }


def known(story: Story) -> dict[tuple[int, str], str]:
    """Directory ids of further volumes, as the ledger has them."""
    return {(each["nodeID"], each["volume"]): each.get("directoryID", "") for each in story.ledger()["volumes"]}


def whole(story: Story) -> bool:
    lines = [line for line in topics(story, "--describe", "--topic", TOPIC).splitlines() if "Isr: " in line]
    isr = [line.partition("Isr: ")[2].partition("\t")[0].strip().split(",") for line in lines]
    return all(len(each) == 3 for each in isr)


def path_of(volume: str) -> str:
    return f"/var/lib/kafka/{volume}/log"


def claims(story: Story, volume: str) -> int:
    found = story.kubernetes.gateway.list(CLAIM, story.namespace)
    return sum(each["metadata"]["name"].startswith(f"data-{volume}-") for each in found)


def every(*paths: str) -> dict[int, set[str]]:
    return {broker: set(paths) for broker in BROKERS}


def test_every_volume_is_formatted_and_serves_partitions(story: Story, load: SteadyLoad) -> None:
    found = served(story)
    assert {broker: set(each) for broker, each in found.items()} == every(path_of("data"), path_of("data-one"))
    assert all(count for each in found.values() for count in each.values()), found
    first, further = story.directories(), known(story)
    assert len({*(first[each] for each in BROKERS), *further.values()}) == 6
    claim = story.kubernetes.gateway.get(CLAIM, story.namespace, f"data-one-{story.name}-b-100-0")
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert claim["metadata"]["annotations"]["kraft.quorate.dev/directory-id"] == further[100, "one"]


def test_a_lost_volume_costs_its_directory_and_no_other(story: Story, load: SteadyLoad) -> None:
    first, before = story.directories(), known(story)
    story.delete_claim(f"data-one-{story.name}-b-101-0")
    gone = story.delete_pod(f"{story.name}-b-101-0")
    story.await_pod(f"{story.name}-b-101-0", other_than=gone)
    eventually("a new directory", lambda: known(story)[101, "one"] not in ("", before[101, "one"]), 300)
    story.await_condition("StorageHealthy", "True", seconds=300)
    story.await_ready()
    eventually("its replicas are in sync again", lambda: whole(story), 240)
    after = known(story)
    assert {key for key in after if after[key] != before[key]} == {(101, "one")}
    assert story.directories() == first
    load.goes_on()


def test_one_more_volume_comes_by_a_roll(story: Story, load: SteadyLoad) -> None:
    first, before = story.directories(), known(story)
    story.apply(brokerPools=brokers(one="2Gi", two="1Gi"))
    eventually("every broker has it", lambda: sum(each == "two" for _, each in known(story)) == 3, 400)
    story.await_ready()
    all_three = every(path_of("data"), path_of("data-one"), path_of("data-two"))
    eventually("all serve it", lambda: {each: set(dirs) for each, dirs in served(story).items()} == all_three, 240)
    assert story.directories() == first
    assert before.items() <= known(story).items()
    load.goes_on()


def test_a_volume_that_is_taken_out_of_the_resource_is_emptied_and_done_without(story: Story, load: SteadyLoad) -> None:
    """Its claims stay until the resource lets volumes go."""
    first = story.directories()
    assert all(each[path_of("data-one")] for each in served(story).values())
    story.apply(brokerPools=brokers(two="1Gi"))
    both = every(path_of("data"), path_of("data-two"))
    eventually("all do without it", lambda: {each: set(dirs) for each, dirs in served(story).items()} == both, 500)
    story.await_ready()
    eventually("its replicas are in sync again", lambda: whole(story), 240)
    load.goes_on()
    assert story.directories() == first
    assert {claims(story, "one"), claims(story, "two")} == {3}
    assert "cordoned" not in json.dumps(story.ledger())
    load.stop()
    assert load.acknowledged() <= load.read_back()
    story.apply(deletionPolicy={"volumes": "Delete"})
    eventually("its claims go", lambda: claims(story, "one") == 0, 240)
    assert claims(story, "two") == 3
