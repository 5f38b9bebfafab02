"""What the operator refuses or waits for, with a condition that names the culprit and the remedy: no node has to run
for these.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import CLAIM, CONFIG_MAP, STATEFUL_SET, STORAGE_CLASS
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ONE = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
NOWHERE = {"nodeSelector": {"kubernetes.io/hostname": "there-is-no-such-node"}}


@pytest.fixture(scope="module")
def namespace(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[str]:
    with kubernetes.namespace("op-refuse") as name:
        yield name


@pytest.fixture(scope="module")
def running(namespace: str, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19521) as process:
        yield process


@pytest.fixture
def story(
    kubernetes: Kubernetes, namespace: str, images: Images, running: OperatorProcess, request: pytest.FixtureRequest
) -> Iterator[Story]:
    name = f"t{abs(hash(request.node.name)) % 10**6}"
    found = Story(kubernetes, namespace, images("runtime"), name)
    yield found
    kubernetes.kubectl("-n", namespace, "delete", "krc", name, "--ignore-not-found", "--wait=false")


def unscheduled(**more: object) -> dict[str, object]:
    return {**ONE, "pod": NOWHERE, **more}


def test_adopt_only_without_anything_to_adopt_makes_nothing(story: Story) -> None:
    story.apply(bootstrap={"policy": "AdoptOnly"})
    found = story.await_condition("Stalled", "True", "NothingToAdopt", 60)
    assert "spec.bootstrap.policy" in found["message"]
    gateway = story.kubernetes.gateway
    selector = f"kraft.quorate.dev/cluster={story.name}"
    assert gateway.list(STATEFUL_SET, story.namespace, selector) == ()
    assert gateway.find(CONFIG_MAP, story.namespace, f"{story.name}-ledger") is None


def test_an_image_that_does_not_exist_is_named_with_the_remedy(story: Story) -> None:
    story.apply(image={"repository": "localhost/no-such-image", "tag": "1"}, controllers=ONE, brokerPools=[])
    found = story.await_condition("PodsHealthy", "False", seconds=240)
    assert found["reason"] in ("ErrImagePull", "ImagePullBackOff")
    assert f"{story.name}-controller-0-0/format" in found["message"]
    assert "spec.image" in found["message"]
    assert story.condition("Ready")["status"] == "False"


def test_a_pod_that_no_node_takes_is_named(story: Story) -> None:
    story.apply(controllers=unscheduled(), brokerPools=[])
    found = story.await_condition("PodsHealthy", "False", "Unschedulable", 60)
    assert "nodeSelector" in found["message"]


def test_a_class_that_does_not_exist_is_named_until_somebody_makes_it(story: Story) -> None:
    storage = {"size": "1Gi", "storageClassName": f"fats-{story.name}"}
    story.apply(controllers=unscheduled(storage=storage), brokerPools=[])
    found = story.await_condition("StorageHealthy", "False", "VolumeClassMissing", 60)
    assert f"storage class fats-{story.name}" in found["message"]
    assert f"claim data-{story.name}-controller-0-0 waits" in found["message"]
    gateway = story.kubernetes.gateway
    some = gateway.get(STORAGE_CLASS, None, "standard")
    made = {"metadata": {"name": f"fats-{story.name}"}}
    made |= {key: some[key] for key in ("provisioner", "reclaimPolicy", "volumeBindingMode") if key in some}
    gateway.create(STORAGE_CLASS, None, made)
    try:
        story.await_condition("StorageHealthy", "True", seconds=120)
    finally:
        story.kubernetes.kubectl("delete", "storageclass", f"fats-{story.name}")


def test_suspended_changes_nothing_until_it_runs_again(story: Story) -> None:
    story.apply(controllers=unscheduled(), brokerPools=[], lifecycle={"state": "Suspended"})
    story.await_condition("Suspended", "True", seconds=60)
    selector = f"kraft.quorate.dev/cluster={story.name}"
    time.sleep(3)
    assert story.kubernetes.gateway.list(STATEFUL_SET, story.namespace, selector) == ()
    story.apply(lifecycle={"state": "Running"})
    eventually("a StatefulSet", lambda: story.kubernetes.gateway.list(STATEFUL_SET, story.namespace, selector), 60)


def test_a_ledger_that_was_tampered_with_stops_everything(story: Story) -> None:
    story.apply(controllers=unscheduled(), brokerPools=[])
    story.await_condition("PodsHealthy", "False", "Unschedulable", 60)
    change = '{"data":{"ledger.json":"{}"}}'
    story.kubernetes.kubectl(
        "-n", story.namespace, "patch", "configmap", f"{story.name}-ledger", "--type=merge", "-p", change
    )
    found = story.await_condition("Stalled", "True", "LedgerCorrupt", 60)
    assert f"{story.name}-ledger" in found["message"]


def test_a_claim_that_bears_another_clusters_identity_is_never_bootstrapped_over(story: Story) -> None:
    """The ledger is gone, the claim is marked: the cluster is that one, formed, and its empty disk is not formatted."""
    marks = {"cluster-id": "QUJDREVGR0hJSktMTU5PUA", "node-id": "0", "directory-id": "UVJTVFVWV1hZWmFiY2RlZg"}
    labels = {"cluster": story.name, "role": "controller", "pool": "controller", "node-id": "0"}
    meta = {
        "name": f"data-{story.name}-controller-0-0",
        "annotations": {f"kraft.quorate.dev/{key}": value for key, value in marks.items()},
        "labels": {f"kraft.quorate.dev/{key}": value for key, value in labels.items()},
    }
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    story.kubernetes.gateway.create(CLAIM, story.namespace, {"metadata": meta, "spec": spec})
    story.apply(controllers=ONE, brokerPools=[])

    def refused() -> str:
        """Said by the guard at first; once the operator has seen as much, by the voter that is lost."""
        found = story.condition("StorageHealthy")
        assert (found["status"], found["reason"] in ("FormatRefused", "DiskLost")) == ("False", True), found
        return str(found["message"])

    assert marks["directory-id"] in eventually("the empty disk is not formatted", refused, 180)
    ledger = story.ledger()
    assert (ledger["clusterID"], ledger["origin"], ledger["formation"]) == (marks["cluster-id"], "Rebuilt", "Formed")


def test_claims_that_contradict_each_other_are_an_adoption_conflict(story: Story) -> None:
    for node_id, cluster_id in ((0, "QUJDREVGR0hJSktMTU5PUA"), (1, "UVJTVFVWV1hZWmFiY2RlZg")):
        marks = {"cluster-id": cluster_id, "node-id": str(node_id), "directory-id": cluster_id}
        labels = {"cluster": story.name, "role": "controller", "pool": "controller", "node-id": str(node_id)}
        meta = {
            "name": f"data-{story.name}-controller-{node_id}-0",
            "annotations": {f"kraft.quorate.dev/{key}": value for key, value in marks.items()},
            "labels": {f"kraft.quorate.dev/{key}": value for key, value in labels.items()},
        }
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        story.kubernetes.gateway.create(CLAIM, story.namespace, {"metadata": meta, "spec": spec})
    story.apply()
    story.await_condition("Stalled", "True", "AdoptionConflict", 60)
    assert not story.pods()


def test_a_pool_may_grow_while_pods_wait_and_the_resource_says_for_whom(story: Story) -> None:
    story.apply(controllers=unscheduled(), brokerPools=[{**pool(1), "pod": NOWHERE}])
    story.await_condition("PodsHealthy", "False", "Unschedulable", 60)
    story.apply(brokerPools=[{**pool(2), "pod": NOWHERE}])
    eventually("a second broker", lambda: f"{story.name}-b-101-0" in story.pods(), 60)
