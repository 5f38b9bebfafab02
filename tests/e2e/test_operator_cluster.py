"""From a resource to a running cluster and back, on a real Kubernetes with real nodes: one cluster, told as one story
in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from kraft_operator.kube import NODE
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

BIN = "/opt/kafka/bin"
ZONE = "topology.kubernetes.io/zone"


def brokers(count: int) -> list[dict[str, object]]:
    return [{**pool(count), "rack": {"fromNodeLabel": ZONE}}]


@pytest.fixture(scope="module", params=["runtime", "apache-kafka"])
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, request: pytest.FixtureRequest
) -> Iterator[Story]:
    """The same operator, the same story: with the bundled runtime, and with Apache Kafka's own."""
    with kubernetes.namespace("op-cluster") as namespace:
        yield Story(kubernetes, namespace, images(request.param))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images) as process:
        story.apply(brokerPools=brokers(2))
        story.await_ready()
        yield process


def test_three_controllers_elect_a_leader_and_two_brokers_register(story: Story, running: OperatorProcess) -> None:
    status = story.resource()["status"]
    assert status["quorum"]["state"] == "Available"
    assert (status["quorum"]["size"], status["quorum"]["live"]) == (3, 3)
    assert (status["controllers"]["ready"], status["brokers"]["ready"]) == (3, 2)
    assert set(story.directories()) == {0, 1, 2, 100, 101}
    assert len(set(story.directories().values())) == 5
    described = story.kafka(
        f"{BIN}/kafka-metadata-quorum.sh", "--bootstrap-controller",
        f"{story.name}-controller-0-0.{story.name}-nodes:9093", "describe", "--status",
    )  # fmt: skip
    assert status["clusterID"] in described
    assert all(story.directories()[node_id] in described for node_id in (0, 1, 2))
    assert [each["note"] for each in story.events("QuorumFormed")]


def test_a_grant_is_used_within_seconds(story: Story, running: OperatorProcess, sampled: Callable[[str], None]) -> None:
    """From the annotation on the pod to the start of its formatting, as the API server and the kubelet dated them."""
    waits = {}
    for name, pod in story.pods().items():
        granted = [
            each["time"]
            for each in pod["metadata"]["managedFields"]
            if each["manager"] == "kraft-operator" and "f:kraft.quorate.dev/grant" in str(each["fieldsV1"])
        ]
        states = {each["name"]: each["state"] for each in pod["status"]["initContainerStatuses"]}
        started = states["format"]["terminated"]["startedAt"]
        waits[name] = (datetime.fromisoformat(started) - datetime.fromisoformat(granted[0])).total_seconds()
    sampled(f"{story.image}: seconds from grant to format: {waits}")
    assert max(waits.values()) < 60


def endpoints(story: Story) -> dict[str, str]:
    """Registered brokers, fenced ones too, and their racks."""
    tool = (f"{BIN}/kafka-cluster.sh", "list-endpoints", "--include-fenced-brokers")
    told = story.kafka(*tool, "--bootstrap-server", f"{story.name}-bootstrap:9092")
    rows = [line.split() for line in told.splitlines()[1:] if line.strip()]
    return {row[0]: row[3] for row in rows}


def test_a_brokers_rack_is_the_zone_of_its_node(story: Story, running: OperatorProcess) -> None:
    nodes = {node["metadata"]["name"]: node["metadata"]["labels"] for node in story.kubernetes.gateway.list(NODE, None)}
    zones = {
        name.split("-")[2]: nodes[pod["spec"]["nodeName"]][ZONE] for name, pod in story.pods().items() if "-b-" in name
    }
    assert endpoints(story) == zones
    told = {
        str(node["nodeID"]): node["zone"] for node in story.resource()["status"]["nodes"] if node["role"] == "broker"
    }
    assert told == zones


def test_every_claim_bears_the_identity_of_its_disk(story: Story, running: OperatorProcess) -> None:
    text = story.kubernetes.kubectl(
        "-n", story.namespace, "get", "pvc", "-o",
        r"jsonpath={range .items[*]}{.metadata.annotations.kraft\.quorate\.dev/directory-id}{'\n'}{end}",
    )  # fmt: skip
    assert sorted(text.split()) == sorted(story.directories().values())


def test_nothing_is_written_when_nothing_changes(story: Story, running: OperatorProcess) -> None:
    time.sleep(10)  # what the last steps still bring
    found = story.resource()
    before, reads = running.writes(), running.reads()
    time.sleep(15)  # several passes: a quiet cluster is looked at every 2 s
    assert story.resource() == found
    assert running.writes() == before
    assert abs(running.reads() - reads) <= 1  # a renewal of the Lease may be under way
    assert running.metrics()['kraft_operator_reconcile_total{result="success"}'] > 5


def test_the_resource_carries_no_finalizer_and_no_annotation_of_kopf(story: Story, running: OperatorProcess) -> None:
    meta = story.resource()["metadata"]
    assert "finalizers" not in meta
    assert not [name for name in meta.get("annotations", {}) if "kopf" in name]


def test_a_deleted_controller_pod_returns_with_its_directory(story: Story, running: OperatorProcess) -> None:
    before = story.directories()
    gone = story.delete_pod(f"{story.name}-controller-1-0")
    story.await_pod(f"{story.name}-controller-1-0", other_than=gone)
    story.await_ready()
    assert story.directories() == before


def test_an_edited_child_is_put_right(story: Story, running: OperatorProcess) -> None:
    kubectl, service = story.kubernetes.kubectl, f"{story.name}-nodes"
    change = '{"spec":{"publishNotReadyAddresses":false}}'
    kubectl("-n", story.namespace, "patch", "service", service, "--type=merge", "-p", change)
    kubectl("-n", story.namespace, "delete", "configmap", f"{story.name}-b-100")
    field = ("-o", "jsonpath={.spec.publishNotReadyAddresses}")
    get = ("-n", story.namespace, "get", "service", service, *field)
    eventually("the Service is as it was", lambda: kubectl(*get) == "true", 60)
    kubectl("-n", story.namespace, "wait", "--for=create", "configmap", f"{story.name}-b-100", "--timeout=60s")


def test_another_cluster_id_under_the_same_name_is_refused(story: Story, running: OperatorProcess) -> None:
    known = story.ledger()["clusterID"]
    pods = {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}
    story.apply(clusterID="QUJDREVGR0hJSktMTU5PUA")
    found = story.await_condition("Stalled", "True", "ClusterIDMismatch", 60)
    assert known in found["message"]
    assert {name: pod["metadata"]["uid"] for name, pod in story.pods().items()} == pods
    recreate_without_id(story)
    story.await_ready()
    assert story.ledger()["clusterID"] == known


def recreate_without_id(story: Story) -> None:
    """A cluster id that was set cannot be taken back, so the resource is made anew."""
    story.delete()
    story.apply(clusterID=None)


def described(story: Story, topic: str) -> str:
    """What Kafka's tool says about a topic, its id included."""
    asked = ("--bootstrap-server", f"{story.name}-bootstrap:9092", "--describe", "--topic", topic)
    return story.kafka(f"{BIN}/kafka-topics.sh", *asked).splitlines()[0]


def test_a_deleted_resource_is_adopted_when_it_is_applied_again(story: Story, running: OperatorProcess) -> None:
    kept = ("--create", "--topic", "kept", "--replica-assignment", "100")
    story.kafka(f"{BIN}/kafka-topics.sh", "--bootstrap-server", f"{story.name}-bootstrap:9092", *kept)
    topic = described(story, "kept")
    cluster_id, before = story.ledger()["clusterID"], story.directories()
    story.delete()
    eventually("all pods are gone", lambda: not story.pods())
    assert story.directories() == before
    story.apply()
    story.await_ready()
    assert (story.ledger()["clusterID"], story.directories()) == (cluster_id, before)
    assert story.resource()["status"]["clusterID"] == cluster_id
    assert "TopicId: " in topic
    assert described(story, "kept") == topic


def test_a_lost_ledger_is_rebuilt_from_the_claims(story: Story, running: OperatorProcess) -> None:
    cluster_id, before = story.ledger()["clusterID"], story.directories()
    story.delete()
    eventually("all pods are gone", lambda: not story.pods())
    story.lose_ledger()
    story.apply(bootstrap={"policy": "AdoptOnly"})
    story.await_ready()
    assert (story.ledger()["clusterID"], story.directories()) == (cluster_id, before)
    assert story.ledger()["origin"] == "Rebuilt"


def test_the_highest_broker_leaves_only_when_it_holds_no_replica(story: Story, running: OperatorProcess) -> None:
    bootstrap = f"{story.name}-bootstrap:9092"
    topics = f"{BIN}/kafka-topics.sh"
    story.kafka(topics, "--bootstrap-server", bootstrap, "--create", "--topic", "held", "--replica-assignment", "101")
    story.apply(brokerPools=brokers(1))
    eventually("broker 101 is gone", lambda: f"{story.name}-b-101-0" not in story.pods())
    told = story.kafka(topics, "--bootstrap-server", bootstrap, "--describe", "--topic", "held")
    assert "Replicas: 100" in told, told
    assert "Isr: 100" in told, told
    story.await_condition("MembershipSynced", "True")
    story.await_ready()
    assert f"{story.name}-b-101-0" not in story.pods()
    assert set(endpoints(story)) == {"100"}
    assert story.events("BrokerUnregistered")


def test_a_voter_that_lost_its_volume_is_replaced_under_a_new_identity(
    story: Story, running: OperatorProcess, sampled: Callable[[str], None]
) -> None:
    before, began = story.directories(), time.monotonic()
    story.delete_claim(f"data-{story.name}-controller-2-0")
    story.delete_pod(f"{story.name}-controller-2-0")

    def redundant() -> bool:
        now = story.voters()
        return len(now) == 3 and now[2][0] != before[2] and all(state == "Live" for _, state in now.values())

    eventually("three live voters, the third with a new directory", redundant, 240)
    sampled(f"lost voter redundant again after {time.monotonic() - began:.0f} s ({story.image})")
    story.await_ready()
    assert {each: story.directories()[each] for each in (0, 1)} == {each: before[each] for each in (0, 1)}
    lost = story.ledger()["writtenOff"]
    assert [(each["nodeID"], each["directoryID"]) for each in lost] == [(2, before[2])]
    for reason in ("VoterRemoved", "DiskWrittenOff", "VoterAdded"):
        assert len(story.events(reason)) == 1, reason


def test_controllers_scale_up_and_down_by_one_voter_at_a_time(story: Story, running: OperatorProcess) -> None:
    before = {each: directory for each, (directory, _) in story.voters().items()}
    story.apply(controllers={**story.spec["controllers"], "replicas": 5})
    eventually("five live voters", lambda: [each for _, each in story.voters().values()] == ["Live"] * 5)
    story.await_ready()
    story.apply(controllers={**story.spec["controllers"], "replicas": 3})
    eventually("three voters", lambda: set(story.voters()) == {0, 1, 2})
    eventually(
        "the others' pods are gone", lambda: len(story.pods()) == 3 + story.resource()["status"]["brokers"]["replicas"]
    )
    story.await_ready()
    assert {each: directory for each, (directory, _) in story.voters().items()} == before


def test_a_changed_configuration_is_rolled_one_pod_at_a_time(story: Story, running: OperatorProcess) -> None:
    before = {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}
    story.apply(config={"common": {"num.io.threads": "4"}})

    def replaced() -> bool:
        now = {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}
        away = [name for name in before if name not in now]
        live = story.resource()["status"]["quorum"].get("live", 2)  # not told while a new leader is elected
        if live < 2 or len(away) > 1:
            pytest.fail(f"the roll cost too much: {live} live voters, away: {away}")
        return set(now) == set(before) and not set(now.values()) & set(before.values())

    eventually("every pod is a new one", replaced)
    story.await_ready()
    order = [
        each["note"].split(":")[0]
        for each in sorted(story.events("RestartStarted"), key=lambda each: each["eventTime"])
    ]
    kinds = ["controller" if "-controller-" in name else "broker" for name in order]
    assert kinds == ["controller"] * 3 + ["broker"] * len(kinds[3:])
