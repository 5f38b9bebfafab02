"""Canaries in every field of Kafka's that holds a secret: passwords of keystores, keys and truststores, a key in the
configuration itself, the secrets of tokens and logins. Nothing that a node writes or answers has one of them, at level
debug neither, nor does a node that cannot open its store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from controller_runtime.configuration.names import BY_NAME
from support.nodes.processes import Cluster, NodeProcess, kraft
from support.security.authority import Authority, Identity, secure_properties, tls_properties, write_properties

pytestmark = pytest.mark.integration

STORE, TRUST, KEY, TOKENS = "c4nary-store", "c4nary-trust", "c4nary-key", "c4nary-tokens"
LOGINS = {
    "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required password="c4nary-jaas";',
    "sasl.oauthbearer.assertion.private.key.passphrase": "c4nary-passphrase",
    "sasl.oauthbearer.client.credentials.client.secret": "c4nary-client",
}
"""Of no listener: what is set and unused is a secret, too."""
SECRETS = {name for name, row in BY_NAME.items() if row.kind == "password"} - {"ssl.truststore.certificates"}
"""All names of that type that Kafka has. That one is public, and set by nobody here."""


@dataclass
class Planted:
    cluster: Cluster
    authority: Authority
    secrets: list[str] = field(default_factory=lambda: ["c4nary"])


def pkcs12_stores(node: NodeProcess, own: Identity, authority: Authority) -> dict[str, str]:
    """Both stores with a password."""
    closed = BestAvailableEncryption(STORE.encode())
    kept = node.directory / "own.p12"
    kept.write_bytes(pkcs12.serialize_key_and_certificates(b"own", own.key, own.certificate, None, closed))
    trusted = node.directory / "trusted.p12"
    anchors = [pkcs12.PKCS12Certificate(authority.certificate, b"ca")]
    trusted.write_bytes(pkcs12.serialize_java_truststore(anchors, BestAvailableEncryption(TRUST.encode())))
    return {
        "ssl.keystore.type": "PKCS12", "ssl.keystore.location": str(kept), "ssl.keystore.password": STORE,
        "ssl.truststore.type": "PKCS12", "ssl.truststore.location": str(trusted), "ssl.truststore.password": TRUST,
    }  # fmt: skip


def encrypted_key(node: NodeProcess, own: Identity) -> dict[str, str]:
    kept = node.directory / "own.pem"
    kept.write_text(own.key_pem(KEY) + own.chain_pem)
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(kept), "ssl.key.password": KEY}


def key_in_the_file(own: Identity) -> dict[str, str]:
    def line(pem: str) -> str:
        return pem.replace("\n", "\\n")

    return {
        "ssl.keystore.type": "PEM", "ssl.keystore.key": line(own.key_pem()),
        "ssl.keystore.certificate.chain": line(own.chain_pem),
    }  # fmt: skip


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    directory = tmp_path_factory.mktemp("stores")
    made, authority = Cluster(directory, controllers=1, brokers=2), Authority("cluster-ca")
    found, trusted = Planted(made, authority), authority.write(directory)
    for number, node in enumerate(made.nodes.values()):
        own = authority.issue(f"node-{node.node_id}")
        node.directory.mkdir(parents=True, exist_ok=True)
        secured = secure_properties(Path("unused"), trusted)
        del secured["ssl.keystore.location"]
        node.properties |= secured
        stores = (
            pkcs12_stores(node, own, authority), encrypted_key(node, own), key_in_the_file(own)
        )[number]  # fmt: skip
        node.properties |= {**stores, **LOGINS, "delegation.token.secret.key": TOKENS, "quorate.log.level": "debug"}
        found.secrets.append(own.key_pem().splitlines()[1])
    with made:
        made.start()
        made.wait_until_unfenced()
        yield found


def described(planted: Planted, node: NodeProcess, directory: Path) -> str:
    """All its configurations, as a tool shows them."""
    own = planted.authority.issue("admin").write(directory, "admin.pem")
    properties = {"security.protocol": "SSL", **tls_properties(own, planted.authority.write(directory))}
    config = str(write_properties(directory / "client.properties", properties))
    kind = "controller" if node in planted.cluster.controller_nodes else "server"
    to = (f"--bootstrap-{kind}", str(node.endpoint), "--command-config", config)
    of_node = ("--entity-type", "brokers", "--entity-name", str(node.node_id))
    seen = kraft("configs", *to, "--describe", "--all", *of_node)
    assert seen.returncode == 0, seen.stderr
    return seen.stdout + seen.stderr


def test_nothing_that_a_node_says_has_a_secret_of_its_stores(planted: Planted, tmp_path: Path) -> None:
    """SEC-01, SEC-03, ATK-10."""
    seen = set()
    for node in planted.cluster.nodes.values():
        configs = described(planted, node, tmp_path)
        for name in SECRETS & set(node.properties):
            seen.add(name)
            assert f"{name}=null sensitive=true" in configs, (node.node_id, name)
        log = node.log()
        assert " DEBUG " in log
        for output in (configs, log, node.http("/metrics")[1], node.http("/readyz")[1]):
            assert [secret for secret in planted.secrets if secret in output] == []
    assert seen == SECRETS


@pytest.mark.parametrize("name", ["ssl.keystore.password", "ssl.truststore.password"])
def test_a_node_that_cannot_open_a_store_does_not_say_by_what(planted: Planted, tmp_path: Path, name: str) -> None:
    node = Cluster(tmp_path, controllers=1).nodes[1]
    node.directory.mkdir(parents=True, exist_ok=True)
    node.format("--standalone")
    own = planted.authority.issue("node-1")
    trusted = planted.authority.write(tmp_path)
    secured = secure_properties(trusted, trusted) | pkcs12_stores(node, own, planted.authority)
    node.properties |= {**secured, name: "c4nary-wrong", "quorate.log.level": "debug"}
    node.start()
    assert node.wait() == 1
    assert name.removesuffix(".password") in node.log()
    assert "c4nary" not in node.log()
