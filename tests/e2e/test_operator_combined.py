"""Combined nodes on a real Kubernetes, ours and Apache Kafka's: one that forms, is restarted and gets two beside it,
and three under a producer with acks=all that lose a pod and a disk and are rolled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.clients.steady_load import CONFIG, TOPIC, SteadyLoad, steady_load, topics
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import (
    Images,
    Object,
    OperatorProcess,
    Story,
    default_spec,
    eventually,
    operator,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]
NODES = (0, 1, 2)
ASKED = ("controller-0", "controller-1")
"""By clients; no story stops the first one."""


def combined(story: Story, replicas: int) -> Object:
    return {**default_spec(story.image)["controllers"], "role": "Combined", "replicas": replicas}


def pod_of(story: Story, node_id: int) -> str:
    return f"{story.name}-controller-{node_id}-0"


def uids(story: Story) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}


def others_than(story: Story, before: dict[str, str]) -> bool:
    after = uids(story)
    return after.keys() == before.keys() and not set(after.values()) & set(before.values())


def is_ready(story: Story, node_id: int) -> bool:
    conditions = story.pods()[pod_of(story, node_id)]["status"].get("conditions", ())
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def in_sync(story: Story) -> list[set[str]]:
    described = topics(story, "--describe", "--topic", TOPIC, node=ASKED[0])
    lines = [line for line in described.splitlines() if "Isr: " in line]
    return [set(line.partition("Isr: ")[2].partition("\t")[0].strip().split(",")) for line in lines]


def whole(story: Story) -> bool:
    """Voters, brokers and replicas."""
    live = {node for node, (_, state) in story.voters().items() if state == "Live"}
    return live == set(NODES) and in_sync(story) == [set(map(str, NODES))] * 2


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, resource_definition: None, images: Images
) -> Iterator[Story]:
    with kubernetes.namespace("op-combined") as namespace:
        yield Story(kubernetes, namespace, images(request.param))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("combined")), images, port=19620) as process:
        story.apply(controllers=combined(story, 3), brokerPools=None, config=CONFIG)
        story.await_ready()
        yield process


@pytest.fixture(scope="module")
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    with steady_load(story, tmp_path_factory.mktemp("load"), "1:0:2,0:2:1", ASKED) as found:
        yield found


def test_a_pod_that_is_killed_comes_back_as_voter_and_as_broker(story: Story, load: SteadyLoad) -> None:
    assert {each["role"] for each in story.resource()["status"]["nodes"]} == {"combined"}
    killed = story.delete_pod(pod_of(story, 1))
    story.await_pod(pod_of(story, 1), other_than=killed)
    eventually("it serves again", lambda: is_ready(story, 1), 300)
    load.goes_on()
    eventually("all are in sync again", lambda: whole(story), 300)
    story.await_ready()


def test_a_lost_disk_is_replaced_as_a_voter_and_as_a_broker_once(story: Story, load: SteadyLoad) -> None:
    before = story.directories()[2]
    story.delete_claim(f"data-{pod_of(story, 2)}")
    story.delete_pod(pod_of(story, 2))
    eventually("a new directory", lambda: story.directories().get(2) not in (None, "", before), 300)
    eventually("all are in sync again", lambda: whole(story), 300)
    story.await_ready()
    assert story.voters()[2][0] == story.directories()[2] != before
    assert [(each["nodeID"], each["directoryID"]) for each in story.ledger()["writtenOff"]] == [(2, before)]
    load.goes_on()


def test_a_roll_restarts_every_node_below_the_producer(story: Story, load: SteadyLoad) -> None:
    before = uids(story)
    story.apply(config={"broker": {**CONFIG["broker"], "replica.fetch.wait.max.ms": "400"}})
    eventually("every node is another pod", lambda: others_than(story, before), 400)
    story.await_ready()
    eventually("all are in sync again", lambda: whole(story), 300)
    load.goes_on()


def test_every_record_that_was_acknowledged_is_read_back(
    story: Story, load: SteadyLoad, sampled: Callable[[str], None]
) -> None:
    load.stop()
    acknowledged = load.acknowledged()
    missing = acknowledged - load.read_back()
    sampled(f"{len(acknowledged)} records were acknowledged by combined nodes of {story.image}, {len(missing)} missing")
    assert len(acknowledged) > 100
    assert not missing


@pytest.mark.parametrize("image", ["runtime", "apache-kafka"])
def test_one_secure_node_forms_is_restarted_and_gets_two_beside_it(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path: Path, image: str
) -> None:
    with kubernetes.namespace("op-combined-one") as namespace, operator(namespace, tmp_path, images, port=19621):
        story = Story(kubernetes, namespace, images(image))
        story.apply(controllers=combined(story, 1), brokerPools=None, security=None)
        story.await_ready()
        before = uids(story)
        story.apply(config={"broker": {"replica.fetch.wait.max.ms": "400"}})
        eventually("it is another pod", lambda: others_than(story, before))
        story.await_ready()
        story.apply(controllers=combined(story, 3))
        story.await_ready()
        assert {state for _, state in story.voters().values()} == {"Live"}
        assert set(story.voters()) == set(NODES)
