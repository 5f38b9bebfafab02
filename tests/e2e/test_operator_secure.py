"""A cluster that is secure from the beginning, on a real Kubernetes: its nodes, the operator and Kafka's tools speak
TLS with certificates of its own authority, and whoever shows none is refused.
"""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kraft_operator.kube import SECRET, USER
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.operator_process import DEVCLUSTER, Images, OperatorProcess, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

Text = dict[str, str]


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-secure") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def running(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images) as process:
        story.apply(security={"tls": {"mode": "Required", "validity": "12m"}}, brokerPools=[pool(1)])
        story.await_ready()
        yield process


@dataclass(frozen=True)
class Client:
    """One of our tools, in the network of the pods, with a client's properties."""

    story: Story
    folder: Path

    def run(self, tool: str, properties: Text, *arguments: str) -> str:
        path = self.folder / "client.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        command = [*DEVCLUSTER, "in", sys.executable, "-m", "controller_runtime.cli.main", tool]
        done = subprocess.run(
            [*command, "--command-config", str(path), *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=60,
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
        return "--bootstrap-server", f"{self.story.name}-bootstrap.{self.story.namespace}.svc.cluster.local:9092"

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


def test_who_shows_no_certificate_is_refused(story: Story, running: OperatorProcess, client: Client) -> None:
    asked = ("metadata-quorum", client.as_operator(), *client.controllers, "describe", "--status")
    assert "LeaderId" in client.run(*asked)
    nameless = {key: value for key, value in client.as_operator().items() if "keystore" not in key}
    for properties in ({"security.protocol": "PLAINTEXT"}, nameless):
        with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
            client.run("metadata-quorum", properties, *asked[2:])


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
    listed = client.run("topics", properties, *client.clients, "--list").split()
    assert listed == ["orders"]
    wrong = {**properties, "sasl.jaas.config": properties["sasl.jaas.config"].replace('password="', 'password="x')}
    with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
        client.run("topics", wrong, *client.clients, "--list")
    mark = "kraft.quorate.dev/rotate=once"
    story.kubernetes.kubectl("-n", story.namespace, "annotate", "kraftuser", "ann", mark)
    eventually("ann has another password", lambda: of_user(story, "ann") != properties, 120)
    eventually("it is taken", lambda: client.run("topics", of_user(story, "ann"), *client.clients, "--list"), 120)
    with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
        client.run("topics", properties, *client.clients, "--list")
    known = of_user(story, "ann")
    story.kubernetes.kubectl("-n", story.namespace, "delete", "kraftuser", "ann")

    def refused() -> bool:
        with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
            client.run("topics", known, *client.clients, "--list")
        return "User:ann" not in client.run("acls", client.as_operator(), *client.own, "--list")

    eventually("ann is forgotten", refused, 180)


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
