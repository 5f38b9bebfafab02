"""The guards in real pods: how long a grant takes, a start without any operator, a disk emptied under a living cluster.

One controller and one broker of our own runtime, one story in order. `saboteur` mounts a node's volume beside the node,
so that the disk changes in place and the pod that waits for it is still there when its content comes back.
(`test_operator_disks` changes disks that no pod uses.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import CLAIM, POD
from storage_guard.formats import GRANT_ANNOTATION, DiskVerdict, Report
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Story, eventually, operator
from support.kubernetes.saboteur import saboteur

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

CONTROLLER, BROKER = "s-controller-0-0", "s-b-100-0"


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """A running cluster; the operator is stopped when it is handed over."""
    storage = {"size": "256Mi"}
    spec = {
        "image": {"reference": images("runtime")},
        "controllers": {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": storage},
        "brokerPools": [{"name": "b", "replicas": 1, "nodeIdRange": {"start": 100, "end": 109}, "storage": storage}],
    }
    with kubernetes.namespace("storage") as namespace:
        story = Story(kubernetes, namespace, images("runtime"), "s", spec)
        with operator(namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19540):
            story.apply()
            story.await_ready()
            eventually("the ledger knows all disks", lambda: all(story.directories().values()), 60)
        yield story


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    status = pod["status"]
    every = status.get("initContainerStatuses", []) + status.get("containerStatuses", [])
    return next((each["state"] for each in every if each["name"] == name), {})


def report(story: Story, pod: str, step: str) -> Report | None:
    ended = container(story.kubernetes.gateway.get(POD, story.namespace, pod), step).get("terminated")
    return Report.from_json(ended["message"]) if ended else None


def is_ready(story: Story, pod: str) -> bool:
    conditions = story.kubernetes.gateway.get(POD, story.namespace, pod)["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def await_pod_ready(story: Story, pod: str) -> None:
    eventually(f"{pod} is ready", lambda: is_ready(story, pod))


def restart(story: Story, pod: str) -> None:
    gone = story.delete_pod(pod)
    story.await_pod(pod, other_than=gone)


def held(story: Story, pod: str, words: str) -> Report:
    """The gate waits for this reason; what `inspect` saw."""
    kubectl = story.kubernetes.kubectl

    def waits() -> Report | None:
        found = story.kubernetes.gateway.get(POD, story.namespace, pod)
        assert "running" in container(found, "gate"), found["status"].get("initContainerStatuses")
        assert words in kubectl("-n", story.namespace, "logs", pod, "-c", "gate")
        return report(story, pod, "inspect")

    return eventually(f"the gate of {pod} waits: {words}", waits)


def test_from_the_grant_to_the_formatting_takes_a_moment(story: Story, sampled: Callable[[str], None]) -> None:
    for name in (CONTROLLER, BROKER):
        pod = story.kubernetes.gateway.get(POD, story.namespace, name)
        granted = next(
            each["time"]
            for each in pod["metadata"]["managedFields"]
            if "f:kraft.quorate.dev/grant" in each["fieldsV1"].get("f:metadata", {}).get("f:annotations", {})
        )
        began = container(pod, "format")["terminated"]["startedAt"]
        took = datetime.fromisoformat(began) - datetime.fromisoformat(granted)
        sampled(f"grant to format of {name}: {took.total_seconds():.0f} s (resolution 1 s)")
        assert container(pod, "gate")["terminated"]["exitCode"] == 0
        assert pod["status"]["initContainerStatuses"][1]["restartCount"] == 0


def test_healthy_pods_come_back_while_no_operator_runs(story: Story) -> None:
    before = story.directories()
    for name in (CONTROLLER, BROKER):
        restart(story, name)
    for name, node_id in ((CONTROLLER, 0), (BROKER, 100)):
        await_pod_ready(story, name)
        gate, seal = report(story, name, "gate"), report(story, name, "seal")
        assert gate is not None
        assert seal is not None
        assert gate.reason == "Start"
        assert seal.directory_id == before[node_id]


def test_a_disk_emptied_in_place_is_refused_and_taken_back_when_its_content_returns(
    story: Story, images: Images, tmp_path: Path
) -> None:
    before, claim = story.directories(), f"data-{BROKER}"
    with (
        saboteur(story.kubernetes, story.namespace, claim, images("operator")) as beside,
        operator(story.namespace, tmp_path, images, port=19541),
    ):
        copy = beside.take()
        beside.empty()
        restart(story, BROKER)
        found = held(story, BROKER, "waiting: FormatRefused: ")
        assert (found.verdict, found.reason) == (DiskVerdict.EMPTY, "DiskLost")
        condition = story.await_condition("StorageHealthy", "False", "DataLossPending")
        assert condition["message"].startswith("broker 100: put the volume back")
        assert before[100] in condition["message"]
        eventually("an Event tells it", lambda: story.events("DataLossPending"), 60)
        waiting = story.kubernetes.gateway.get(POD, story.namespace, BROKER)
        assert GRANT_ANNOTATION not in (waiting["metadata"].get("annotations") or {})
        beside.put(copy)
        await_pod_ready(story, BROKER)
        story.await_condition("StorageHealthy", "True")
    assert story.directories() == before
    seal = report(story, BROKER, "seal")
    assert seal is not None
    assert seal.directory_id == before[100]


def test_a_claim_replaced_between_inspect_and_grant_gets_no_grant(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path: Path
) -> None:
    """The operator is frozen after it journaled the grant; meanwhile pod and claim are replaced by others of the same
    names.
    """
    pod, one = "p-controller-0-0", {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "256Mi"}}
    with kubernetes.namespace("storage-claim") as namespace:
        story = Story(kubernetes, namespace, images("runtime"), "p")
        journaled = "after_journal.grant=stop"
        with operator(namespace, tmp_path, images, port=19542, failpoints=journaled, lease="300 240 2") as process:
            story.apply(controllers=one, brokerPools=[])
            eventually("the operator froze with the grant in its journal", process.frozen)
            granted = story.ledger()["nodes"][0]["grant"]
            story.delete_claim(f"data-{pod}")
            gone = story.delete_pod(pod)
            story.await_pod(pod, other_than=gone)
            eventually("the new pod's disk is inspected", lambda: report(story, pod, "inspect"))
            claim = kubernetes.gateway.get(CLAIM, namespace, f"data-{pod}")
            assert claim["metadata"]["uid"] != granted["pvcUID"]
            process.thaw()
            refused = story.await_condition("StorageHealthy", "False", "FormatRefused")
            assert claim["metadata"]["uid"] in refused["message"]
            waiting = kubernetes.gateway.get(POD, namespace, pod)
            assert GRANT_ANNOTATION not in waiting["metadata"]["annotations"]
            assert "running" in container(waiting, "gate")
