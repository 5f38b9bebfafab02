"""A running cluster that another operator laid out is taken over, one pod at a time, under a producer with acks=all.

Apache Kafka's nodes in pods of no StatefulSet, laid out as Strimzi's are: claims `data-0-NAME-POOL-ID`, directory
`kafka-logID`, listeners with numbers in their names. What `docs/operations/adopt-from-strimzi.md` tells a person to do
is done here, in its order: two controllers, the brokers, the last controller. Node ids, directory ids and volumes stay.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from controller_runtime.identifiers import Uuid
from kraft_operator.kube import CLAIM, CONFIG_MAP, POD, SERVICE, VOLUME, Kind
from support.clients.steady_load import BROKERS as ASKED
from support.clients.steady_load import TOPIC, WRITER, SteadyLoad
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import DEVCLUSTER, Images, OperatorProcess, Story, eventually, operator

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]
CONTROLLERS: Final = (0, 1, 2)
BROKERS: Final = (100, 101)
OLD: Final = "old"
OURS: Final = "kraft.quorate.dev"
LISTENERS: Final = {
    "controller": [{"name": "CONTROLPLANE-9090", "port": 9090}],
    "broker": [{"name": "REPLICATION-9091", "port": 9091}, {"name": "PLAIN-9092", "port": 9092}],
}


class Old:
    """The cluster as it was: pods, claims, one ConfigMap for each node, a headless Service."""

    def __init__(self, kubernetes: Kubernetes, namespace: str, image: str) -> None:
        self.kubernetes, self.namespace, self.image = kubernetes, namespace, image
        self.gateway = kubernetes.gateway
        self.cluster_id = str(Uuid(secrets.token_bytes(16)))
        self.directories = {each: str(Uuid(secrets.token_bytes(16))) for each in CONTROLLERS}

    @staticmethod
    def name(node_id: int) -> str:
        return f"{OLD}-ctl-{node_id}" if node_id in CONTROLLERS else f"{OLD}-b-{node_id}"

    def claim(self, node_id: int) -> str:
        return f"data-0-{self.name(node_id)}"

    def host(self, node_id: int) -> str:
        return f"{self.name(node_id)}.{OLD}-kafka-brokers.{self.namespace}.svc.cluster.local"

    def properties(self, node_id: int) -> str:
        controls = node_id in CONTROLLERS
        served = [(each["name"], each["port"]) for each in LISTENERS["controller" if controls else "broker"]]
        named = [each["name"] for listeners in LISTENERS.values() for each in listeners]
        values = {
            "process.roles": "controller" if controls else "broker",
            "node.id": str(node_id),
            "listeners": ",".join(f"{name}://:{port}" for name, port in served),
            "advertised.listeners": ",".join(f"{name}://{self.host(node_id)}:{port}" for name, port in served),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in named),
            "controller.listener.names": "CONTROLPLANE-9090",
            "controller.quorum.bootstrap.servers": ",".join(f"{self.host(each)}:9090" for each in CONTROLLERS),
            "log.dirs": f"/var/lib/kafka/data-0/kafka-log{node_id}",
        }
        if not controls:
            values |= {"inter.broker.listener.name": "REPLICATION-9091", "offsets.topic.replication.factor": "2"}
        return "".join(f"{key}={value}\n" for key, value in values.items())

    def start(self) -> None:
        spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"strimzi.io/cluster": OLD}}
        ports = [{"name": f"tcp-{port}", "port": port} for port in (9090, 9091, 9092)]
        meta = {"name": f"{OLD}-kafka-brokers", "namespace": self.namespace}
        self.gateway.create(SERVICE, self.namespace, {"metadata": meta, "spec": {**spec, "ports": ports}})
        for node_id in (*CONTROLLERS, *BROKERS):
            text = {"server.properties": self.properties(node_id)}
            body = {"metadata": {"name": self.name(node_id)}, "data": text}
            self.gateway.create(CONFIG_MAP, self.namespace, body)
            asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            self.gateway.create(CLAIM, self.namespace, {"metadata": {"name": self.claim(node_id)}, "spec": asked})
            self.gateway.create(POD, self.namespace, self.pod(node_id))
        eventually("the old cluster runs", lambda: all(self.ready(each) for each in (*CONTROLLERS, *BROKERS)))

    def pod(self, node_id: int) -> dict[str, Any]:
        voters = ",".join(f"{each}@{self.host(each)}:9090:{self.directories[each]}" for each in CONTROLLERS)
        first = ["--initial-controllers", voters] if node_id in CONTROLLERS else []
        tool = ["/opt/kafka/bin/kafka-storage.sh", "format", "--ignore-formatted", "--cluster-id", self.cluster_id]
        port = 9090 if node_id in CONTROLLERS else 9091
        ready = {"tcpSocket": {"port": port}, "periodSeconds": 2, "failureThreshold": 3}
        container = self.container("kafka", ["/opt/kafka/bin/kafka-server-start.sh", "/config/server.properties"])
        return {
            "metadata": {"name": self.name(node_id), "labels": {"strimzi.io/cluster": OLD}},
            "spec": {
                **self.bare(node_id),
                "hostname": self.name(node_id),
                "subdomain": f"{OLD}-kafka-brokers",
                "initContainers": [self.container("format", [*tool, "--config", "/config/server.properties", *first])],
                "containers": [{**container, "readinessProbe": ready}],
            },
        }

    def container(self, name: str, command: list[str]) -> dict[str, Any]:
        return {
            "name": name,
            "image": self.image,
            "command": command,
            "env": [{"name": "LOG_DIR", "value": "/tmp/kafka-logs"}],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [
                {"name": "data-0", "mountPath": "/var/lib/kafka/data-0"},
                {"name": "config", "mountPath": "/config"},
                {"name": "tmp", "mountPath": "/tmp"},
            ],
        }

    def bare(self, node_id: int) -> dict[str, Any]:
        """Of any pod with this node's claim."""
        user = {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
        return {
            "securityContext": {**user, "seccompProfile": {"type": "RuntimeDefault"}},
            "terminationGracePeriodSeconds": 60,
            "volumes": [
                {"name": "data-0", "persistentVolumeClaim": {"claimName": self.claim(node_id)}},
                {"name": "config", "configMap": {"name": self.name(node_id)}},
                {"name": "tmp", "emptyDir": {}},
            ],
        }

    def ready(self, node_id: int) -> bool:
        return is_ready(self.gateway.get(POD, self.namespace, self.name(node_id)))

    def volume(self, node_id: int) -> str:
        return str(self.gateway.get(CLAIM, self.namespace, self.claim(node_id))["spec"]["volumeName"])

    def kafka(self, tool: str, *arguments: str) -> str:
        """One of Kafka's tools in the pod of the last broker."""
        where = ("-n", self.namespace, "exec", self.name(BROKERS[-1]), "-c", "kafka", "--")
        return self.kubernetes.kubectl(*where, f"/opt/kafka/bin/{tool}.sh", *arguments)

    def gone(self, name: str) -> None:
        """A pod or a claim that is deleted, once it is away."""
        for kind in (POD, CLAIM):
            found = self.gateway.find(kind, self.namespace, name)
            if found is not None:
                self.gateway.delete(kind, self.namespace, name, uid=found["metadata"]["uid"])
                eventually(f"{name} is gone", partial(self.away, kind, name))

    def away(self, kind: Kind, name: str) -> bool:
        return self.gateway.find(kind, self.namespace, name) is None

    def rename(self, node_id: int) -> None:
        """A pod that does nothing but give the directory its new name."""
        below = "/var/lib/kafka/data-0"
        mover = self.container("mv", ["/bin/busybox", "mv", f"{below}/kafka-log{node_id}", f"{below}/log"])
        name = f"rename-{node_id}"
        body = {"metadata": {"name": name}, "spec": {**self.bare(node_id), "containers": [mover]}}
        body["spec"]["restartPolicy"] = "Never"
        self.gateway.create(POD, self.namespace, body)

        def done() -> bool:
            phase = self.gateway.get(POD, self.namespace, name)["status"].get("phase")
            return bool(phase == "Succeeded")

        eventually("the directory has its new name", done)
        self.gone(name)


def is_ready(pod: dict[str, Any]) -> bool:
    found = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found)


def new_claim(node_id: int) -> str:
    return f"data-c-{'controller' if node_id in CONTROLLERS else 'b'}-{node_id}-0"


def new_pod(node_id: int) -> str:
    return new_claim(node_id).removeprefix("data-")


@pytest.fixture(scope="module")
def old(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Old]:
    with kubernetes.namespace("op-adopts") as namespace:
        found = Old(kubernetes, namespace, images("apache-kafka"))
        found.start()
        yield found


@pytest.fixture(scope="module")
def story(old: Old) -> Story:
    return Story(old.kubernetes, old.namespace, old.image)


@pytest.fixture(scope="module")
def running(old: Old, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(old.namespace, Path(tmp_path_factory.mktemp("adopts")), images, port=19670) as process:
        yield process


@pytest.fixture(scope="module")
def load(old: Old, story: Story, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    here = f"{old.host(BROKERS[0])}:9092,{old.host(BROKERS[1])}:9092"
    to_come = [f"{new_pod(each)}.c-nodes.{old.namespace}.svc.cluster.local:9092" for each in BROKERS]
    old.kafka("kafka-topics", "--bootstrap-server", here, "--create", "--topic", TOPIC, "--replica-assignment",
              "100:101,101:100")  # fmt: skip
    file = tmp_path_factory.mktemp("load") / "acknowledged"
    file.touch()
    with writing(",".join((here, *to_come)), file) as process:
        found = SteadyLoad(story, process, file, ASKED)
        found.goes_on()
        yield found


@contextmanager
def writing(bootstrap: str, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [*DEVCLUSTER, "in", sys.executable, str(WRITER), "write", bootstrap, TOPIC, str(file)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait(300)


@pytest.fixture(scope="module")
def volumes(old: Old) -> Iterator[dict[int, str]]:
    """Of each node: its volume outlives its claim, until the story is over."""
    found = {each: old.volume(each) for each in (*CONTROLLERS, *BROKERS)}
    for name in found.values():
        old.gateway.patch(VOLUME, "", name, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    yield found
    for name in found.values():
        old.gateway.patch(VOLUME, "", name, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})


def take(old: Old, volumes: dict[int, str], node_id: int) -> None:
    """The old pod goes, its directory gets our name, its volume our claim; then the operator starts the node."""
    old.gone(old.name(node_id))
    old.rename(node_id)
    old.gone(old.claim(node_id))
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": old.namespace}
    bound = {**reference, "name": new_claim(node_id), "uid": None, "resourceVersion": None}
    old.gateway.patch(VOLUME, "", volumes[node_id], {"spec": {"claimRef": bound}})
    eventually(f"node {node_id} runs", lambda: is_ready(old.gateway.get(POD, old.namespace, new_pod(node_id))))


def quorum(old: Old) -> str:
    """As the node says that was taken first, whoever leads."""
    tool = ("/opt/kafka/bin/kafka-metadata-quorum.sh", "--bootstrap-controller", f"{new_pod(0)}.c-nodes:9090")
    where = ("-n", old.namespace, "exec", new_pod(0), "-c", "kafka", "--")
    return old.kubernetes.kubectl(*where, *tool, "describe", "--status")


def voter_moved(old: Old, node_id: int) -> bool:
    """The log knows the voter by its new name."""
    said = next(line for line in quorum(old).splitlines() if line.startswith("CurrentVoters"))
    return f"{new_pod(node_id)}.c-nodes.{old.namespace}" in said


def whole(old: Old, broker: int) -> bool:
    """Every partition has both replicas in sync."""
    where = ("-n", old.namespace, "exec", new_pod(broker), "-c", "kafka", "--")
    tool = ("/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", f"{new_pod(broker)}.c-nodes:9092")
    told = old.kubernetes.kubectl(*where, *tool, "--describe", "--topic", TOPIC)
    isr = [line.partition("Isr: ")[2].split()[0] for line in told.splitlines() if "Isr: " in line]
    return len(isr) == 2 and all(set(each.split(",")) == {"100", "101"} for each in isr)


def test_claims_of_the_volumes_wait_and_nothing_is_formatted(
    old: Old, story: Story, running: OperatorProcess, load: SteadyLoad, volumes: dict[int, str]
) -> None:
    for node_id, volume in volumes.items():
        role, pool = ("controller", "controller") if node_id in CONTROLLERS else ("broker", "b")
        labels = {"cluster": "c", "role": role, "pool": pool, "node-id": str(node_id)}
        marks = {"cluster-id": old.cluster_id, "node-id": "0", "directory-id": old.directories[0]}
        meta = {"name": new_claim(node_id), "labels": {f"{OURS}/{key}": value for key, value in labels.items()}}
        if node_id == 0:
            meta["annotations"] = {f"{OURS}/{key}": value for key, value in marks.items()}
        asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume}
        old.gateway.create(CLAIM, old.namespace, {"metadata": meta, "spec": asked})
    story.apply(
        clusterID=old.cluster_id, bootstrap={"policy": "AdoptOnly"}, endpoints=LISTENERS,
        networkPolicy={"mode": "Off"}, recoveryPolicy={"lostDisk": "Report"},
    )  # fmt: skip
    eventually("the operator knows the first disk", lambda: story.directories() == {0: old.directories[0]})
    assert story.ledger()["doubted"] == [1, 2, 100, 101]


@pytest.mark.parametrize("node_id", [0, 1])
def test_two_controllers_are_taken_one_after_the_other(
    old: Old, running: OperatorProcess, load: SteadyLoad, volumes: dict[int, str], node_id: int
) -> None:
    take(old, volumes, node_id)
    eventually(f"voter {node_id} is found under its new name", lambda: voter_moved(old, node_id))
    load.goes_on()


@pytest.mark.parametrize("node_id", BROKERS)
def test_brokers_are_taken_while_the_other_serves(
    old: Old, running: OperatorProcess, load: SteadyLoad, volumes: dict[int, str], node_id: int
) -> None:
    take(old, volumes, node_id)
    eventually("its replicas are in sync again", lambda: whole(old, node_id))
    load.goes_on()


def test_the_last_controller_is_taken_and_nothing_is_lost(
    old: Old, story: Story, running: OperatorProcess, load: SteadyLoad, volumes: dict[int, str]
) -> None:
    take(old, volumes, 2)
    eventually("voter 2 is found under its new name", lambda: voter_moved(old, 2))
    story.await_ready()
    assert {each: story.directories()[each] for each in CONTROLLERS} == old.directories
    assert story.voters() == {each: (directory, "Live") for each, directory in old.directories.items()}
    found = {node: old.gateway.get(CLAIM, old.namespace, new_claim(node))["spec"]["volumeName"] for node in volumes}
    assert found == volumes
    assert not story.ledger().get("doubted")
    story.apply(networkPolicy=None, recoveryPolicy=None)
    story.await_ready()
    load.goes_on()
    load.stop()
    acknowledged = load.acknowledged()
    assert len(acknowledged) > 100
    assert acknowledged <= load.read_back()
    assert "FormatRefused" not in json.dumps(story.resource()["status"])
