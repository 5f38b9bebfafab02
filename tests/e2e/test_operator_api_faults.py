"""An operator whose way to the API server is bad all the while forms a quorum, replaces a lost voter and rolls it, and
takes no wrong step.

The operator is a process, the API server the real one, and between them is a proxy that refuses writes (409, 429, 500),
delays them past the operator's patience, performs them and forgets to answer, drops connections, shows old states and
cuts watches. Somebody starts the operator again whenever it ends, as a Deployment would: it has to end where it cannot
know whether it still acts alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.api_weather import READS, WRITES, Weather, weather
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, default_spec, eventually, operator, pool
from support.kubernetes.witness import Witness, witness

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]
PORT = 19800
SHARE = {"resources": {"requests": {"cpu": "250m"}}}
"""What has no share of the processors is starved by whatever else runs on the machine, and then the weather is not what
is told of.
"""
LIVES = 20
"""More would mean that the operator cannot live with such an API server."""


@pytest.fixture
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-weather") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@contextmanager
def kept_alive(story: Story, images: Images, folder: Path, sky: Weather) -> Iterator[list[int]]:
    """The operator behind the weather, started again whenever it ends; the list has the port of every life."""
    lives: list[int] = []
    ended = threading.Event()

    def keep() -> None:
        while not ended.is_set() and len(lives) < LIVES:
            lives.append(PORT + len(lives))
            with operator(story.namespace, folder, images, port=lives[-1], kubeconfig=sky.kubeconfig) as process:
                while not ended.wait(0.5) and not process.ended():
                    pass

    keeper = threading.Thread(target=keep, name="keeper")
    keeper.start()
    try:
        yield lives
    finally:
        ended.set()
        keeper.join()


@contextmanager
def logs_of_nodes_if_it_fails(story: Story) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for pod in sorted(story.pods()):
            print(pod, story.kubernetes.kubectl("-n", story.namespace, "logs", pod, "-c", "kafka", "--tail", "25"))
        raise


def test_whatever_the_api_server_does_no_step_is_wrong_and_none_is_left_out(
    story: Story, images: Images, tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    with ExitStack() as stack:
        sky = stack.enter_context(weather(run_seed))
        seen = stack.enter_context(witness(story))
        sky.turn_bad()
        lives = stack.enter_context(kept_alive(story, images, tmp_path, sky))
        stack.enter_context(logs_of_nodes_if_it_fails(story))
        story.apply(
            controllers={**default_spec(story.image)["controllers"], **SHARE}, brokerPools=[{**pool(1), **SHARE}]
        )
        story.await_ready()
        names = stack.enter_context(topic_client(story, "weathered", tmp_path))
        lost, before = a_voter_is_replaced(story)
        the_configuration_is_rolled(story)
        sky.clear()
        finished(story, lost, before)
        nothing_is_lost(story, names, len(names))
        assert_nothing_was_done_twice(seen, f"{story.name}-controller-{lost}-0")
        faults = sky.faults()
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(faults.items()))
        sampled(f"an operator behind an API server in bad weather (seed {run_seed}): {told}; {len(lives)} lives")
        assert set(faults) == {*READS, *WRITES, "watch cut"}
        assert len(lives) < LIVES


def a_voter_is_replaced(story: Story) -> tuple[int, str]:
    """One that does not lead loses its claim and its data."""
    leader = story.resource()["status"]["quorum"]["leaderID"]
    node_id = max(each for each in story.voters() if each != leader)
    before = story.voters()[node_id][0]
    story.delete_claim(f"data-{story.name}-controller-{node_id}-0")
    story.delete_pod(f"{story.name}-controller-{node_id}-0")

    def redundant() -> bool:
        now = story.voters()
        return len(now) == 3 and now[node_id][0] != before and {state for _, state in now.values()} == {"Live"}

    eventually("three live voters, one with a new directory", redundant)
    return node_id, before


def the_configuration_is_rolled(story: Story) -> None:
    before = {pod["metadata"]["uid"] for pod in story.pods().values()}
    story.apply(config={"common": {"num.io.threads": "4"}})

    def replaced() -> bool:
        now = {pod["metadata"]["uid"] for pod in story.pods().values()}
        return len(now) == len(before) and not now & before

    eventually("every pod is a new one", replaced)


def finished(story: Story, lost: int, before: str) -> None:
    """The state in which it ends in fair weather, too."""
    for kind in ("Ready", "QuorumRedundant", "MembershipSynced", "RolloutComplete", "StorageHealthy"):
        story.await_condition(kind, "True")
    eventually("the operator's journal is empty", lambda: story.ledger()["journal"] == [] or None)
    ledger = story.ledger()
    assert [(each["nodeID"], each["directoryID"]) for each in ledger["writtenOff"]] == [(lost, before)]
    assert sorted(story.voters()) == [0, 1, 2]
    assert {each["nodeID"]: each["directoryID"] for each in ledger["nodes"] if each["role"] == "controller"} == {
        node_id: directory for node_id, (directory, _) in story.voters().items()
    }
    assert set(story.pods()) == {
        f"{story.name}-{each}-0" for each in ("controller-0", "controller-1", "controller-2", "b-100")
    }


def assert_nothing_was_done_twice(seen: Witness, replaced: str) -> None:
    """One restart by the roll for each pod, and one more where the disk was lost; every disk formatted once, every
    directory on one disk.
    """
    restarts = seen.restarts()
    assert restarts.pop(replaced) in (2, 3)  # its first pod may still meet the claim that goes
    assert set(restarts.values()) == {1}, restarts
    assert [volume for volume, files in seen.formats.items() if len(files) != 1] == []
    assert len(seen.formats) == len(seen.pods) + 1
    assert [each for each, volumes in seen.directories().items() if not each or len(volumes) != 1] == []
