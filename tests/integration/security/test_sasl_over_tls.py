"""SASL_SSL: nodes and clients say who they are inside TLS, and neither does without the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.nodes.processes import kraft
from support.nodes.strangers import metrics
from support.security.authority import Authority, tls_properties, write_properties
from support.security.sasl_cluster import PASSWORD, SCRAM_USER, USER, SaslCluster, client_file

pytestmark = pytest.mark.integration

PROTOCOLS = "CONTROLLER:SASL_SSL,PLAINTEXT:PLAINTEXT,CLIENTS:SASL_SSL"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("cluster-ca")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[SaslCluster]:
    directory = tmp_path_factory.mktemp("sasl-over-tls")
    trusted = authority.write(directory)
    with SaslCluster(directory) as made:
        for node in made.nodes.values():
            own = authority.issue(f"node-{node.node_id}").write(node.directory)
            node.properties |= {"listener.security.protocol.map": PROTOCOLS, **tls_properties(own, trusted)}
        made.start()
        made.wait_until_unfenced()
        yield made


def client(
    directory: Path, mechanism: str, user: str, trusted: Authority, *, password: str = PASSWORD, own: Path | None = None
) -> str:
    path = directory / "client.properties"
    client_file(path, mechanism, user, password, protocol="SASL_SSL")
    more = {**tls_properties(own, trusted.write(directory)), "default.api.timeout.ms": "5000"}
    return str(write_properties(path, dict(line.split("=", 1) for line in path.read_text().splitlines()) | more))


def listed(cluster: SaslCluster, config: str) -> tuple[int, str]:
    seen = kraft("topics", "--bootstrap-server", cluster.clients, "--command-config", config, "--list")
    return seen.returncode, seen.stdout + seen.stderr


@pytest.mark.parametrize(("mechanism", "user"), [("PLAIN", USER), ("SCRAM-SHA-512", SCRAM_USER)])
def test_clients_and_nodes_come_by_sasl_inside_tls(
    cluster: SaslCluster, authority: Authority, tmp_path: Path, mechanism: str, user: str
) -> None:
    """The broker is one of them: by SCRAM, or it would not be ready."""
    config = client(tmp_path, mechanism, user, authority)
    made = kraft(
        "topics", "--bootstrap-server", cluster.clients, "--command-config", config, "--create", "--topic", mechanism
    )
    assert made.returncode == 0, made.stderr
    to = ("--bootstrap-controller", cluster.bootstrap_controllers, "--command-config", config)
    assert "LeaderId:" in kraft("metadata-quorum", *to, "describe", "--status").stdout


def test_a_certificate_does_not_stand_for_a_password(
    cluster: SaslCluster, authority: Authority, tmp_path: Path
) -> None:
    """With TLS, and a certificate of the right authority, but a wrong password: refused in SASL's words."""
    own = authority.issue("admin").write(tmp_path, "admin.pem")
    code, said = listed(cluster, client(tmp_path, "PLAIN", USER, authority, password="wrong", own=own))
    assert (code, "Invalid username or password" in said) == (1, True)
    broker = next(iter(cluster.broker_nodes))
    assert metrics(broker)["quorate_authentications_failed_total"] > 0


def test_no_password_goes_to_whom_the_client_does_not_trust_or_in_the_clear(
    cluster: SaslCluster, tmp_path: Path
) -> None:
    """Attack: a server of another authority, and a client that forgot TLS: both end before SASL begins."""
    broker = next(iter(cluster.broker_nodes))
    before = metrics(broker)
    in_the_clear = client_file(tmp_path / "clear.properties", "PLAIN", USER, PASSWORD)
    with open(in_the_clear, "a") as file:
        file.write("default.api.timeout.ms=3000\n")
    assert listed(cluster, client(tmp_path, "PLAIN", USER, Authority("another-ca")))[0] == 1
    assert listed(cluster, in_the_clear)[0] == 1
    after = metrics(broker)
    for name in ("quorate_authentications_succeeded_total", "quorate_authentications_failed_total"):
        assert after[name] == before[name], name
