"""One cluster, its stories on a real Kubernetes: clients outside of it, volumes that grow under running pods, and
evictions that are counted.

The probes are TCP, so that a node whose process hangs stays Ready: what the disruption budget must count is what the
quorum can lose, not what a kubelet sees.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import (
    CLAIM,
    DISRUPTION_BUDGET,
    POD,
    SERVICE,
    STATEFUL_SET,
    STORAGE_CLASS,
    Conflict,
    TooManyRequests,
)
from support.kubernetes.balancer import balancer
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.hanging import hanging
from support.kubernetes.operator_process import Images, OperatorProcess, Story, default_spec, eventually, operator
from support.kubernetes.outside import outside

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

ROOM = "example.test/room"
COUNTS = (3, 5) if os.environ.get("QUORATE_SOAK") else (3,)


@pytest.fixture(scope="module")
def growing_class(kubernetes: Kubernetes) -> Iterator[str]:
    """The default class, and it says that its volumes can grow; nobody here makes them so: the test plays
    the driver.
    """
    found = kubernetes.gateway.list(STORAGE_CLASS, None)
    default = next(each for each in found if "is-default-class" in str(each["metadata"].get("annotations")))
    kept = {key: each for key, each in default["metadata"]["annotations"].items() if "is-default-class" not in key}
    name = f"growing-{os.getpid()}"
    copied = ("provisioner", "reclaimPolicy", "volumeBindingMode", "parameters")
    body: dict[str, Any] = {key: default[key] for key in copied if key in default}
    meta = {"name": name, "annotations": {key: each for key, each in kept.items() if "last-applied" not in key}}
    made = kubernetes.gateway.create(STORAGE_CLASS, None, {**body, "metadata": meta, "allowVolumeExpansion": True})
    yield name
    kubernetes.gateway.delete(STORAGE_CLASS, "", name, uid=made["metadata"]["uid"])


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images, growing_class: str) -> Iterator[Story]:
    with kubernetes.namespace("op-estate") as namespace:
        found = Story(kubernetes, namespace, images("runtime"))
        spec = default_spec(found.image)
        storage = {"size": "1Gi", "storageClassName": growing_class}
        controllers = {**spec["controllers"], "storage": storage, "failureDomains": {"key": ROOM}}
        listeners = [{"name": "PLAINTEXT", "port": 9092}, {"name": "OUTSIDE", "port": 9094, "exposure": "NodePort"}]
        found.spec = {
            **spec, "probes": "TCP", "endpoints": {"broker": listeners}, "controllers": controllers,
            "brokerPools": [{**pool, "storage": storage} for pool in spec["brokerPools"]],
        }  # fmt: skip
        yield found


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19590) as process:
        story.apply()
        story.await_ready()
        yield process


# a client outside


def test_a_client_outside_of_the_clusters_network_produces_and_consumes(story: Story, running: OperatorProcess) -> None:
    addresses = node_addresses(story)
    service = story.kubernetes.gateway.get(SERVICE, story.namespace, f"{story.name}-bootstrap-outside")
    begin = f"{addresses[0]}:{service['spec']['ports'][0]['nodePort']}"
    pod = story.pods()[f"{story.name}-b-100-0"]["status"]["podIP"]
    with outside(addresses) as network:
        assert not network.reaches(pod, 9092), "a client outside must not reach pods, or this proves nothing"
        told = network.run(sys.executable, str(ROOT / "deploy" / "demo" / "client.py"), begin, "--count", "300")
        assert told.splitlines()[-1] == "300 of 300"


def test_load_balancers_lead_clients_from_outside_to_the_very_broker(story: Story, running: OperatorProcess) -> None:
    """Nobody is touched before its address is known, and then every broker is told its own."""
    brokers = {name: uid for name, uid in uids(story, POD).items() if "-b-" in name}
    listeners = story.spec["endpoints"]["broker"]
    balanced = {"name": "BALANCED", "port": 9095, "exposure": "LoadBalancer"}
    story.apply(endpoints={"broker": [*listeners, balanced]})
    story.await_condition("MembershipSynced", "False", "AddressPending")
    asked = {f"{story.name}-{each}-balanced" for each in ("bootstrap", "b-100", "b-101")}
    eventually("three load balancers are asked for", lambda: asked <= set(uids(story, SERVICE)))
    assert brokers.items() <= uids(story, POD).items()
    nodes = node_addresses(story)
    with outside(nodes) as network, balancer(story.kubernetes, story.namespace, network, nodes[0]) as balancers:
        eventually("every broker is another one", lambda: not set(brokers.values()) & set(uids(story, POD).values()))
        story.await_ready()
        begin = f"{balancers.addresses[f'{story.name}-bootstrap-balanced']}:9095"
        client = (str(ROOT / "deploy" / "demo" / "client.py"), begin, "--count", "300", "--topic", "balanced")
        assert network.run(sys.executable, *client).splitlines()[-1] == "300 of 300"
        eventually("the client has come by every address", lambda: asked <= balancers.used, 30)


def node_addresses(story: Story) -> list[str]:
    nodes = json.loads(story.kubernetes.kubectl("get", "nodes", "-o", "json"))["items"]
    return [each["address"] for node in nodes for each in node["status"]["addresses"] if each["type"] == "InternalIP"]


# volumes grow


def test_volumes_grow_while_their_pods_run_on(story: Story, running: OperatorProcess, growing_class: str) -> None:
    pods, sets = uids(story, POD), uids(story, STATEFUL_SET)
    resize(story, "2Gi", growing_class)
    story.await_condition("StorageHealthy", "False", "ResizePending")
    eventually("every claim asks for 2Gi", lambda: set(requested(story)) == {"2Gi"}, 60)
    eventually("every set is a new one", lambda: not set(sets.values()) & set(uids(story, STATEFUL_SET).values()), 60)
    play_the_driver(story)
    story.await_ready()
    assert uids(story, POD) == pods
    owners = {each["metadata"]["ownerReferences"][0]["uid"] for each in story.pods().values()}
    assert owners == set(uids(story, STATEFUL_SET).values())
    gone = story.delete_pod(f"{story.name}-controller-0-0")
    story.await_pod(f"{story.name}-controller-0-0", other_than=gone)
    story.await_ready()


def test_a_class_that_cannot_expand_is_named_and_nothing_else_waits(
    story: Story, running: OperatorProcess, growing_class: str
) -> None:
    before = set(requested(story))
    rigid = json.dumps({"allowVolumeExpansion": False})
    story.kubernetes.kubectl("patch", "storageclass", growing_class, "--type=merge", "-p", rigid)
    resize(story, "4Gi", growing_class)
    found = story.await_condition("Stalled", "True", "VolumeCannotGrow")
    assert growing_class in found["message"]
    assert set(requested(story)) == before
    flexible = json.dumps({"allowVolumeExpansion": True})
    story.kubernetes.kubectl("patch", "storageclass", growing_class, "--type=merge", "-p", flexible)
    eventually("every claim asks for 4Gi", lambda: set(requested(story)) == {"4Gi"}, 120)
    play_the_driver(story)
    story.await_ready()


def resize(story: Story, size: str, storage_class: str) -> None:
    storage = {"size": size, "storageClassName": storage_class}
    pools = [{**pool, "storage": storage} for pool in story.spec["brokerPools"]]
    story.apply(controllers={**story.spec["controllers"], "storage": storage}, brokerPools=pools)


def claims(story: Story) -> tuple[dict[str, Any], ...]:
    return story.kubernetes.gateway.list(CLAIM, story.namespace, f"kraft.quorate.dev/cluster={story.name}")


def requested(story: Story) -> list[str]:
    return [str(each["spec"]["resources"]["requests"]["storage"]) for each in claims(story)]


def play_the_driver(story: Story) -> None:
    for claim in claims(story):
        path = CLAIM.path(story.namespace, claim["metadata"]["name"], "status")
        body = {"status": {"capacity": claim["spec"]["resources"]["requests"]}}
        story.kubernetes.gateway._call("PATCH", path, {}, body, content="application/merge-patch+json")


def domains(story: Story) -> set[str]:
    """Of the voters that answer: a status of a moment in which none did names none."""
    return {each["name"] for each in story.resource()["status"]["quorum"].get("domains", ())}


def uids(story: Story, kind: Any) -> dict[str, str]:
    found = story.kubernetes.gateway.list(kind, story.namespace, f"kraft.quorate.dev/cluster={story.name}")
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}


# failure domains


def test_a_domain_that_holds_a_majority_of_the_voters_is_named_and_the_cluster_stays_ready(
    story: Story, running: OperatorProcess
) -> None:
    hosts = [pod["spec"]["nodeName"] for name, pod in sorted(story.pods().items()) if "-controller-" in name]
    label = story.kubernetes.kubectl
    before = uids(story, POD)
    try:
        found = story.await_condition("FailureDomainsSatisfied", "False", "DomainUnknown")
        assert ROOM in found["message"]
        for host in set(hosts):
            label("label", "node", host, f"{ROOM}={host}")
        apart = len(set(hosts)) == len(hosts)
        story.await_condition("FailureDomainsSatisfied", "True" if apart else "False")
        eventually("every domain is seen", lambda: domains(story) == set(hosts))
        for host in set(hosts[:2]):
            label("label", "--overwrite", "node", host, f"{ROOM}=cellar")
        found = story.await_condition("FailureDomainsSatisfied", "False", "CommitMajorityInOneDomain")
        assert "make room for one of controllers 0 and 1" in found["message"]
        assert "cellar holds 2 of 3 voters" in found["message"]
        assert story.events("CommitMajorityInOneDomain")
        story.await_ready()
        assert story.condition("FailureDomainsSatisfied")["status"] == "False"
    finally:
        for host in set(hosts):
            label("label", "node", host, f"{ROOM}-")
    story.await_ready()
    assert uids(story, POD) == before


# evictions


@pytest.mark.parametrize("count", COUNTS)
def test_evicting_all_controllers_at_once_takes_exactly_what_the_quorum_can_lose(
    story: Story, running: OperatorProcess, count: int
) -> None:
    scaled(story, count)
    headroom = count - majority(count)
    gone = evicted(story)
    assert len(gone) == headroom, f"{gone} of {headroom}; {told(story)}"
    story.await_ready()


@pytest.mark.parametrize("count", COUNTS)
def test_with_one_controller_dead_as_many_fewer_may_go(story: Story, running: OperatorProcess, count: int) -> None:
    scaled(story, count)
    headroom = count - 1 - majority(count)
    victim = follower(story)
    with dead(story, victim):
        await_live(story, count - 1)
        await_budget(story, stay=count - 1 - headroom, may_go=headroom)
        gone = [name for name in evicted(story) if name != victim]
        assert len(gone) == headroom, f"{gone} of {headroom}, {victim} is dead; {told(story)}"
    story.await_ready()


@pytest.mark.parametrize("count", COUNTS)
def test_a_controller_that_hangs_and_still_counts_as_ready_gives_no_right_to_take_another(
    story: Story, running: OperatorProcess, count: int
) -> None:
    scaled(story, count)
    headroom = count - 1 - majority(count)
    victim = follower(story)
    with hanging(story.pods()[victim]["metadata"]["uid"]):
        await_budget(story, stay=count - headroom, may_go=headroom)
        assert victim in ready(story), "it has to be Ready all the while, or this proves nothing"
        gone = evicted(story)
        assert len(gone) == headroom, f"{gone} of {headroom}, {victim} hangs; {told(story)}"
    story.await_ready()


def majority(count: int) -> int:
    return count // 2 + 1


def scaled(story: Story, count: int) -> None:
    """All of them Ready and live, and Kubernetes has counted what the test before took."""
    if story.spec["controllers"]["replicas"] != count:
        story.apply(controllers={**story.spec["controllers"], "replicas": count})
    eventually(f"{count} controllers are ready", lambda: len(controllers(story)) == len(ready(story)) == count)
    await_live(story, count)
    story.await_ready()
    await_budget(story, stay=majority(count), may_go=count - majority(count))


def await_live(story: Story, count: int) -> None:
    eventually(f"{count} live voters", lambda: story.resource()["status"]["quorum"].get("live") == count)


def controllers(story: Story) -> list[str]:
    return sorted(name for name in story.pods() if "-controller-" in name)


def follower(story: Story) -> str:
    leader = story.resource()["status"]["quorum"]["leaderID"]
    return next(name for name in reversed(controllers(story)) if name != f"{story.name}-controller-{leader}-0")


def ready(story: Story) -> set[str]:
    """Controllers. A pod on its way out is not, whatever its conditions say: nothing guards it from an eviction any
    more.
    """
    return {
        name
        for name, pod in story.pods().items()
        if "-controller-" in name
        and "deletionTimestamp" not in pod["metadata"]
        and any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))
    }


def await_budget(story: Story, *, stay: int, may_go: int) -> None:
    """Until the budget says that so many have to stay, and Kubernetes has counted by it how many may go."""

    def said() -> bool:
        found = story.kubernetes.gateway.get(DISRUPTION_BUDGET, story.namespace, f"{story.name}-controller")
        counted, healthy = found["status"], len(ready(story))
        assert counted.get("observedGeneration") == found["metadata"]["generation"], "not counted yet"
        assert counted["currentHealthy"] == healthy, f"{healthy} are ready; {told(story)}"
        assert not counted.get("disruptedPods"), told(story)
        assert (found["spec"]["minAvailable"], counted["disruptionsAllowed"]) == (stay, may_go), told(story)
        return True

    eventually(f"{stay} controllers have to stay and {may_go} may go", said)


def told(story: Story) -> str:
    """The budget, and the controllers as the API server has them."""
    found = story.kubernetes.gateway.get(DISRUPTION_BUDGET, story.namespace, f"{story.name}-controller")
    counted = {key: each for key, each in found["status"].items() if key != "conditions"}
    return (
        f"minAvailable {found['spec']['minAvailable']}, {counted}, ready: "
        f"{sorted(ready(story))} of {controllers(story)}"
    )


def evicted(story: Story) -> list[str]:
    """Ask for the eviction of every controller, one after the other without a pause; those that may go."""
    found = []
    for name in controllers(story):
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": story.namespace}}
        try:
            story.kubernetes.gateway._call("POST", POD.path(story.namespace, name, "eviction"), {}, body)
            found.append(name)
        except (TooManyRequests, Conflict):
            continue
    return found


@contextmanager
def dead(story: Story, name: str) -> Iterator[None]:
    """It cannot come back: its volume's Kubernetes node takes no pods."""
    host = story.pods()[name]["spec"]["nodeName"]
    story.kubernetes.kubectl("cordon", host)
    try:
        story.delete_pod(name)
        eventually(f"{name} is not ready", lambda: name not in ready(story), 120)
        yield
    finally:
        story.kubernetes.kubectl("uncordon", host)
