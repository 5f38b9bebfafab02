"""A cluster that is secure from the beginning, on a real Kubernetes: its nodes, the operator and Kafka's tools speak
TLS with certificates of its own authority, and whoever shows none is refused.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft_operator.kube import POD, SECRET, USER
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.key_server import KeyServer, key_server
from support.kubernetes.operator_process import Images, OperatorProcess, Story, eventually, operator, pool
from support.kubernetes.producing import producing
from support.kubernetes.secure_clients import Client, Text, in_a_pod, is_ready, of_user, secret, user

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

CERTIFICATES, TOKENS = 9095, 9096


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-secure") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def provider(story: Story) -> KeyServer:
    return key_server(story.kubernetes, story.namespace, story.image)


@pytest.fixture(scope="module")
def running(
    story: Story, provider: KeyServer, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    with operator(story.namespace, Path(tmp_path_factory.mktemp("operator")), images) as process:
        tls = {"mode": "Required", "validity": "12m", "rotation": {"waitForClients": "0s"}}
        brokers = [
            {"name": "REPLICATION", "port": 9091},
            {"name": "CLIENTS", "port": 9092},
            {"name": "CERTS", "port": CERTIFICATES, "authentication": {"type": "Tls"}},
            provider.listener("TOKENS", TOKENS, "name"),
        ]
        story.apply(security={"tls": tls}, brokerPools=[pool(3)], endpoints={"broker": brokers})
        story.await_ready()
        yield process


@pytest.fixture
def client(story: Story, tmp_path: Path) -> Client:
    return Client(story, tmp_path)


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


def test_clients_come_by_certificate_and_by_token(
    story: Story, running: OperatorProcess, provider: KeyServer, client: Client, images: Images
) -> None:
    """Each at a listener of its own, as what a Secret of the operator or a token of the provider says, and refused
    without. The certificate of a deleted user still connects, and may nothing.
    """
    client.run("topics", client.as_operator(), *client.own, "--create", "--topic", "sold")
    rights: list[dict[str, object]] = [
        {"resource": {"type": "Topic", "name": "sold"}, "operations": ["Read", "Write", "Describe"]}
    ]
    for name, by in (("sue", "Tls"), ("tom", "External")):
        user(story, name, rights, by)
    eventually("both are ready", lambda: is_ready(story, "sue") and is_ready(story, "tom"), 120)
    own = client.folder / "sue.pem"
    own.write_text(secret(story, "sue-credentials", "keystore.pem"))
    nobody = client.at(CERTIFICATES)
    sue = {**nobody, "ssl.certificate.location": str(own), "ssl.key.location": str(own)}
    bearer = {**client.at(TOKENS), "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    tom = {**bearer, "token": provider.token("4711", name="tom")}
    all_is_well, denied = {"outcomes": ["written"], "read": 9}, {"outcomes": ["TOPIC_AUTHORIZATION_FAILED"], "read": 0}
    eventually("sue's rights have come", lambda: client.by_librdkafka(sue, "sold", "9") == all_is_well, 120)
    eventually("tom's rights have come", lambda: client.by_librdkafka(tom, "sold", "9") == all_is_well, 120)
    assert client.by_librdkafka({**bearer, "token": provider.token("4711", name="eve")}, "sold", "1") == denied
    for claims in ({"aud": "others"}, {"exp": int(time.time()) - 600}):
        wrong = {**bearer, "token": provider.token("4711", **{"name": "tom", **claims})}
        assert client.by_librdkafka(wrong, "refusal") == {"refused": "_AUTHENTICATION"}
    assert client.by_librdkafka(nobody, "refusal")["refused"] in ("_SSL", "_TRANSPORT", "_ALL_BROKERS_DOWN")
    listed = client.run("topics", of_user(story, "sue"), client.own[0], str(nobody["bootstrap.servers"]), "--list")
    assert listed.split() == ["sold"]
    if os.environ.get("QUORATE_SOAK"):
        assert in_a_pod(story, "sue", "--list", image=images("apache-kafka")).split() == ["sold"]
    story.kubernetes.kubectl("-n", story.namespace, "delete", "kraftuser", "sue")
    eventually("sue may nothing any more", lambda: client.by_librdkafka(sue, "sold", "1") == denied, 180)


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
