"""The drill of a secure cluster with an archive: every disk of its controllers and brokers is deleted, the quorum is
made of what the archive kept, and it is as secure as it was. A user logs in with the password it had, may what it might
and no more, and whoever shows no certificate is refused.
"""

from __future__ import annotations

import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kraft_operator.kube import SECRET, USER
from support.kubernetes.archive_drills import (
    archived,
    ask,
    brokers_are_given_up,
    everything_is_deleted,
    operation,
)
from support.kubernetes.cluster import ROOT, Kubernetes
from support.kubernetes.operator_process import DEVCLUSTER, Images, Object, Story, eventually, operator, pool

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

ARCHIVE: Object = {"storage": {"size": "256Mi", "storageClassName": "standard"}}
SECURE: Object = {"tls": {"mode": "Required"}}
GROUP: Object = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "256Mi"}}

Text = dict[str, str]


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("operator")
    with kubernetes.namespace("op-secure-drill") as namespace, operator(namespace, folder, images, port=19690):
        found = Story(kubernetes, namespace, images("runtime"))
        found.apply(
            controllers=GROUP,
            brokerPools=[pool(1)],
            archive=ARCHIVE,
            security=SECURE,
            recoveryPolicy={"debounce": "2s"},
        )
        found.await_ready()
        yield found


@dataclass(frozen=True)
class Tools:
    """Ours, in the network of the pods; with the operator's certificate unless somebody else's properties are given."""

    story: Story
    folder: Path

    def run(self, tool: str, *words: str, port: int = 9091, properties: Text | None = None, seconds: float = 60) -> str:
        path = self.folder / "client.properties"
        values = self.owner() if properties is None else properties
        path.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        host = f"{self.story.name}-b-100-0.{self.story.name}-nodes.{self.story.namespace}.svc:{port}"
        command = [*DEVCLUSTER, "in", sys.executable, "-m", "controller_runtime.cli.main", tool]
        command += ["--bootstrap-server", host, "--command-config", str(path), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=seconds)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def owner(self) -> Text:
        for key in ("keystore.pem", "ca.crt"):
            (self.folder / key).write_text(self.secret(f"{self.story.name}-operator-tls", key))
        return {
            "security.protocol": "SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "keystore.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "ca.crt"),
        }

    def login(self, user: str) -> Text:
        text = self.secret(f"{user}-credentials", "client.properties")
        return dict(line.split("=", 1) for line in text.splitlines())

    def secret(self, name: str, key: str) -> str:
        found = self.story.kubernetes.gateway.get(SECRET, self.story.namespace, name)
        return b64decode(found["data"][key]).decode()

    def elect(self) -> None:
        self.run("leader-election", "--election-type", "unclean", "--all-topic-partitions")


def a_user_of_one_topic(story: Story, name: str, topic: str) -> None:
    acls = [{"resource": {"type": "Topic", "name": topic}, "operations": ["Describe"]}]
    meta = {"name": name, "namespace": story.namespace}
    spec = {"clusterName": story.name, "acls": acls}
    body = {"apiVersion": USER.api, "kind": USER.kind, "metadata": meta, "spec": spec}
    gateway = story.kubernetes.gateway
    gateway.create(USER, story.namespace, body)

    def ready() -> bool:
        status = gateway.get(USER, story.namespace, name).get("status") or {}
        return [(each["type"], each["status"]) for each in status.get("conditions") or ()] == [("Ready", "True")]

    eventually(f"{name} is ready", ready, 120)


def as_secure_as_it_was(tools: Tools, ann: Text) -> None:
    """With the password and the rights of before, and not without."""
    assert tools.run("topics", "--list", port=9092, properties=ann).split() == ["orders"]
    wrong = {**ann, "sasl.jaas.config": ann["sasl.jaas.config"].replace('password="', 'password="x')}
    with pytest.raises(AssertionError, match="Authentication failed"):
        tools.run("topics", "--list", port=9092, properties=wrong)
    with pytest.raises(AssertionError, match=r"(?i)authoriz"):
        tools.run("topics", "--delete", "--topic", "orders", port=9092, properties=ann)
    nameless = {key: value for key, value in tools.owner().items() if "keystore" not in key}
    for properties in ({"security.protocol": "PLAINTEXT"}, nameless):
        with pytest.raises((AssertionError, subprocess.TimeoutExpired)):
            tools.run("topics", "--list", properties=properties, seconds=15)


def test_a_secure_cluster_made_of_its_archive_is_as_secure_as_it_was(
    story: Story, sampled: Callable[[str], None], tmp_path: Path
) -> None:
    tools = Tools(story, tmp_path)
    for topic in ("orders", "payroll"):
        tools.run("topics", "--create", "--topic", topic)
    a_user_of_one_topic(story, "ann", "orders")
    ann = tools.login("ann")
    as_secure_as_it_was(tools, ann)
    rules, old = tools.run("acls", "--list"), story.directories()
    until = archived(story)

    everything_is_deleted(story)
    story.await_condition("ManualInterventionRequired", "True", "QuorumLost", 240)
    ask(story)
    verdict = operation(story)["status"]["verdict"]
    assert (verdict["seed"], [each["nodeID"] for each in verdict["copies"]]) == (-1, [-1]), verdict
    assert verdict["copies"][0]["end"] >= until
    assert "Succeeded: generation" in ask(story, verdict["hash"])
    brokers_are_given_up(story, old, tools.elect)

    assert tools.login("ann") == ann, "nobody gave it another password"
    as_secure_as_it_was(tools, ann)
    assert {"orders", "payroll"} <= set(tools.run("topics", "--list").split())
    assert sorted(tools.run("acls", "--list").splitlines()) == sorted(rules.splitlines()), "every rule is there"
    assert story.condition("Secure")["status"] == "True"
    assert story.ledger()["security"] == "Required"
    archived(story)
    sampled(f"a secure cluster made of its archive, up to offset {verdict['copies'][0]['end']}")
