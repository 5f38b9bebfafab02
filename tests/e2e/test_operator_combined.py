"""Combined nodes on a real Kubernetes, ours and Apache Kafka's: one that forms, is restarted and gets two beside it,
and three under a producer with acks=all that lose a pod and a disk and are rolled.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.clients.steady_load import CONFIG, TOPIC, WRITER
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import (
    DEVCLUSTER,
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


def tool(story: Story, *arguments: str) -> str:
    """Kafka's tool for topics, in a pod that no story stops."""
    return story.kafka("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", bootstrap(story, (0,)), *arguments)


def bootstrap(story: Story, nodes: tuple[int, ...] = (0, 1)) -> str:
    domain = f"{story.name}-nodes.{story.namespace}.svc.cluster.local:9092"
    return ",".join(f"{pod_of(story, node)}.{domain}" for node in nodes)


def in_sync(story: Story) -> list[set[str]]:
    lines = [line for line in tool(story, "--describe", "--topic", TOPIC).splitlines() if "Isr: " in line]
    return [set(line.partition("Isr: ")[2].partition("\t")[0].strip().split(",")) for line in lines]


def whole(story: Story) -> bool:
    """Voters, brokers and replicas."""
    live = {node for node, (_, state) in story.voters().items() if state == "Live"}
    return live == set(NODES) and in_sync(story) == [set(map(str, NODES))] * 2


@dataclass(slots=True)
class Load:
    """A producer that waits for all replicas in sync."""

    story: Story
    process: subprocess.Popen[bytes]
    file: Path

    def acknowledged(self) -> set[str]:
        return set(self.file.read_text().split())

    def goes_on(self) -> None:
        before = len(self.acknowledged())
        eventually("more is acknowledged", lambda: len(self.acknowledged()) > before + 10)

    def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(300)

    def read_back(self) -> set[str]:
        command = [*DEVCLUSTER, "in", sys.executable, str(WRITER), "read", bootstrap(self.story), TOPIC]
        return set(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.split())


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
def load(story: Story, running: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    tool(story, "--create", "--topic", TOPIC, "--replica-assignment", "1:0:2,0:2:1")
    file = tmp_path_factory.mktemp("load") / "acknowledged"
    file.touch()
    command = [*DEVCLUSTER, "in", sys.executable, str(WRITER), "write", bootstrap(story), TOPIC, str(file)]
    found = Load(story, subprocess.Popen(command, stdin=subprocess.PIPE), file)
    try:
        found.goes_on()
        yield found
    finally:
        found.stop()


def test_a_pod_that_is_killed_comes_back_as_voter_and_as_broker(story: Story, load: Load) -> None:
    assert {each["role"] for each in story.resource()["status"]["nodes"]} == {"combined"}
    killed = story.delete_pod(pod_of(story, 1))
    story.await_pod(pod_of(story, 1), other_than=killed)
    eventually("it serves again", lambda: is_ready(story, 1), 300)
    load.goes_on()
    eventually("all are in sync again", lambda: whole(story), 300)
    story.await_ready()


def test_a_lost_disk_is_replaced_as_a_voter_and_as_a_broker_once(story: Story, load: Load) -> None:
    before = story.directories()[2]
    story.delete_claim(f"data-{pod_of(story, 2)}")
    story.delete_pod(pod_of(story, 2))
    eventually("a new directory", lambda: story.directories().get(2) not in (None, "", before), 300)
    eventually("all are in sync again", lambda: whole(story), 300)
    story.await_ready()
    assert story.voters()[2][0] == story.directories()[2] != before
    assert [(each["nodeID"], each["directoryID"]) for each in story.ledger()["writtenOff"]] == [(2, before)]
    load.goes_on()


def test_a_roll_restarts_every_node_below_the_producer(story: Story, load: Load) -> None:
    before = uids(story)
    story.apply(config={"broker": {**CONFIG["broker"], "replica.fetch.wait.max.ms": "400"}})
    eventually("every node is another pod", lambda: others_than(story, before), 400)
    story.await_ready()
    eventually("all are in sync again", lambda: whole(story), 300)
    load.goes_on()


def test_every_record_that_was_acknowledged_is_read_back(
    story: Story, load: Load, sampled: Callable[[str], None]
) -> None:
    load.stop()
    acknowledged = load.acknowledged()
    missing = acknowledged - load.read_back()
    sampled(f"{len(acknowledged)} records were acknowledged by combined nodes of {story.image}, {len(missing)} missing")
    assert len(acknowledged) > 100
    assert not missing


def test_one_secure_node_forms_is_restarted_and_gets_two_beside_it(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path: Path
) -> None:
    with kubernetes.namespace("op-combined-one") as namespace, operator(namespace, tmp_path, images, port=19621):
        story = Story(kubernetes, namespace, images("runtime"))
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
