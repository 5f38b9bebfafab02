"""A quorum that loses its majority in the middle of the way from plaintext to secure, on a real Kubernetes: the way
waits for the recovery and says so, what is made anew is at the stage at which the cluster was, and the way goes on.

The quorum is lost in the roll of stage Turned: one controller has the secure listener as its default already, two do
not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from kraft_operator.kube import OPERATION
from kraft_operator.plugin.recover import recover
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Object, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

BIN: Final = "/opt/kafka/bin"
NODES: Final = {0, 1, 2}
MIGRATING: Final = {"tls": {"mode": "Migrating", "migration": {"quiet": "5s"}}}


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-lost-on-the-way") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19720) as process:
        story.apply(brokerPools=[pool(1)], recoveryPolicy={"debounce": "2s"})
        story.await_ready()
        yield process


def topics(story: Story, *words: str) -> str:
    command = (f"{BIN}/kafka-topics.sh", "--bootstrap-server", f"{story.name}-bootstrap:9092", *words)
    pod = f"{story.name}-b-100-0"
    return story.kubernetes.kubectl("-n", story.namespace, "exec", pod, "-c", "kafka", "--", *command)


def way(story: Story) -> Object:
    return dict(story.resource()["status"].get("tlsMigration") or {})


def reached(story: Story, stage: str) -> bool:
    told = way(story)
    assert told.get("stage") == stage, told
    return True


def controllers(story: Story) -> dict[int, Object]:
    prefix = f"{story.name}-controller-"
    return {int(name.split("-")[-2]): pod for name, pod in story.pods().items() if name.startswith(prefix)}


def one_has_turned(story: Story) -> int:
    """The first controller that was restarted and serves since the stage was entered, while the others were not."""
    before: dict[int, str] = {}

    def one() -> set[int]:
        stage = way(story).get("stage")
        now = {node: str(pod["metadata"]["uid"]) for node, pod in controllers(story).items()}
        if stage != "Turned":
            before.update(now)
        anew = {node for node, uid in now.items() if uid != before[node]}
        assert anew, (stage, now)
        assert all(state == "Live" for _, state in story.voters().values()), story.voters()
        return anew

    (turned,) = eventually("a controller has turned", one)
    return turned


def listeners_of_voters(story: Story) -> dict[int, set[str]]:
    """As the log names them."""
    tool, plaintext = f"{BIN}/kafka-metadata-quorum.sh", "localhost:9093"
    told = story.kafka(tool, "--bootstrap-controller", plaintext, "describe", "--status")
    line = next(each for each in told.splitlines() if each.startswith("CurrentVoters:"))
    voters = re.findall(r'"id": (\d+).*?"endpoints": \[(.*?)\]', line)
    return {int(node): set(re.findall(r'"(\w+)://', endpoints)) for node, endpoints in voters}


def ask(story: Story, approve: str | None = None) -> str:
    """`kubectl kraft recover`, by its function."""
    said: list[str] = []
    assert recover(story.kubernetes.gateway, story.namespace, story.name, approve, 420, said.append) == 0, said
    return "\n".join(said)


def test_a_quorum_that_is_lost_on_the_way_is_recovered_where_it_was_and_goes_on(
    story: Story, running: OperatorProcess, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """OPS-07."""
    for name in ("one", "two"):
        topics(story, "--create", "--topic", name, "--replica-assignment", "100")
    old = story.voters()
    story.apply(security=MIGRATING)
    turned = one_has_turned(story)
    survivor = random.Random(run_seed).choice(sorted(NODES))
    lost = sorted(NODES - {survivor})
    for node in lost:
        story.delete_claim(f"data-{story.name}-controller-{node}-0")
    for node in lost:
        story.delete_pod(f"{story.name}-controller-{node}-0")
    sampled(f"lost on the way: {turned} had turned, {survivor} survived")

    found = story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 240)
    assert f"kubectl kraft recover {story.name} -n {story.namespace}" in found["message"], "the remedy"
    ask(story)
    (asked,) = story.kubernetes.gateway.list(OPERATION, story.namespace)
    waits = story.await_condition("CertificatesValid", "True", "BecomesSecure", 60)
    assert waits["message"] == (
        f"Turned on the way to Replicating: KRaftOperation {asked['metadata']['name']} is carried out first"
    )
    assert story.condition("Secure")["reason"] == "Migrating"
    assert "Succeeded: generation" in ask(story, asked["status"]["verdict"]["hash"])

    eventually("the way goes on to where its owner lets it", lambda: reached(story, "Replicating"))
    story.await_ready()
    new = story.voters()
    assert {state for _, state in new.values()} == {"Live"}
    assert not {directory for directory, _ in new.values()} & {directory for directory, _ in old.values()}
    assert story.ledger()["generation"] == 2
    assert listeners_of_voters(story) == {node: {"CONTROLLER", "CONTROLLERTLS"} for node in NODES}
    assert {"one", "two"} <= set(topics(story, "--list").split())
    topics(story, "--create", "--topic", "three", "--replica-assignment", "100")
