"""A running cluster that another operator laid out is taken over, one pod at a time, under a producer with acks=all.

Apache Kafka's nodes in pods of no StatefulSet, laid out as Strimzi's are (`support/kubernetes/strimzi_layout.py`). What
`docs/operations/adopt-from-strimzi.md` tells a person to do is done here, in its order: two controllers, the brokers,
the last controller. Node ids, directory ids and volumes stay. Four clusters: `plaintext`; `tls`, mutual between nodes
by Strimzi's authority, with a listener for clients that encrypts, and two volumes of each broker; `authorized`, where
besides nothing is allowed that no ACL allows, and clients log in by password; `combined`, as `tls`, whose three nodes
are controllers and brokers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kraft_operator.kube import CLAIM, POD, SECRET, VOLUME, Kind
from support.apache_kafka.runbook import blocks
from support.clients.steady_load import TOPIC, WRITER, SteadyLoad
from support.kubernetes.cluster import CUSTOM_RESOURCE, Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import DEVCLUSTER, Images, OperatorProcess, Story, eventually, operator
from support.kubernetes.secure_clients import Client, secret
from support.kubernetes.strimzi_layout import (
    CONTROL,
    CONTROLLERS,
    KAFKA,
    NODE_POOL,
    OLD,
    REPLICATION,
    Old,
    definition,
    is_ready,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]
OURS: Final = "kraft.quorate.dev"
PAGE: Final = "adopt-from-strimzi.md"
Volumes = dict[tuple[int, int], str]
"""Of each node's disks, by Strimzi's number: the volume."""
PASSWORD: Final = "of-the-writer"


def new_claim(old: Old, node_id: int, number: int) -> str:
    further = "" if number == old.numbers(node_id)[0] else f"v{number}-"
    return f"data-{further}{new_pod(node_id)}"


def new_pod(node_id: int) -> str:
    return f"c-{'controller' if node_id in CONTROLLERS else 'b'}-{node_id}-0"


def new_host(old: Old, node_id: int) -> str:
    return f"{new_pod(node_id)}.c-nodes.{old.namespace}.svc.cluster.local"


@pytest.fixture(scope="module", params=["plaintext", "tls", "authorized", "combined"])
def old(
    request: pytest.FixtureRequest, kubernetes: Kubernetes, resource_definition: None, images: Images
) -> Iterator[Old]:
    secure, authorized = request.param != "plaintext", request.param == "authorized"
    with kubernetes.namespace("op-adopts") as namespace:
        layout = {"several": request.param == "tls", "combined": request.param == "combined"}
        found = Old(kubernetes, namespace, images("apache-kafka"), tls=secure, authorized=authorized, **layout)
        found.start()
        yield found


@pytest.fixture(scope="module")
def story(old: Old) -> Story:
    return Story(old.kubernetes, old.namespace, old.image)


@pytest.fixture(scope="module")
def running(old: Old, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    with operator(old.namespace, Path(tmp_path_factory.mktemp("adopts")), images, port=19670) as process:
        yield process


class Tools:
    """Kafka's tools as who runs the takeover has them: with the certificate of an old node."""

    def __init__(self, old: Old, story: Story, folder: Path) -> None:
        self.client, self.properties = Client(story, folder), dict[str, str]()
        if old.tls:
            for key in ("keystore.pem", "ca.crt"):
                (folder / key).write_text(secret(story, old.name(old.brokers[0]), key))
            self.properties = {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM", "ssl.keystore.location": str(folder / "keystore.pem"),
                "ssl.truststore.type": "PEM", "ssl.truststore.location": str(folder / "ca.crt"),
            }  # fmt: skip

    def run(self, tool: str, host: str, *arguments: str) -> str:
        where = ("--bootstrap-server", host) if not host.endswith(":9090") else ("--bootstrap-controller", host)
        return self.client.run(tool, self.properties, *where, *arguments)


@pytest.fixture(scope="module")
def tools(old: Old, story: Story, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(old, story, Path(tmp_path_factory.mktemp("tools")))


@pytest.fixture(scope="module")
def load(old: Old, story: Story, tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SteadyLoad]:
    port = old.clients["port"]
    own, (one, other, *_) = f"{old.host(old.brokers[0])}:9091", old.brokers
    tools.run("topics", own, "--create", "--topic", TOPIC, "--replica-assignment", f"{one}:{other},{other}:{one}")
    settings: dict[str, str] = {}
    if old.tls:
        settings = {"security.protocol": "SSL", "ssl.ca.location": str(tools.client.folder / "ca.crt")}
    if old.authorized:
        login = f"SCRAM-SHA-512=[password={PASSWORD}]"
        named = ("--entity-type", "users", "--entity-name", "writer")
        tools.run("configs", own, "--alter", "--add-config", login, *named)
        allowed = ("--allow-principal", "User:writer", "--operation", "All", "--topic", TOPIC, "--group", "all")
        tools.run("acls", own, "--add", *allowed)
        settings |= {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
        settings |= {"sasl.username": "writer", "sasl.password": PASSWORD}
    folder = Path(tmp_path_factory.mktemp("load"))
    file, further = folder / "acknowledged", folder / "client.json"
    file.touch()
    further.write_text(json.dumps(settings))
    environment = {**os.environ, "STEADY_CLIENT": str(further)}
    to_come = ",".join(f"{new_host(old, each)}:{port}" for each in old.brokers)
    here = ",".join(f"{old.host(each)}:{port}" for each in old.brokers)
    with writing(f"{here},{to_come}", file, environment) as process:
        found = SteadyLoad(story, process, file, (), to_come, environment)
        found.goes_on()
        yield found


@contextmanager
def writing(bootstrap: str, file: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [*DEVCLUSTER, "in", sys.executable, str(WRITER), "write", bootstrap, TOPIC, str(file)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.wait(300)


@pytest.fixture(scope="module")
def volumes(old: Old) -> Iterator[Volumes]:
    """They outlive their claims, until the story is over."""
    found = {(node_id, number): old.volume(node_id, number) for node_id, number in old.disks}
    for name in found.values():
        old.gateway.patch(VOLUME, "", name, {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    yield found
    for name in found.values():
        old.gateway.patch(VOLUME, "", name, {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})


def take(old: Old, volumes: Volumes, node_id: int) -> None:
    """The old pod goes, its directories get our name, its volumes our claims; then the operator starts the node."""
    old.gone(old.name(node_id))
    old.rename(node_id)
    for number in old.numbers(node_id):
        old.gone(old.claim(node_id, number))
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": old.namespace}
        bound = {**reference, "name": new_claim(old, node_id, number), "uid": None, "resourceVersion": None}
        old.gateway.patch(VOLUME, "", volumes[node_id, number], {"spec": {"claimRef": bound}})
    eventually(f"node {node_id} runs", lambda: is_ready(old.gateway.get(POD, old.namespace, new_pod(node_id))))


def voter_moved(old: Old, tools: Tools, node_id: int) -> bool:
    """The log knows the voter by its new name, as the node says that was taken first, whoever leads."""
    told = tools.run("metadata-quorum", f"{new_host(old, 0)}:9090", "describe", "--status")
    said = next(line for line in told.splitlines() if line.startswith("CurrentVoters"))
    return new_host(old, node_id).removesuffix(".cluster.local") in said


def whole(old: Old, tools: Tools, broker: int) -> bool:
    """Every partition has both replicas in sync, as this broker says."""
    told = tools.run("topics", f"{new_host(old, broker)}:9091", "--describe", "--topic", TOPIC)
    isr = [line.partition("Isr: ")[2].split()[0] for line in told.splitlines() if "Isr: " in line]
    return len(isr) == 2 and all(set(each.split(",")) == set(map(str, old.brokers[:2])) for each in isr)


def as_it_is_written(old: Old, heading: str, folder: Path) -> None:
    """The shell commands of the page below this heading."""
    folder.mkdir()
    kubectl = folder / "kubectl"
    command = " ".join((*old.kubernetes.kubectl_command, "-n", old.namespace))
    ours = f"{sys.executable} -m kraft_operator.plugin.main"
    plugin = f'if [ "$1" = kraft ]; then shift; exec {ours} "$@"; fi\n'
    kubectl.write_text(f'#!/bin/sh\n{plugin}exec {command} "$@"\n')
    kubectl.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    for block in blocks(PAGE, heading, "sh"):
        text = block.replace("OLD", OLD)
        subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True, cwd=folder, env=environment, timeout=120)


def given_and_refused(old: Old, story: Story, folder: Path) -> None:
    """Nothing is issued without the authority of the nodes that run, or with what is none."""
    story.await_condition("CertificatesValid", "False", "AuthorityAwaited")
    old.secret("c-ca", {"tls.crt": old.authority.certificate})
    found = story.await_condition("CertificatesValid", "False", "AuthorityRefused")
    assert "it has no tls.key" in found["message"]
    for name in ("c-ca-cert", "c-0-tls", "c-operator-tls"):
        assert old.gateway.find(SECRET, old.namespace, name) is None
    wrong = old.gateway.get(SECRET, old.namespace, "c-ca")
    old.gateway.delete(SECRET, old.namespace, "c-ca", uid=wrong["metadata"]["uid"])
    as_it_is_written(old, "Its certificate authority", folder / "page")
    eventually(
        "nodes have certificates", lambda: old.gateway.find(SECRET, old.namespace, f"c-{old.nodes[-1]}-tls") is not None
    )
    assert secret(story, "c-ca-cert", "ca.crt") == old.authority.certificate


def by_hand(old: Old, volumes: Volumes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The claims, and what is changed of the resource: of nodes that speak plaintext, which Strimzi's never do."""
    claims = []
    for (node_id, number), volume in volumes.items():
        role, pool = ("controller", "controller") if node_id in CONTROLLERS else ("broker", "b")
        labels = {"cluster": "c", "role": role, "pool": pool, "node-id": str(node_id)}
        marks = {"cluster-id": old.cluster_id, "node-id": "0", "directory-id": old.directories[0]}
        meta = {
            "name": new_claim(old, node_id, number),
            "labels": {f"{OURS}/{key}": value for key, value in labels.items()},
        }
        if node_id == 0:
            meta["annotations"] = {f"{OURS}/{key}": value for key, value in marks.items()}
        asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": volume}
        claims.append({"metadata": meta, "spec": asked})
    return claims, {
        "clusterID": old.cluster_id, "bootstrap": {"policy": "AdoptOnly"}, "networkPolicy": {"mode": "Off"},
        "endpoints": {"controller": [CONTROL], "broker": [REPLICATION, old.clients]},
        "security": {"tls": {"mode": "Disabled"}}, "recoveryPolicy": {"lostDisk": "Report"},
    }  # fmt: skip


def converted(old: Old, folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The same as the page's commands make them of what Strimzi has on the API server."""
    for kind in (KAFKA, NODE_POOL):
        old.gateway.apply(CUSTOM_RESOURCE, definition(kind))
    for kind, body in old.resources():
        eventually(f"a {kind.kind} is taken", partial(created, old, kind, body))
    as_it_is_written(old, "The claims and the resource", folder)
    text = (folder / "takeover.yaml").read_text()
    assert "# find out: the directory id" not in text
    *claims, resource = yaml.safe_load_all(text)
    assert (resource["metadata"]["name"], resource["metadata"]["namespace"]) == ("c", old.namespace)
    return claims, resource["spec"]


def created(old: Old, kind: Kind, body: dict[str, Any]) -> bool:
    name = body["metadata"]["name"]
    return bool(old.gateway.find(kind, old.namespace, name) or old.gateway.create(kind, old.namespace, body))


def test_claims_of_the_volumes_wait_and_nothing_is_formatted(
    old: Old, story: Story, running: OperatorProcess, load: SteadyLoad, volumes: Volumes, tmp_path: Path
) -> None:
    claims, spec = converted(old, tmp_path / "resource") if old.tls else by_hand(old, volumes)
    assert {each["metadata"]["name"]: each["spec"]["volumeName"] for each in claims} == {
        new_claim(old, *disk): volume for disk, volume in volumes.items()
    }
    for claim in claims:
        old.gateway.create(CLAIM, old.namespace, claim)
    if old.tls:
        story.spec = spec
        story.apply()
    else:
        story.apply(**spec)
    eventually("the operator knows the first disk", lambda: story.directories() == {0: old.directories[0]})
    assert story.ledger()["doubted"] == list(old.nodes[1:])
    if old.tls:
        assert story.ledger()["security"] == ("Required" if old.authorized else "Required/Authorized")
        given_and_refused(old, story, tmp_path)


def test_two_controllers_are_taken_one_after_the_other(
    old: Old, running: OperatorProcess, tools: Tools, load: SteadyLoad, volumes: Volumes
) -> None:
    for node_id in (0, 1):
        take(old, volumes, node_id)
        eventually(f"voter {node_id} has its new name", partial(voter_moved, old, tools, node_id))
        if node_id in old.brokers:
            eventually("its replicas are in sync", partial(whole, old, tools, node_id))
        load.goes_on()


def test_brokers_are_taken_while_the_other_serves(
    old: Old, running: OperatorProcess, tools: Tools, load: SteadyLoad, volumes: Volumes
) -> None:
    for node_id in sorted(set(old.brokers) - set(CONTROLLERS)):
        take(old, volumes, node_id)
        eventually("its replicas are in sync", partial(whole, old, tools, node_id))
        load.goes_on()


def test_the_last_controller_is_taken_and_nothing_is_lost(
    old: Old, story: Story, running: OperatorProcess, tools: Tools, load: SteadyLoad, volumes: Volumes
) -> None:
    take(old, volumes, 2)
    eventually("voter 2 has its new name", lambda: voter_moved(old, tools, 2))
    story.await_ready()
    assert {each: story.directories()[each] for each in CONTROLLERS} == old.directories
    assert story.voters() == {each: (directory, "Live") for each, directory in old.directories.items()}
    claims = {disk: old.gateway.get(CLAIM, old.namespace, new_claim(old, *disk)) for disk in volumes}
    assert {disk: claim["spec"]["volumeName"] for disk, claim in claims.items()} == volumes
    further = {(each["nodeID"], each["volume"]): each["pvName"] for each in story.ledger().get("volumes", ())}
    assert further == {(node_id, "v0"): volumes[node_id, 0] for node_id in old.brokers if old.several}
    assert not story.ledger().get("doubted")
    if old.tls:
        assert secret(story, "c-ca", "tls.crt") == old.authority.certificate
        told = story.condition("CertificatesValid")
        assert (told["status"], told["reason"]) == ("True", "Valid" if old.authorized else "BecomesSecure")
        assert story.condition("Secure")["status"] == ("True" if old.authorized else "False")
    story.apply(networkPolicy=None, recoveryPolicy=None)
    story.await_ready()
    load.goes_on()


def test_the_old_nodes_have_no_rights_any_more_and_what_no_acl_allows_is_denied(
    old: Old, story: Story, running: OperatorProcess, tools: Tools, load: SteadyLoad, tmp_path: Path
) -> None:
    if not old.tls:
        pytest.skip("nobody says who he is")
    own = f"{new_host(old, old.brokers[0])}:9091"
    assert TOPIC in tools.run("topics", own, "--list"), "an old node's certificate still is a super user's"
    if not old.authorized:
        anybody = ("--allow-principal", "User:ANONYMOUS", "--operation", "All", "--topic", TOPIC, "--group", "all")
        tools.run("acls", own, "--add", *anybody)
    before = {name: each["metadata"]["uid"] for name, each in story.pods().items()}
    story.apply(security={"tls": {"mode": "Required"}, "authorization": {"mode": "Enforced"}})

    def all_anew() -> bool:
        return {name: each["metadata"]["uid"] for name, each in story.pods().items()}.items().isdisjoint(before.items())

    eventually("every pod is restarted", all_anew, 600)
    story.await_condition("Secure", "True")
    story.await_condition("Ready", "True", seconds=600)  # one more restart of each, if it was a transition
    assert story.ledger()["security"] == "Required"
    load.goes_on()
    with pytest.raises(AssertionError, match=r"[Aa]uthoriz"):
        tools.run("acls", own, "--list")
    ours = Client(story, tmp_path)
    assert "User:" in ours.run("acls", ours.as_operator(), "--bootstrap-server", own, "--list")


def test_whatever_was_acknowledged_is_there(old: Old, story: Story, load: SteadyLoad) -> None:
    load.goes_on()
    load.stop()
    acknowledged = load.acknowledged()
    assert len(acknowledged) > 100
    assert acknowledged <= load.read_back()
    assert "FormatRefused" not in json.dumps(story.resource()["status"])
