"""A cluster that is secure from the beginning, on a real Kubernetes: its nodes, the operator and Kafka's tools speak
TLS with certificates of its own authority, and whoever shows none is refused.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kraft_operator.kube import POD, SECRET, USER
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.operator_process import DEVCLUSTER, Images, OperatorProcess, Story, eventually, operator, pool
from support.kubernetes.producing import producing

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

Text = dict[str, str]


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-secure") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images) as process:
        tls = {"mode": "Required", "validity": "12m", "rotation": {"waitForClients": "0s"}}
        story.apply(security={"tls": tls}, brokerPools=[pool(3)])
        story.await_ready()
        yield process


@dataclass(frozen=True)
class Client:
    """One of our tools, in the network of the pods, with a client's properties."""

    story: Story
    folder: Path

    def run(self, tool: str, properties: Text, *arguments: str, seconds: float = 60) -> str:
        path = self.folder / "client.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        command = [*DEVCLUSTER, "in", sys.executable, "-m", "controller_runtime.cli.main", tool]
        done = subprocess.run(
            [*command, "--command-config", str(path), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=seconds,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def as_operator(self) -> Text:
        """With the operator's own certificate."""
        for key in ("keystore.pem", "ca.crt"):
            (self.folder / key).write_text(secret(self.story, f"{self.story.name}-operator-tls", key))
        return {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "keystore.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "ca.crt"),
        }

    @property
    def own(self) -> tuple[str, str]:
        """The brokers' own listener."""
        host = f"{self.story.name}-b-100-0.{self.story.name}-nodes.{self.story.namespace}.svc"
        return "--bootstrap-server", f"{host}:9091"

    @property
    def clients(self) -> tuple[str, str]:
        """The clients' listener. Addresses of Services are known in pods only."""
        return "--bootstrap-server", f"{self.own[1].removesuffix(':9091')}:9092"

    @property
    def controllers(self) -> tuple[str, str]:
        host = f"{self.story.name}-controller-1-0.{self.story.name}-nodes.{self.story.namespace}.svc"
        return "--bootstrap-controller", f"{host}:9093"


@pytest.fixture
def client(story: Story, tmp_path: Path) -> Client:
    return Client(story, tmp_path)


def secret(story: Story, name: str, key: str) -> str:
    found = story.kubernetes.gateway.get(SECRET, story.namespace, name)
    return b64decode(found["data"][key]).decode()


def test_a_secure_cluster_forms_and_its_operator_is_let_in(
    story: Story, running: OperatorProcess, client: Client
) -> None:
    """OPS-01: by the cluster's own authority."""
    assert story.condition("Secure")["status"] == "True"
    assert story.condition("CertificatesValid")["status"] == "True"
    assert story.ledger()["security"] == "Required"
    assert story.resource()["status"]["quorum"]["live"] == 3
    made = client.run("topics", client.as_operator(), *client.own, "--create", "--topic", "kept")
    assert "kept" in made


def test_its_brokers_copy_from_each_other(story: Story, running: OperatorProcess, client: Client) -> None:
    """As many copies as there are brokers, over mutual TLS, with the authorizer (issue 17, item 1): one that is killed
    comes back in sync.
    """
    client.run("topics", client.as_operator(), *client.own, "--create", "--topic", "copied")
    said = client.run("configs", client.as_operator(), *client.own, "--describe", "--all", "--entity-type", "topics",
                      "--entity-name", "copied")  # fmt: skip
    assert "min.insync.replicas=2" in said
    eventually("all are in sync", lambda: in_sync(client, "copied") == {100, 101, 102}, 120)
    name = f"{story.name}-b-102-0"
    story.await_pod(name, other_than=story.delete_pod(name))
    eventually("it is in sync again", lambda: in_sync(client, "copied") == {100, 101, 102}, 180)


def in_sync(client: Client, topic: str) -> set[int]:
    said = client.run("topics", client.as_operator(), *client.own, "--describe", "--topic", topic)
    found = re.search(r"Isr: ([\d,]*)", said)
    return set(map(int, found[1].split(","))) if found is not None and found[1] else set()


def test_who_shows_no_certificate_is_refused(story: Story, running: OperatorProcess, client: Client) -> None:
    asked = ("metadata-quorum", client.as_operator(), *client.controllers, "describe", "--status")
    assert "LeaderId" in client.run(*asked)
    nameless = {key: value for key, value in client.as_operator().items() if "keystore" not in key}
    for properties in ({"security.protocol": "PLAINTEXT"}, nameless):
        with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
            client.run("metadata-quorum", properties, *asked[2:], seconds=15)


def test_a_user_is_let_in_with_its_secret_and_may_what_it_asks_for(
    story: Story, running: OperatorProcess, client: Client
) -> None:
    """OPS-06: made, given another password, and deleted."""
    for topic in ("orders", "payroll"):
        client.run("topics", client.as_operator(), *client.own, "--create", "--topic", topic)
    acls: list[dict[str, object]] = [{"resource": {"type": "Topic", "name": "orders"}, "operations": ["Describe"]}]
    user(story, "ann", acls)
    eventually("ann is ready", lambda: is_ready(story, "ann"), 120)
    properties = of_user(story, "ann")
    assert in_a_pod(story, "ann", "--list").split() == ["orders"]
    assert client.run("topics", properties, *client.clients, "--list").split() == ["orders"]
    with pytest.raises(AssertionError, match=r"(?i)authoriz"):
        client.run("topics", properties, *client.clients, "--delete", "--topic", "orders")
    wrong = {**properties, "sasl.jaas.config": properties["sasl.jaas.config"].replace('password="', 'password="x')}
    refused(client, wrong)
    mark = "kraft.quorate.dev/rotate=once"
    story.kubernetes.kubectl("-n", story.namespace, "annotate", "kraftuser", "ann", mark)
    eventually("ann has another password", lambda: of_user(story, "ann") != properties, 120)
    eventually("it is taken", lambda: client.run("topics", of_user(story, "ann"), *client.clients, "--list"), 120)
    refused(client, properties)
    known = of_user(story, "ann")
    story.kubernetes.kubectl("-n", story.namespace, "delete", "kraftuser", "ann")

    def forgotten() -> bool:
        refused(client, known)
        return "User:ann" not in client.run("acls", client.as_operator(), *client.own, "--list")

    eventually("ann is forgotten", forgotten, 180)


def refused(client: Client, properties: Text) -> None:
    with pytest.raises(AssertionError, match="Authentication failed"):
        client.run("topics", properties, *client.clients, "--list")


def in_a_pod(story: Story, name: str, *arguments: str) -> str:
    """Kafka's tool in a pod that mounts the user's Secret and knows nothing else."""
    image = {"image": story.image, "imagePullPolicy": "IfNotPresent"}
    server = {"secretKeyRef": {"name": f"{name}-credentials", "key": "bootstrap.servers"}}
    command = ["/opt/kafka/bin/kafka-topics.sh", "--bootstrap-server", "$(SERVERS)", "--command-config"]
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
    container = {
        **image, "name": "client", "securityContext": safe,
        "command": [*command, "/login/client.properties", *arguments],
        "env": [{"name": "SERVERS", "valueFrom": server}, {"name": "LOG_DIR", "value": "/tmp"}],
        "volumeMounts": [{"name": "login", "mountPath": "/login"}, {"name": "tmp", "mountPath": "/tmp"}],
    }  # fmt: skip
    spec = {
        "restartPolicy": "Never", "containers": [container], "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "volumes": [
            {"name": "login", "secret": {"secretName": f"{name}-credentials"}}, {"name": "tmp", "emptyDir": {}},
        ],
    }  # fmt: skip
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"client-of-{name}"}, "spec": spec}
    gateway = story.kubernetes.gateway
    gateway.create(POD, story.namespace, body)

    def phase() -> str:
        return str(gateway.get(POD, story.namespace, f"client-of-{name}")["status"].get("phase"))

    eventually("the client ends", lambda: phase() in ("Succeeded", "Failed"), 120)
    log = story.kubernetes.kubectl("-n", story.namespace, "logs", f"client-of-{name}")
    assert phase() == "Succeeded", log
    return log


def test_drift_of_a_user_is_mended_and_hostile_users_get_nothing(
    story: Story, running: OperatorProcess, client: Client
) -> None:
    """OPS-06: what others gave is kept. Names with quotes, somebody else's Secret, another namespace's cluster."""
    owner = client.as_operator()
    quoted = "a\"b\\'; required"
    user(
        story, "bob", [{"resource": {"type": "Topic", "name": name}, "operations": ["Read"]} for name in ("q", quoted)]
    )
    theirs = {"metadata": {"name": "eve-credentials"}, "stringData": {"mine": "and nobody else's"}}
    story.kubernetes.gateway.create(SECRET, story.namespace, theirs)
    user(story, "eve", [])
    eventually("bob is ready", lambda: is_ready(story, "bob"), 120)
    eventually("eve is told", lambda: reason(story, story.namespace, "eve") == "SecretTaken", 60)
    rules = client.run("acls", owner, *client.own, "--list")
    assert quoted in rules
    for change in (("--remove", "--force", "--topic", "q"), ("--add", "--topic", "foreign")):
        client.run("acls", owner, *client.own, *change, "--allow-principal", "User:bob", "--operation", "Read")
    gone = ("--alter", "--entity-type", "users", "--entity-name", "bob", "--delete-config", "SCRAM-SHA-512")
    client.run("configs", owner, *client.own, *gone)

    def mended() -> bool:
        client.run("topics", of_user(story, "bob"), *client.clients, "--list")
        found = client.run("acls", owner, *client.own, "--list", "--principal", "User:bob")
        return "name=q," in found and "name=foreign," in found

    with story.kubernetes.namespace("op-elsewhere") as elsewhere:
        eventually("bob can log in and read again", mended, 180)
        assert story.kubernetes.gateway.get(SECRET, story.namespace, "eve-credentials")["data"].keys() == {"mine"}
        assert "User:eve" not in client.run("acls", owner, *client.own, "--list")
        meta = {"name": "mallory", "namespace": elsewhere}
        spec = {"clusterName": story.name, "acls": [{"resource": {"type": "Cluster"}, "operations": ["All"]}]}
        body = {"apiVersion": USER.api, "kind": USER.kind, "metadata": meta, "spec": spec}
        story.kubernetes.gateway.create(USER, elsewhere, body)
        bad = {
            **body,
            "metadata": {"name": "x", "namespace": elsewhere},
            "spec": {"clusterName": f"{story.name}/other"},
        }
        story.kubernetes.gateway.create(USER, elsewhere, bad)
        time.sleep(5)
        assert "User:mallory" not in client.run("acls", owner, *client.own, "--list")
        assert story.kubernetes.gateway.find(SECRET, elsewhere, "mallory-credentials") is None


def reason(story: Story, namespace: str, name: str) -> str:
    status = story.kubernetes.gateway.get(USER, namespace, name).get("status") or {}
    return next((str(each["reason"]) for each in status.get("conditions") or ()), "")


def test_another_authority_takes_over_without_a_pause(story: Story, running: OperatorProcess, client: Client) -> None:
    """OPS-04: under a producer with acks=all that connects anew all the while, and whose records all come back. No pod
    restarts; who trusts the old authority alone is out in the end.
    """
    client.run("topics", client.as_operator(), *client.own, "--create", "--topic", "steady")
    rights: list[dict[str, object]] = [
        {"resource": {"type": "Topic", "name": "steady"}, "operations": ["Read", "Write", "Describe"]}
    ]
    user(story, "prod", rights)
    eventually("prod is ready", lambda: is_ready(story, "prod"), 120)
    before = client.as_operator() | {"ssl.truststore.location": str(client.folder / "old.crt")}
    old = secret(story, f"{story.name}-ca-cert", "ca.crt")
    (client.folder / "old.crt").write_text(old)
    pods = {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}
    mark = "kraft.quorate.dev/rotate=once"

    def in_two_hands() -> bool:
        """Clients have the Secret that trusts both, before the new authority signs."""
        hurry(story)
        return secret(story, f"{story.name}-ca-cert", "ca.crt").count("BEGIN") == 2

    story.kubernetes.kubectl("-n", story.namespace, "annotate", "kraftcluster", story.name, mark)
    eventually("both are trusted", in_two_hands, 120)
    eventually(
        "prod trusts both", lambda: of_user(story, "prod")["ssl.truststore.certificates"].count("BEGIN") == 2, 60
    )
    with producing(client.folder, of_user(story, "prod"), client.clients[1]) as ended:

        def forgotten() -> bool:
            hurry(story)
            trusted = secret(story, f"{story.name}-ca-cert", "ca.crt")
            return trusted.count("BEGIN") == 1 and trusted != old

        eventually("the old authority is forgotten", forgotten, 400)
        story.await_ready()
        written, longest, read = ended()
    print(f"{written} records, at most {longest} ms between two of them")
    assert written == read > 0
    assert {name: pod["metadata"]["uid"] for name, pod in story.pods().items()} == pods
    story.await_condition("CertificatesValid", "True", "Valid", 120)
    eventually("nobody shows a certificate of the old one", lambda: out(client, before), 180)


def out(client: Client, before: Text) -> bool:
    with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
        client.run("metadata-quorum", before, *client.controllers, "describe", "--status", seconds=15)
    return True


def hurry(story: Story) -> None:
    """A pod that is touched gets what is new in its Secret within seconds instead of a minute and a half."""
    for name, pod in story.pods().items():
        marks: dict[str, str | None] = {"test/hurry": str(time.monotonic_ns())}
        story.kubernetes.gateway.annotate(POD, story.namespace, name, marks, uid=pod["metadata"]["uid"])
    time.sleep(2)


def user(story: Story, name: str, acls: list[dict[str, object]]) -> None:
    meta = {"name": name, "namespace": story.namespace}
    spec = {"clusterName": story.name, "acls": acls}
    body = {"apiVersion": USER.api, "kind": USER.kind, "metadata": meta, "spec": spec}
    story.kubernetes.gateway.create(USER, story.namespace, body)


def is_ready(story: Story, name: str) -> bool:
    status = story.kubernetes.gateway.get(USER, story.namespace, name).get("status") or {}
    return [(each["type"], each["status"]) for each in status.get("conditions") or ()] == [("Ready", "True")]


def of_user(story: Story, name: str) -> Text:
    text = secret(story, f"{name}-credentials", "client.properties")
    return dict(line.split("=", 1) for line in text.splitlines())


def test_certificates_are_renewed_below_running_nodes(story: Story, running: OperatorProcess) -> None:
    """OPS-02: twelve minutes are soon two thirds over; no pod restarts, and the cluster goes on."""
    pods = {name: pod["metadata"]["uid"] for name, pod in story.pods().items()}
    names = [f"{story.name}-{node}-tls" for node in (0, 1, 2, 100)] + [f"{story.name}-operator-tls"]
    before = {name: secret(story, name, "tls.crt") for name in names}
    eventually("every certificate is another one", lambda: all(
        secret(story, name, "tls.crt") != before[name] for name in names), 900)  # fmt: skip
    story.await_ready()
    assert {name: pod["metadata"]["uid"] for name, pod in story.pods().items()} == pods


def test_no_key_is_told_anywhere(story: Story, running: OperatorProcess) -> None:
    """OPS-14."""
    keys = [secret(story, name, "tls.key").splitlines()[1] for name in (f"{story.name}-ca", f"{story.name}-0-tls")]
    kinds = "kraftclusters,configmaps,pods,statefulsets,events.events.k8s.io,services"
    text = story.kubernetes.kubectl("-n", story.namespace, "get", kinds, "-o", "json") + running.log.read_text()
    logs = [story.kubernetes.kubectl("-n", story.namespace, "logs", name, "-c", "kafka") for name in story.pods()]
    text += json.dumps(story.resource()) + "".join(logs)
    assert not [key for key in keys if key in text]
    assert "PRIVATE KEY" not in text
