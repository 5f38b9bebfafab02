"""Disks of voters that are lost while a client changes the metadata without pause: nothing acknowledged is lost,
whatever happens to the disk.

Deleted with its claim, emptied in place, or an older copy put there: the quorum bears it, so the voter is replaced. Two
disks exchanged: two of three voters are gone, so nothing is formatted and nothing removed; put back, all is there. (A
lost Kubernetes node is told in `test_operator_node_lost`.)
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kraft_operator import pod_facts
from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool
from support.kubernetes.saboteur import saboteur

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

SECONDS = 60
"""Until redundant again, counted from the loss, on a quiet machine; a test waits for longer and prints what it saw."""


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-lost") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19595) as process:
        story.apply(brokerPools=[pool(1)])
        story.await_ready()
        yield process


def a_follower(story: Story) -> int:
    leader = story.resource()["status"]["quorum"]["leaderID"]
    return max(each for each in story.voters() if each != leader)


def told(story: Story) -> str:
    """What the operator says is wrong, and what it knows of its nodes."""
    conditions = story.resource()["status"]["conditions"]
    wrong = [f"{it['type']} {it['reason']}: {it['message']}" for it in conditions if it["status"] == "False"]
    return f"{wrong}; {story.ledger()['nodes']}"


def redundant_again(
    story: Story, node_id: int, before: str, began: float, sampled: Callable[[str], None], what: str
) -> None:
    def redundant() -> bool:
        now = story.voters()
        is_whole = len(now) == 3 and [state for _, state in now.values()] == ["Live"] * 3
        assert is_whole and now[node_id][0] != before, f"{now}, {before} was lost; {told(story)}"
        return True

    eventually("three live voters, one with a new directory", redundant, 4 * SECONDS)
    sampled(f"{what}: redundant again after {time.monotonic() - began:.0f} s")
    assert before in {each["directoryID"] for each in story.ledger()["writtenOff"]}


def restarted(story: Story, node_id: int, name: str, directory: str) -> int:
    """Its pod is a new one and runs. Where its log ended at that start; the ledger has heard of it."""
    gone = story.delete_pod(name)
    story.await_pod(name, other_than=gone)

    def told_end() -> int | None:
        report = pod_facts.pod(story.pods()[name], node_id).inspect
        return report.log_end_offset if report is not None else None

    end = eventually("the guard tells where the log ends", told_end)

    def is_heard_of() -> bool:
        entry = next(each for each in story.ledger()["nodes"] if each["nodeID"] == node_id)
        return bool(entry.get("minOffset", 0) >= end)

    eventually("the ledger has heard of it", is_heard_of)
    eventually("it runs", lambda: pod_facts.pod(story.pods()[name], node_id).ready)
    eventually("it is a live voter again", lambda: story.voters()[node_id] == (directory, "Live"))
    return end


@contextmanager
def stopped(story: Story, name: str) -> Iterator[None]:
    """Its pod has ended, and the next one waits: where its volume is, nothing is scheduled meanwhile. A node that runs
    ends when its files change, and its container is started again without the guard, which looks once for each pod.
    """
    host = story.pods()[name]["spec"]["nodeName"]
    story.kubernetes.kubectl("cordon", host)
    try:
        gone = story.delete_pod(name)

        def waits() -> bool:
            pod = story.pods()[name]
            return pod["metadata"]["uid"] != gone and not pod["spec"].get("nodeName")

        eventually("the next pod waits", waits)
        yield
    finally:
        story.kubernetes.kubectl("uncordon", host)


def test_a_deleted_claim_and_its_data_are_replaced(
    story: Story, running: OperatorProcess, sampled: Callable[[str], None], tmp_path: Path
) -> None:
    node_id = a_follower(story)
    before = story.voters()[node_id][0]
    name = f"{story.name}-controller-{node_id}-0"
    data = story.disk(node_id)
    with topic_client(story, "deleted", tmp_path) as names:
        count, began = len(names), time.monotonic()
        story.delete_claim(f"data-{name}")
        story.delete_pod(name)
        redundant_again(story, node_id, before, began, sampled, "a claim deleted with its data")
        nothing_is_lost(story, names, count)
    assert story.disk(node_id) != data
    eventually("its data is gone", lambda: not data.exists(), 60)
    story.await_ready()


def test_a_disk_emptied_in_place_is_replaced(
    story: Story, running: OperatorProcess, images: Images, sampled: Callable[[str], None], tmp_path: Path
) -> None:
    node_id = a_follower(story)
    before = story.voters()[node_id][0]
    name = f"{story.name}-controller-{node_id}-0"
    with topic_client(story, "emptied", tmp_path) as names:
        with saboteur(story.kubernetes, story.namespace, f"data-{name}", images("operator")) as beside:
            count, began = len(names), time.monotonic()
            beside.empty()
            story.delete_pod(name)
        redundant_again(story, node_id, before, began, sampled, "a disk emptied in place")
        nothing_is_lost(story, names, count)
    story.await_ready()


def test_an_older_copy_of_a_disk_is_never_started_and_the_voter_is_replaced(
    story: Story, running: OperatorProcess, images: Images, sampled: Callable[[str], None], tmp_path: Path
) -> None:
    node_id = a_follower(story)
    before = story.voters()[node_id][0]
    name = f"{story.name}-controller-{node_id}-0"
    with topic_client(story, "copied", tmp_path) as names:
        with saboteur(story.kubernetes, story.namespace, f"data-{name}", images("operator")) as beside:
            copy = beside.take()
            end = restarted(story, node_id, name, before)  # its log goes on, and the ledger hears how far it got
            count = len(names)
            eventually("much is written after the copy", lambda: len(names) > count + 20)
            assert restarted(story, node_id, name, before) > end
            with stopped(story, name):
                count, began = len(names), time.monotonic()
                beside.put(copy)
        redundant_again(story, node_id, before, began, sampled, "an older copy restored")
        nothing_is_lost(story, names, count)
    story.await_ready()


def test_two_exchanged_disks_stop_the_quorum_and_are_refused_until_they_are_put_back(
    story: Story, running: OperatorProcess, tmp_path: Path
) -> None:
    pair = sorted(story.voters())[:2]
    before = story.directories()
    with topic_client(story, "exchanged", tmp_path) as names:
        exchange(story, *pair)
        found = story.await_condition("StorageHealthy", "False", "ForeignVolume")
        assert re.search(r"the directory is of node [01], not [01]|swap the volumes", found["message"]), found[
            "message"
        ]
        story.await_condition("QuorumAvailable", "Unknown")  # two do not answer, and that is no proof of anything
        assert story.directories() == before
        count = len(names)
        exchange(story, *pair)
        eventually("three live voters", lambda: [state for _, state in story.voters().values()] == ["Live"] * 3)
        nothing_is_lost(story, names, count)
    assert story.directories() == before
    story.await_ready()


def exchange(story: Story, one: int, other: int) -> None:
    """Behind their claims, under the running pods; then both are started anew."""
    first, second = story.disk(one), story.disk(other)
    aside = first.with_name(first.name + ".aside")
    shutil.move(first, aside)
    shutil.move(second, first)
    shutil.move(aside, second)
    for node_id in (one, other):
        story.delete_pod(f"{story.name}-controller-{node_id}-0")
