"""What happens to real volumes behind the operator's back: an old copy restored, two disks exchanged, one emptied in
place, a ledger lost.

The disks are changed while no pod uses them. Every time the node stays in its init containers, the reason reaches the
conditions, and no disk is formatted; the others go on as long as they are a majority.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import CLAIM, VOLUME
from storage_guard.formats import Report
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]

GRANT = "kraft.quorate.dev/grant"


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    if kubernetes.context is not None:
        pytest.skip("the disks of another cluster are out of reach")
    with kubernetes.namespace("op-disks") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19531) as process:
        story.apply(brokerPools=[], recoveryPolicy={"lostDisk": "Report"})
        story.await_ready()
        yield process


def disk(story: Story, node_id: int) -> Path:
    """Where a controller's volume lies on this machine."""
    gateway = story.kubernetes.gateway
    claim = gateway.get(CLAIM, story.namespace, f"data-{story.name}-controller-{node_id}-0")
    return Path(gateway.get(VOLUME, None, claim["spec"]["volumeName"])["spec"]["local"]["path"])


def stop(story: Story) -> None:
    story.delete()
    eventually("all pods are gone", lambda: not story.pods())


def start(story: Story) -> None:
    story.apply()


def copy(one: Path, other: Path) -> None:
    """With owners and times."""
    subprocess.run(["cp", "-a", str(one), str(other)], check=True)


def exchange(one: Path, other: Path) -> None:
    aside = one.with_name(one.name + ".aside")
    shutil.move(one, aside)
    shutil.move(other, one)
    shutil.move(aside, other)


def found_at_the_start(story: Story, node_id: int) -> tuple[int, int]:
    """Epoch and end of the log that a controller's pod had when it started."""
    steps = story.pods()[f"{story.name}-controller-{node_id}-0"]["status"]["initContainerStatuses"]
    ended = next(each["state"]["terminated"] for each in steps if each["name"] == "inspect")
    report = Report.from_json(ended["message"])
    assert report.last_epoch is not None
    assert report.log_end_offset is not None
    return report.last_epoch, report.log_end_offset


def known_to_the_ledger(story: Story, node_id: int) -> tuple[int, int]:
    """Up to which epoch and offset the log of a controller has been seen."""
    entry = next(each for each in story.ledger()["nodes"] if each["nodeID"] == node_id)
    return entry.get("minEpoch", 0), entry.get("minOffset", 0)


def ungranted(story: Story, node_id: int) -> bool:
    pod = story.pods()[f"{story.name}-controller-{node_id}-0"]
    return GRANT not in (pod["metadata"].get("annotations") or {})


def test_an_old_copy_of_a_disk_is_refused_and_the_others_go_on(story: Story, running: OperatorProcess) -> None:
    stop(story)
    old = disk(story, 0).with_name("old-" + disk(story, 0).name)
    copy(disk(story, 0), old)
    start(story)
    story.await_ready()
    copied = found_at_the_start(story, 0)
    gone = story.delete_pod(f"{story.name}-controller-0-0")  # its log has grown
    story.await_pod(f"{story.name}-controller-0-0", other_than=gone)
    eventually("the ledger hears of it", lambda: known_to_the_ledger(story, 0) > copied)
    story.await_ready()
    stop(story)
    exchange(disk(story, 0), old)
    start(story)
    found = story.await_condition("StorageHealthy", "False", "DiskLost")
    assert "an old copy" in found["message"]
    assert f"{story.name}-controller-0-0" in found["message"]
    eventually("a quorum of the others", lambda: story.resource()["status"]["quorum"]["state"] == "Available")
    assert ungranted(story, 0)
    stop(story)
    exchange(disk(story, 0), old)
    start(story)
    story.await_ready()
    shutil.rmtree(old)


def test_two_exchanged_disks_are_foreign(story: Story, running: OperatorProcess) -> None:
    before = story.directories()
    stop(story)
    exchange(disk(story, 1), disk(story, 2))
    start(story)
    found = story.await_condition("StorageHealthy", "False", "ForeignVolume")
    eventually("both are named", lambda: all(f"controller-{each}-0" in refusal(story) for each in (1, 2)), 120)
    assert "node 1" in found["message"] or "node 2" in found["message"]
    assert ungranted(story, 1)
    assert ungranted(story, 2)
    stop(story)
    exchange(disk(story, 1), disk(story, 2))
    start(story)
    story.await_ready()
    assert story.directories() == before


def refusal(story: Story) -> str:
    return str(story.condition("StorageHealthy")["message"])


def test_a_disk_emptied_in_place_is_not_formatted_again(story: Story, running: OperatorProcess) -> None:
    before = story.directories()
    stop(story)
    here = disk(story, 2)
    aside = here.with_name("aside-" + here.name)
    copy(here, aside)
    for path in here.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    start(story)
    found = story.await_condition("StorageHealthy", "False", "DiskLost")
    assert before[2] in found["message"]
    eventually("a quorum of the others", lambda: story.resource()["status"]["quorum"]["state"] == "Available")
    assert list(here.iterdir()) == []
    stop(story)
    exchange(here, aside)
    start(story)
    story.await_ready()
    shutil.rmtree(aside)
    assert story.directories() == before


def test_data_that_neither_ledger_nor_claims_know_is_an_adoption_conflict(
    story: Story, running: OperatorProcess
) -> None:
    stop(story)
    story.lose_ledger()
    keys = ("cluster-id", "node-id", "directory-id", "nonce", "pvc-uid", "memory")
    nothing = json.dumps({"metadata": {"annotations": {f"kraft.quorate.dev/{key}": None for key in keys}}})
    for node_id in (0, 1, 2):
        claim = f"data-{story.name}-controller-{node_id}-0"
        story.kubernetes.kubectl("-n", story.namespace, "patch", "pvc", claim, "--type=merge", "-p", nothing)
    start(story)
    story.await_condition("StorageHealthy", "False", "AdoptionConflict")
    assert all((disk(story, each) / "log" / "meta.properties").exists() for each in (0, 1, 2))
    assert story.ledger()["formation"] == "NotStarted"
    assert all(ungranted(story, each) for each in (0, 1, 2))
