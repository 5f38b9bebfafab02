"""A broker leaves with its replicas moved to those that stay, under a producer with acks=all: Apache Kafka's own, on a
real Kubernetes.

The broker that its replicas are moved to hangs: so the move does not end, and until it does the broker that has to go
stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.clients.steady_load import CONFIG, TOPIC, SteadyLoad, steady_load, topics
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.hanging import hanging
from support.kubernetes.operator_process import Images, OperatorProcess, Story, default_spec, eventually, operator, pool

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-drain") as namespace:
        yield Story(kubernetes, namespace, images("apache-kafka"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("drain")), images, port=19580) as process:
        alone = {**default_spec(story.image)["controllers"], "replicas": 1}
        story.apply(controllers=alone, brokerPools=[pool(4)], config=CONFIG)
        story.await_ready()
        yield process


@pytest.fixture(scope="module")
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    """Broker 102 holds nothing: whatever leaves 103 has to go there."""
    with steady_load(story, tmp_path_factory.mktemp("load"), "103:100:101,100:101:103") as found:
        yield found


def replicas(story: Story, topic: str = TOPIC) -> list[set[str]]:
    """Of every partition of the topic, as Kafka's tool tells them."""
    lines = [line for line in topics(story, "--describe", "--topic", topic).splitlines() if "Replicas: " in line]
    return [set(line.partition("Replicas: ")[2].partition("\t")[0].strip().split(",")) for line in lines]


def test_a_broker_leaves_only_when_the_last_of_its_replicas_has_gone(
    story: Story, load: SteadyLoad, sampled: Callable[[str], None]
) -> None:
    leaving = f"{story.name}-b-103-0"
    before = story.pods()[leaving]["metadata"]["uid"]
    began = time.monotonic()

    def the_gate_is_closed() -> str:
        told = story.condition("MembershipSynced")
        assert told["reason"] == "DrainingBroker", told
        assert "broker 103" in told["message"], told
        assert TOPIC in told["message"], told
        return str(told["message"])

    with hanging(story.pods()[f"{story.name}-b-102-0"]["metadata"]["uid"]):
        story.apply(brokerPools=[pool(3)])
        message = eventually("broker 103 waits for its replicas to be moved", the_gate_is_closed)
        eventually("the move has begun", lambda: all("102" in each for each in replicas(story)))
        load.goes_on()
        eventually("broker 103 is cordoned", lambda: story.events("BrokerCordoned"))
        time.sleep(3)  # its next heartbeat tells the controllers
        for topic in ("during-0", "during-1"):
            topics(story, "--create", "--topic", topic, "--partitions", "4", "--replication-factor", "3")
            assert all("103" not in each for each in replicas(story, topic))
        time.sleep(10)  # several looks of the operator
        assert the_gate_is_closed()
        assert story.pods()[leaving]["metadata"]["uid"] == before
        assert all("103" in each for each in replicas(story))
    eventually("broker 103 is gone", lambda: leaving not in story.pods())
    story.await_condition("MembershipSynced", "True")
    story.await_ready()
    assert replicas(story) == [{"100", "101", "102"}] * 2
    assert story.events("BrokerUnregistered")
    load.goes_on()
    sampled(f"a drain with a hanging broker on the way: {time.monotonic() - began:.0f} s; told: {message}")


def test_topics_that_were_made_during_the_drain_are_not_on_the_broker_that_left(story: Story, load: SteadyLoad) -> None:
    """Nothing was moved off it that had come during the drain: Apache Kafka had it cordoned."""
    for topic in ("during-0", "during-1"):
        assert replicas(story, topic) == [{"100", "101", "102"}] * 4
    assert (len(story.events("BrokerCordoned")), len(story.events("BrokerUncordoned"))) == (1, 1)


def test_every_record_that_was_acknowledged_during_the_drain_is_read_back(
    story: Story, load: SteadyLoad, sampled: Callable[[str], None]
) -> None:
    load.stop()
    acknowledged = load.acknowledged()
    missing = acknowledged - load.read_back()
    sampled(f"{len(acknowledged)} records were acknowledged during the drain, {len(missing)} are missing")
    assert len(acknowledged) > 500
    assert not missing


def test_the_broker_comes_back_with_its_id_and_takes_replicas_again(story: Story, load: SteadyLoad) -> None:
    story.apply(brokerPools=[pool(4)])
    eventually("broker 103 is back", lambda: f"{story.name}-b-103-0" in story.pods())
    story.await_condition("MembershipSynced", "True")
    story.await_ready()
    topics(story, "--create", "--topic", "everywhere", "--partitions", "1", "--replication-factor", "4")
    assert replicas(story, "everywhere") == [{"100", "101", "102", "103"}]
