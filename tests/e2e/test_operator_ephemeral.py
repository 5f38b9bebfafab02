"""A cluster whose disks go with their pods, of either kind, under a client that never stops: a lost pod is a lost disk
that is replaced, a roll takes one after the other, and nothing that was acknowledged is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import CLAIM
from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, default_spec, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]
EPHEMERAL = {"type": "Ephemeral", "size": "1Gi"}


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, resource_definition: None, images: Images
) -> Iterator[Story]:
    with kubernetes.namespace("op-ephemeral") as namespace:
        yield Story(kubernetes, namespace, images(request.param))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    folder, port = Path(tmp_path_factory.mktemp("ephemeral")), 19650 + ("apache-kafka" in story.image)
    with operator(story.namespace, folder, images, port=port) as process:
        controllers = {**default_spec(story.image)["controllers"], "storage": EPHEMERAL}
        pools = [{**pool(2), "storage": EPHEMERAL}]
        story.apply(controllers=controllers, brokerPools=pools, deletionPolicy={"volumes": "Delete"})
        story.await_ready()
        yield process


def pods(story: Story) -> dict[int, str]:
    """Node ids to the UIDs of their pods."""
    return {int(name.split("-")[-2]): pod["metadata"]["uid"] for name, pod in story.pods().items()}


def live(story: Story) -> dict[int, str]:
    """The voters' directories, once all three of them are live."""
    voters = story.voters()
    assert [state for _, state in voters.values()] == ["Live"] * 3, voters
    return {node_id: directory for node_id, (directory, _) in voters.items()}


def test_no_claim_is_made_and_the_resource_tells_of_the_risk(story: Story, running: OperatorProcess) -> None:
    assert story.kubernetes.gateway.list(CLAIM, story.namespace) == ()
    (risk,) = story.resource()["status"]["risks"]
    assert "a lost pod of controller, b is a lost disk" in risk
    assert {each["nodeID"]: each["pvcUID"] for each in story.ledger()["nodes"]} == pods(story)


def test_a_lost_pod_of_a_voter_is_a_lost_disk_that_is_replaced(
    story: Story, running: OperatorProcess, tmp_path: Path
) -> None:
    before, leader = story.directories(), story.resource()["status"]["quorum"]["leaderID"]
    node_id = max(each for each in live(story) if each != leader)
    with topic_client(story, "lost", tmp_path) as names:
        count = len(names)
        story.delete_pod(f"{story.name}-controller-{node_id}-0")

        def replaced() -> bool:
            return live(story).get(node_id) not in (None, before[node_id])

        eventually("three live voters, one with a new directory", replaced)
        nothing_is_lost(story, names, count)
    after = story.directories()
    assert {each for each in after if after[each] != before[each]} == {node_id}
    assert [each["directoryID"] for each in story.ledger()["writtenOff"]] == [before[node_id]]


def test_a_roll_takes_one_disk_after_the_other(story: Story, running: OperatorProcess, tmp_path: Path) -> None:
    story.await_ready()
    before = story.directories()
    with topic_client(story, "rolled", tmp_path) as names:
        count = len(names)
        story.apply(config={"controller": {"num.io.threads": "4"}})

        def rolled() -> bool:
            return not set(live(story).values()) & set(before.values())

        eventually("three live voters, all with new directories", rolled, 900)
        nothing_is_lost(story, names, count)
    story.await_ready()
    after = story.directories()
    assert {each for each in after if after[each] != before[each]} == {0, 1, 2}
