"""A cluster that sleeps and wakes again and again while its operators and pods are killed, on a real Kubernetes:
nothing that was acknowledged goes.

Each round a topic is made, the resource says Hibernated, and then Running; in the middle of either, by the run's seed,
the operator is killed and another takes over, or a pod is.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from support import sampling
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.hanging import processes_of
from support.kubernetes.operator_process import Images, Story, eventually, pool
from support.kubernetes.succession import Succession, succession

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

ROUNDS = int(os.environ.get("QUORATE_SLEEPS", "20"))
"""As often as capability 16 says; fewer for a look."""


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-sleeps") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def operators(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Succession]:
    with succession(story.namespace, tmp_path_factory.mktemp("operators"), images, 19600) as found:
        story.apply(brokerPools=[pool(1)])
        story.await_ready()
        yield found


def topics(story: Story, *arguments: str) -> str:
    """Answers of Kafka's tool; a broker that has just woken up may need another call."""

    def said() -> str:
        try:
            at = f"{story.name}-bootstrap:9092"
            return story.kafka("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", at, *arguments) or "done"
        except Exception as error:
            raise AssertionError(str(error)) from error

    return eventually(f"kafka-topics {' '.join(arguments)}", said)


def kill_something(story: Story, operators: Succession, chance: random.Random) -> str:
    """All processes of a pod, or the operator, by SIGKILL: a moment after the edit, wherever that is on the way. Gives
    the pod's name, or nothing.
    """
    time.sleep(chance.uniform(0, 4))
    pods = story.pods()
    if pods and chance.random() < 0.5:
        name = chance.choice(sorted(pods))
        if kill_pod(pods[name]["metadata"]["uid"]):
            return name
    operators.kill()
    return ""


def kill_pod(uid: str) -> bool:
    """Whether anything of it was still there to be killed."""
    killed = False
    for pid in processes_of(uid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed = True
    return killed


def test_a_cluster_sleeps_and_wakes_twenty_times_under_kills_and_keeps_all_it_acknowledged(
    story: Story, operators: Succession, sampled: Callable[[str], None]
) -> None:
    chance = random.Random(sampling.run_seed())
    directories, cluster_id = story.directories(), story.ledger()["clusterID"]
    made: list[str] = []
    killed: list[str] = []
    for number in range(ROUNDS):
        name = f"night-{number}"
        topics(story, "--create", "--if-not-exists", "--topic", name, "--replica-assignment", "100")
        made.append(name)
        story.apply(lifecycle={"state": "Hibernated"})
        killed.append(kill_something(story, operators, chance))
        story.await_condition("Hibernated", "True", "Hibernated")
        assert not story.pods()
        assert (story.directories(), story.ledger()["clusterID"]) == (directories, cluster_id)
        story.apply(lifecycle={"state": "Running"})
        killed.append(kill_something(story, operators, chance))
        story.await_ready()
        assert set(made) <= set(topics(story, "--list").split()), f"after round {number}, killed: {killed}"
        eventually("three live voters", lambda: story.resource()["status"]["quorum"].get("live") == 3)
    assert (story.directories(), story.ledger()["clusterID"]) == (directories, cluster_id)
    assert not story.ledger().get("writtenOff")
    sampled(f"{ROUNDS} nights, killed on the way: {len(operators.died_at)} operators and {sum(map(bool, killed))} pods")
