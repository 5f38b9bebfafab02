"""Listeners by which clients come with a certificate or a token, as the operator renders them: the same file makes a
broker of ours and one of Apache Kafka take the same clients, and refuse the same ones.

Files, certificates and environment are those that the operator writes into its objects; only addresses, ports and
directories are of this machine.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kraft_operator.credentials import Subject
from kraft_operator.security.certificates import Issuer, Pair
from support.apache_kafka.java_kafka import JavaNode, require_java, run_tool
from support.apache_kafka.kafka_python import AbstractTokenProvider, KafkaProducer
from support.apache_kafka.mixed_cluster import read_by_librdkafka, write_by_librdkafka
from support.kubernetes.ingress_controller import IngressController, listening
from support.nodes.processes import ENVIRONMENT, NodeProcess, eventually, free_ports
from support.operator_model.secure_runs import SecureRun, data, later, properties, secure
from support.operator_model.world import pool
from support.security.authority import Authority
from support.security.identity_provider import AUDIENCE, ISSUER, IdentityProvider

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(300)]

CONTROLLER, OURS, JAVAS = 0, 100, 101
SECONDS: Final = 120.0
NAMES: Final = {CONTROLLER: "c-controller-0", OURS: "c-b-100", JAVAS: "c-b-101"}
BEGIN: Final = "kafka.passed.test"
BY_NAME: Final = {"bootstrapHost": BEGIN, "brokerHost": "broker-{nodeID}.passed.test"}
OTHER_ISSUER: Final = "https://others.example"
SESSION: Final = "5s"
_ENDPOINT: Final = re.compile(r"([A-Z]+)://[^:,]*:[0-9]+")


@dataclass
class Rendered:
    """A cluster of the operator's model on this machine: controller 0 and broker 100 are ours, 101 is Java's."""

    directory: Path
    run: SecureRun
    provider: IdentityProvider
    others: IdentityProvider
    """Of the listener OTHERS, with another issuer; logins hold for SESSION there."""
    ports: dict[int, dict[str, int]] = field(default_factory=dict)
    nodes: dict[int, NodeProcess] = field(default_factory=dict)
    java: JavaNode | None = None
    outside: int = 0
    """Where clients outside are passed on by the names that they ask for."""

    def start(self) -> None:
        for node_id in NAMES:
            self.nodes[node_id] = self._node(node_id)
        self.nodes[CONTROLLER].format("--standalone")
        for node_id in (OURS, JAVAS):
            self.nodes[node_id].format()
        for node_id in (CONTROLLER, OURS):
            self.nodes[node_id].start()
        eventually("ours is ready", lambda: self.nodes[OURS].http("/readyz")[0] == 200, SECONDS)
        self.run.api.edit(probes="TCP")
        self.run.settle()
        flags = self.environment(JAVAS)["EXTRA_ARGS"].split()
        java = self.nodes[JAVAS]
        self.java = JavaNode(java.properties_file, java.directory / "java.log", *flags)
        self.java.wait_for_log("Kafka Server started", SECONDS)

    def environment(self, node_id: int) -> dict[str, str]:
        spec = self.run.world.children["StatefulSet", NAMES[node_id]].live["spec"]["template"]["spec"]
        kafka = next(each for each in spec["containers"] if each["name"] == "kafka")
        return {each["name"]: each["value"] for each in kafka["env"] if "value" in each}

    def _node(self, node_id: int) -> NodeProcess:
        home = self.directory / f"node-{node_id}"
        home.mkdir()
        for key in ("keystore.pem", "ca.crt"):
            (home / key).write_text(data(self.run, f"c-{node_id}-tls", key))
        found = {key: text.replace("/etc/kafka/tls", str(home)) for key, text in
                 properties(self.run, NAMES[node_id]).items()}  # fmt: skip
        names = _ENDPOINT.findall(found["listeners"])
        *ports, http_port = free_ports(len(names) + 1)
        self.ports[node_id] = dict(zip(names, ports, strict=True))
        found["listeners"] = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports[node_id].items())
        told = found["listeners"].replace("127.0.0.1", "localhost")
        if "OUTSIDE" in names:
            rendered = next(each for each in found["advertised.listeners"].split(",") if each.startswith("OUTSIDE:"))
            told = told.replace(f"OUTSIDE://localhost:{self.ports[node_id]['OUTSIDE']}", rendered)
        found["advertised.listeners"] = told
        found["controller.quorum.bootstrap.servers"] = f"localhost:{self.ports[CONTROLLER]['CONTROLLER']}"
        found["log.dirs"] = str(home / "data")
        beside = self.environment(node_id) | {"QUORATE_HTTP_LISTENER": f"127.0.0.1:{http_port}"}
        return NodeProcess(
            node_id, home, found, ports[0], http_port,
            environment={**ENVIRONMENT, **{key: text for key, text in beside.items() if key.startswith("QUORATE_")}},
        )  # fmt: skip

    def at(self, node_id: int, listener: str) -> dict[str, Any]:
        return {
            "bootstrap.servers": f"localhost:{self.ports[node_id][listener]}",
            "ssl.ca.location": str(self.nodes[OURS].directory / "ca.crt"),
            "socket.timeout.ms": 10_000,
            "message.timeout.ms": 20_000,
        }

    def by_certificate(self, node_id: int, name: str, listener: str = "CERTS") -> dict[str, Any]:
        """Of a certificate that the cluster's authority has issued."""
        place = self.directory / f"{name}.pem"
        if not place.exists():
            authority = Pair(data(self.run, "c-ca", "tls.key"), data(self.run, "c-ca", "tls.crt"))
            made = Issuer().issue(authority, Subject(name, "shop", "corp"), (), 3600.0)
            place.write_text(made.key + made.certificate)
        own = {"ssl.certificate.location": str(place), "ssl.key.location": str(place)}
        return {**self.at(node_id, listener), "security.protocol": "SSL", **own}

    def by_token(self, node_id: int, subject: str, listener: str = "TOKENS", **claims: Any) -> dict[str, Any]:
        """Of the provider of that listener, unless `by` names another one."""
        default = self.provider if listener == "TOKENS" else self.others
        provider: IdentityProvider = claims.pop("by", default)

        def token(config: str) -> tuple[str, float]:
            del config
            issuer = {} if provider is self.provider else {"iss": OTHER_ISSUER}
            return provider.token(subject, **{**issuer, **claims}), time.time() + 600

        return {
            **self.at(node_id, listener), "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": token,
        }  # fmt: skip

    def operator(self) -> dict[str, Any]:
        """As the operator itself comes, who may everything."""
        place = self.directory / "operator.pem"
        place.write_text(data(self.run, "c-operator-tls", "keystore.pem"))
        own = {"ssl.certificate.location": str(place), "ssl.key.location": str(place)}
        return {**self.at(OURS, "REPLICATION"), "security.protocol": "SSL", **own}


def _edited(run: SecureRun, trusted: str, urls: tuple[str, str], outside: int) -> None:
    login = {"jwksURL": urls[0], "issuer": ISSUER, "audiences": [AUDIENCE], "userClaim": "name"}
    other = {**login, "jwksURL": urls[1], "issuer": OTHER_ISSUER, "trustedCertificates": trusted}
    rules = ["RULE:^CN=([^,]+),OU=shop,O=corp$/$1/L"]
    run.api.edit(endpoints={"controller": [{"name": "CONTROLLER", "port": 9093}], "broker": [
        {"name": "REPLICATION", "port": 9091},
        {"name": "CERTS", "port": 9092, "authentication": {"type": "Tls", "principalMappingRules": rules}},
        {"name": "TOKENS", "port": 9094,
         "authentication": {"type": "OAuth", "oauth": {**login, "trustedCertificates": trusted}}},
        {"name": "OTHERS", "port": 9096,
         "authentication": {"type": "OAuth", "oauth": other, "sessionLifetime": SESSION}},
        {"name": "OUTSIDE", "port": 9095, "exposure": "Ingress", "passthrough": {**BY_NAME, "port": outside},
         "authentication": {"type": "Tls", "principalMappingRules": rules}},
    ]})  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rendered]:
    require_java()
    directory = tmp_path_factory.mktemp("rendered")
    authority = Authority("provider-ca")
    own = authority.issue("localhost").write(directory, "provider.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    controllers = {"replicas": 1, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}}
    run = secure(controllers=controllers, brokerPools=[pool("b", 2, 100)])
    run.calendar.date = datetime.now(UTC)
    providers = IdentityProvider(tls=context), IdentityProvider(tls=context)
    with providers[0] as provider, providers[1] as others, pytest.MonkeyPatch.context() as patch:
        (outside,) = free_ports(1)
        _edited(run, authority.pem, (provider.url("jwks"), others.url("jwks")), outside)
        run.settle()
        meta = {"name": "sue", "namespace": "n", "uid": "user-sue", "generation": 1}
        run.world.users["sue"] = {
            "apiVersion": "kraft.quorate.dev/v1alpha1", "kind": "KRaftUser", "metadata": meta,
            "spec": {"clusterName": "c", "authentication": {"type": "Tls"}},
        }  # fmt: skip
        later(run, timedelta(0))
        made = Rendered(directory, run, provider, others, outside=outside)
        allowed = made.environment(OURS)["QUORATE_OAUTHBEARER_ALLOWED_URLS"]
        patch.setenv("QUORATE_OAUTHBEARER_ALLOWED_URLS", allowed)  # `format` runs in this process
        try:
            made.start()
            _prepare(made)
            yield made
        finally:
            if made.java is not None:
                made.java.kill()
            for node in made.nodes.values():
                node.kill()


def _prepare(world: Rendered) -> None:
    admin = AdminClient(world.operator())
    topics = [NewTopic(f"on-{each}", 1, replica_assignment=[[each]]) for each in (OURS, JAVAS)]
    for made in admin.create_topics(topics).values():
        made.result(60)
    acls = [
        AclBinding(ResourceType.TOPIC, "on-", ResourcePatternType.PREFIXED, f"User:{user}", "*", what,
                   AclPermissionType.ALLOW)
        for user in ("ann", "bob") for what in (AclOperation.READ, AclOperation.WRITE)
    ]  # fmt: skip
    acls.append(
        AclBinding(ResourceType.TOPIC, f"on-{OURS}", ResourcePatternType.LITERAL, "User:sue", "*",
                   AclOperation.DESCRIBE, AclPermissionType.ALLOW)
    )  # fmt: skip
    for given in admin.create_acls(acls).values():
        given.result(60)


@pytest.mark.parametrize("broker", [OURS, JAVAS], ids=["ours", "java"])
def test_clients_come_by_certificate_and_by_token(world: Rendered, broker: int) -> None:
    """The rule makes `ann` of the certificate of Ann, the claim `name` makes `bob` of a token."""
    write_by_librdkafka(world.by_certificate(broker, "Ann"), f"on-{broker}", b"by certificate")
    write_by_librdkafka(world.by_token(broker, "4711", name="bob"), f"on-{broker}", b"by token")

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return world.provider.token("4711", name="bob")

    at = world.at(broker, "TOKENS")
    producer = KafkaProducer(
        bootstrap_servers=at["bootstrap.servers"], ssl_cafile=at["ssl.ca.location"], security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER", sasl_oauth_token_provider=Tokens(),
    )  # fmt: skip
    producer.send(f"on-{broker}", b"by kafka-python").get(60)
    producer.close()
    read = read_by_librdkafka(world.by_certificate(broker, "Ann"), f"on-{broker}", 3)
    assert read == [b"by certificate", b"by token", b"by kafka-python"]


def test_the_secret_of_a_user_with_a_certificate_is_all_that_its_clients_need(world: Rendered) -> None:
    """By `client.properties` alone, with a tool of Apache Kafka at both brokers, and by its files with librdkafka."""
    for broker in (OURS, JAVAS):
        text = data(world.run, "sue-credentials", "client.properties")
        file = world.directory / "sue.properties"
        file.write_text(text.replace("c-bootstrap.n.svc.cluster.local:9092", "ignored:1"))
        place = world.at(broker, "CERTS")["bootstrap.servers"]
        listed = run_tool("kafka-topics", "--bootstrap-server", place, "--command-config", str(file), "--list")
        assert listed.out.split() == [f"on-{OURS}"], listed
        own = world.directory / "sue.pem"
        own.write_text(data(world.run, "sue-credentials", "keystore.pem"))
        files = {"ssl.certificate.location": str(own), "ssl.key.location": str(own), "security.protocol": "SSL"}
        assert set(AdminClient({**world.at(broker, "CERTS"), **files}).list_topics(timeout=20).topics) == {f"on-{OURS}"}


@pytest.mark.parametrize("broker", [OURS, JAVAS], ids=["ours", "java"])
def test_who_shows_nothing_or_what_is_for_others_is_refused(world: Rendered, broker: int) -> None:
    denied = Producer(world.by_certificate(broker, "Mallory"))
    assert _written(denied, f"on-{broker}") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    closed = (KafkaError._SSL, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
    assert _refused(world.at(broker, "CERTS") | {"security.protocol": "SSL"}) in closed
    operator = world.operator() | {"bootstrap.servers": world.at(broker, "CERTS")["bootstrap.servers"]}
    assert _refused(operator) in closed, "no rule of this listener makes anybody of it"
    for claims in ({"aud": "others"}, {"iss": "https://others.example"}, {"exp": int(time.time()) - 600}):
        token = world.by_token(broker, "4711", "TOKENS", **{"name": "bob", **claims})
        assert _refused(token) == KafkaError._AUTHENTICATION, claims


@pytest.mark.parametrize("broker", [OURS, JAVAS], ids=["ours", "java"])
def test_each_listener_takes_the_tokens_of_its_own_provider_alone(world: Rendered, broker: int) -> None:
    """Their keys have the same name, so that only the place where keys are read tells them apart."""
    write_by_librdkafka(world.by_token(broker, "4711", "OTHERS", name="bob"), f"on-{broker}", b"by another provider")
    for listener, by in (("OTHERS", world.provider), ("TOKENS", world.others)):
        for issuer in (ISSUER, OTHER_ISSUER):
            token = world.by_token(broker, "4711", listener, name="bob", iss=issuer, by=by)
            assert _refused(token) == KafkaError._AUTHENTICATION, (listener, issuer)


def test_who_stays_logs_in_again_before_the_listeners_session_ends(world: Rendered) -> None:
    """SAS-38: on the connection that it has, whichever broker it is: there are more logins than connections."""
    seen: dict[int, dict[str, Any]] = {OURS: {}, JAVAS: {}}

    def staying(broker: int) -> Producer:
        def told(text: str) -> None:
            seen[broker] = next(
                (each for each in json.loads(text)["brokers"].values() if each["nodeid"] == broker), {}
            )  # fmt: skip

        settings = world.by_token(broker, "4711", "OTHERS", name="bob")
        return Producer({**settings, "statistics.interval.ms": 250, "stats_cb": told})

    clients = {broker: staying(broker) for broker in seen}

    def again(broker: int) -> bool:
        assert _written(clients[broker], f"on-{broker}") is None
        return bool(seen[broker].get("req", {}).get("SaslHandshake", 0) > seen[broker].get("connects", 0))

    for broker in clients:
        eventually("it has logged in again", lambda one=broker: again(one), 60)  # type: ignore[misc]


def test_clients_outside_reach_the_broker_whose_name_they_ask_for(
    world: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through what routes by the rendered Ingresses and reads nothing: kafka-python and a tool of Apache Kafka verify
    the name of each broker, ours and Java's, in its own certificate.
    """
    ways = {(f"c-b-{each}-outside", 9095): world.ports[each]["OUTSIDE"] for each in (OURS, JAVAS)}
    ways["c-bootstrap-outside", 9095] = world.ports[OURS]["OUTSIDE"]
    passing = IngressController(ways, world.outside)
    passing.read(child.live for (kind, _), child in world.run.world.children.items() if kind == "Ingress")
    found = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo",
        lambda host, *rest, **more: found("127.0.0.1" if host in passing.rules else host, *rest, **more),
    )  # fmt: skip
    ann, begin = world.by_certificate(OURS, "Ann"), f"{BEGIN}:{world.outside}"
    with listening(passing):
        producer = KafkaProducer(
            bootstrap_servers=begin, ssl_cafile=ann["ssl.ca.location"], security_protocol="SSL",
            ssl_certfile=ann["ssl.certificate.location"], ssl_keyfile=ann["ssl.key.location"], api_version=(2, 6),
        )  # fmt: skip
        for broker in (OURS, JAVAS):
            producer.send(f"on-{broker}", b"from outside").get(60)
        producer.close()
        assert set(passing.asked) == {BEGIN, "broker-100.passed.test", "broker-101.passed.test"}
        passing.asked.clear()
        hosts = world.directory / "hosts"
        hosts.write_text("".join(f"127.0.0.1 {name}\n" for name in passing.rules))
        config = world.directory / "ann.properties"
        config.write_text(
            "security.protocol=SSL\nssl.keystore.type=PEM\nssl.truststore.type=PEM\n"
            f"ssl.keystore.location={ann['ssl.key.location']}\nssl.truststore.location={ann['ssl.ca.location']}\n"
        )
        monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Djdk.net.hosts.file={hosts}")
        told = run_tool(
            "kafka-get-offsets", "--bootstrap-server", begin, "--command-config", str(config), "--topic", "on-.*"
        )
        assert {line.rpartition(":")[0] for line in told.out.split()} == {"on-100:0", "on-101:0"}, told
        assert set(passing.asked) == {BEGIN, "broker-100.passed.test", "broker-101.passed.test"}


def _refused(settings: dict[str, Any]) -> int:
    """The first that a client is told of a broker that does not let it in."""
    codes: list[int] = []
    client = AdminClient({**settings, "error_cb": lambda error: codes.append(error.code())})

    def told() -> bool:
        client.poll(0.1)
        return bool(codes)

    eventually("the client is refused", told, 30)
    return codes[0]


def _written(producer: Producer, topic: str) -> int | None:
    codes: list[int | None] = []
    producer.produce(topic, b"x", callback=lambda error, _: codes.append(None if error is None else error.code()))
    producer.flush(30)
    return codes[0]
