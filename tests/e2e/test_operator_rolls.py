"""Revisions that break what they touch, on a real Kubernetes: one node pays for it, and gets its old pod back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]

QUICK = {"readyTimeout": "20s"}


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-rolls") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("rolls")), images, port=19540) as process:
        story.apply(brokerPools=[pool(1)], rollout=QUICK)
        story.await_ready()
        eventually("both groups are known to run well", lambda: good_groups(story) == {"controller", "b"})
        yield process


def good_groups(story: Story) -> set[str]:
    return {each["group"] for each in story.ledger()["revisions"]["good"]}


def uids(story: Story) -> dict[str, str]:
    return {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}


def all_ready(story: Story) -> bool:
    pods = story.pods()
    for name, pod in pods.items():
        conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
        assert conditions.get("Ready") == "True", name
        assert "deletionTimestamp" not in pod["metadata"], name
    return len(pods) == 4


def whole_again(story: Story) -> bool:
    """Every pod ready, nothing left to restart: only that the resource asks for something bad is told."""
    found = story.condition("RolloutComplete")
    assert (found["reason"], story.condition("QuorumRedundant")["status"]) == ("BadRevision", "True"), found
    assert "waits" not in found["message"]
    assert "being restarted" not in found["message"]
    return all_ready(story)


def test_a_bad_image_costs_one_pod_and_is_rolled_back(
    story: Story, running: OperatorProcess, sampled: Callable[[str], None]
) -> None:
    before, directories = uids(story), story.directories()
    repository = story.image.rpartition(":")[0]
    story.apply(image={"repository": repository, "tag": "never-built"})
    found = story.await_condition("RolloutComplete", "False", "BadRevision")
    eventually("the cluster is whole on its old revision", lambda: whole_again(story))
    after = uids(story)
    changed = [name for name in before if before[name] != after[name]]
    assert len(changed) == 1, changed
    assert "-controller-" in changed[0]
    assert "ImagePull" in found["message"] or "ErrImage" in found["message"], found["message"]
    assert story.directories() == directories
    story.await_condition("Stalled", "True", "BadRevision", 30)
    assert [each["note"] for each in story.events("BadRevisionRolledBack")]
    images = {each["image"] for pod in story.pods().values() for each in pod["spec"]["containers"]}
    assert images == {story.image}
    sampled(f"a bad image: {changed[0]} alone was restarted, and returned")


def test_going_back_to_the_good_revision_restarts_nobody(story: Story, running: OperatorProcess) -> None:
    before = uids(story)
    repository, _, tag = story.image.rpartition(":")
    story.apply(image={"repository": repository, "tag": tag})
    story.await_ready()
    assert uids(story) == before


def test_properties_that_no_broker_can_read_cost_one_broker(story: Story, running: OperatorProcess) -> None:
    """The file of the last good revision comes back with the template: the pod's gate would wait for it otherwise."""
    before = uids(story)
    story.apply(config={"broker": {"replica.fetch.max.bytes": "plenty"}})
    story.await_condition("RolloutComplete", "False", "BadRevision")
    eventually("the cluster is whole on its old revision", lambda: whole_again(story))
    after = uids(story)
    assert [name for name in before if before[name] != after[name]] == [f"{story.name}-b-100-0"]
    (bad,) = [each for each in story.ledger()["revisions"]["bad"] if each["group"] == "b"]
    assert "replica.fetch.max.bytes" in bad["detail"], bad  # the cause outlives the pod that said it


def test_another_revision_is_tried_anew_and_reaches_every_broker(story: Story, running: OperatorProcess) -> None:
    before = uids(story)
    story.apply(config={"broker": {"replica.fetch.max.bytes": "2097152"}})
    story.await_condition("RolloutComplete", "True")
    story.await_ready()
    after = uids(story)
    assert [name for name in before if before[name] != after[name]] == [f"{story.name}-b-100-0"]
    assert "b" not in {each["group"] for each in story.ledger()["revisions"]["bad"]}
