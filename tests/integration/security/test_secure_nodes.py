"""A cluster of ours whose nodes speak mutual TLS to each other and to clients."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.cli.main import main as run_kraft
from support.nodes.processes import Cluster, eventually
from support.security.authority import Authority, secure_properties, tls_properties, write_properties

pytestmark = pytest.mark.integration


def secure_cluster(directory: Path, authority: Authority, controllers: int, brokers: int) -> Cluster:
    made = Cluster(directory, controllers=controllers, brokers=brokers)
    trusted = authority.write(directory)
    for node in made.nodes.values():
        own = authority.issue(f"node-{node.node_id}").write(node.directory)
        node.properties |= secure_properties(own, trusted)
    return made


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority("cluster-ca")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Cluster]:
    with secure_cluster(tmp_path_factory.mktemp("secure"), authority, controllers=3, brokers=1) as made:
        made.start()
        made.wait_until_unfenced()
        yield made


def client(directory: Path, authority: Authority, trusted: Authority | None = None) -> str:
    own = authority.issue("admin").write(directory, "admin.pem")
    trusts = (trusted or authority).write(directory, "trusted.pem")
    properties = {"security.protocol": "SSL", "default.api.timeout.ms": "20000", **tls_properties(own, trusts)}
    return str(write_properties(directory / "client.properties", properties))


def test_three_controllers_and_a_broker_form_a_quorum_over_mutual_tls(
    cluster: Cluster, authority: Authority, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Raft, registration, heartbeats, forwarding and the tools, all of them encrypted; what is registered says so."""
    config = client(tmp_path, authority)
    controllers, brokers = cluster.bootstrap_controllers, cluster.bootstrap_servers
    at_brokers = ["--bootstrap-server", brokers, "--command-config", config]
    assert run_kraft(["topics", *at_brokers, "--create", "--topic", "t"]) == 0
    capsys.readouterr()
    at_controllers = ["--bootstrap-controller", controllers, "--command-config", config]
    assert run_kraft(["metadata-quorum", *at_controllers, "describe", "--replication"]) == 0
    said = capsys.readouterr().out
    assert (said.count("Leader"), said.count("Follower"), said.count("Observer")) == (1, 2, 1), said


def test_who_has_no_certificate_of_the_authority_gets_no_answer(
    cluster: Cluster, authority: Authority, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = Authority("another-ca").issue("admin").write(tmp_path, "stranger.pem")
    trusts = authority.write(tmp_path)
    in_the_clear = {"security.protocol": "PLAINTEXT"}
    for extra in (in_the_clear, tls_properties(stranger, trusts), tls_properties(None, trusts)):
        properties = {"security.protocol": "SSL", "default.api.timeout.ms": "700", **extra}
        config = str(write_properties(tmp_path / "client.properties", properties))
        for where in (
            ["--bootstrap-server", cluster.bootstrap_servers],
            ["--bootstrap-controller", cluster.bootstrap_controllers],
        ):
            assert run_kraft(["cluster", "cluster-id", *where, "--command-config", config]) == 1
            assert "Cluster ID" not in capsys.readouterr().out


def shown_at(port: int, authority: Authority) -> bytes:
    """The certificate that a listener shows to who connects now."""
    trusting = ssl.create_default_context(cadata=authority.pem)
    trusting.verify_flags &= ~ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", port), 20) as plain,
        trusting.wrap_socket(plain, server_hostname="127.0.0.1") as secured,
    ):
        return secured.getpeercert(binary_form=True) or b""


def test_certificates_are_replaced_on_running_nodes(
    cluster: Cluster, authority: Authority, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SSL-18, 19: by a new file, by another place that IncrementalAlterConfigs names; controllers and brokers alike.
    SSL-16, SSL-20: a broker is not given what it could not use; so the log does not have it either.
    """
    config = client(tmp_path, authority)

    def configs(node_id: int, *words: str) -> int:
        node, kind = cluster.nodes[node_id], "controller" if node_id < 10 else "server"
        where = [f"--bootstrap-{kind}", str(node.endpoint), "--command-config", config]
        return run_kraft(["configs", *where, "--alter", "--entity-type", "brokers", *words])

    for node_id, listener in ((1, "controller"), (11, "plaintext")):
        node = cluster.nodes[node_id]
        renewed = authority.issue(f"node-{node_id}")
        renewed.write(tmp_path, "new.pem").replace(node.directory / "node.pem")
        eventually("the new file", lambda: shown_at(node.port, authority) == renewed.der)  # noqa: B023
        moved = authority.issue(f"node-{node_id}")
        place = moved.write(node.directory, "moved.pem")
        name = f"listener.name.{listener}.ssl.keystore.location"
        assert configs(node_id, "--entity-name", str(node_id), "--add-config", f"{name}={place}") == 0
        eventually("the new place", lambda: shown_at(node.port, authority) == moved.der)  # noqa: B023
        if node_id < 10:  # a controller keeps what it is asked to, as Kafka's, and goes on with what it has
            assert configs(node_id, "--entity-name", str(node_id), "--add-config", f"{name}=/nowhere.pem") == 0
            node.wait_for_log("keeps the certificates that it has")
        assert shown_at(node.port, authority) == moved.der
        assert configs(node_id, "--entity-name", str(node_id), "--delete-config", name) == 0
        eventually("its file", lambda: shown_at(node.port, authority) == renewed.der)  # noqa: B023
        ends = f'quorate_certificate_end_timestamp_seconds{{listener="{listener.upper()}"}}'
        assert ends in node.http("/metrics")[1]
    capsys.readouterr()
    (tmp_path / "cut.pem").write_text(authority.issue("node-11").chain_pem[:-40])
    stranger = authority.issue("somebody-else").write(tmp_path, "else.pem")
    serving = shown_at(cluster.nodes[11].port, authority)
    for wrong, why in (
        (Path("/nowhere.pem"), "No such file"),
        (tmp_path / "cut.pem", "Failed to load SSL keystore"),
        (stranger, "ssl.allow.dn.changes"),
    ):
        wanted = f"listener.name.plaintext.ssl.keystore.location={wrong}"
        assert configs(11, "--entity-name", "11", "--add-config", wanted) == 1
        said = capsys.readouterr()
        assert why in said.out + said.err
        assert "The node keeps the stores that it has." in said.out + said.err
    assert shown_at(cluster.nodes[11].port, authority) == serving
    store = "ssl.keystore.location=/x"
    for words in (
        ["--entity-name", "11", "--add-config", store],
        ["--entity-default", "--add-config", f"listener.name.plaintext.{store}"],
        ["--entity-name", "11", "--add-config", "listener.name.plaintext.ssl.client.auth=none"],
    ):
        assert configs(11, *words) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"ssl.keystore.location": "/nowhere/node.pem"},
            "ssl.keystore.location=/nowhere/node.pem) of type PEM: No such",
        ),
        ({"ssl.truststore.location": "/dev/null"}, "ssl.truststore.location=/dev/null) of type PEM: At least one"),
        ({"ssl.keystore.type": "XYZ"}, "one of JKS, PKCS12, PEM is needed"),
    ],
)
def test_a_node_that_cannot_speak_tls_does_not_start(
    change: dict[str, str], why: str, authority: Authority, tmp_path: Path
) -> None:
    node = secure_cluster(tmp_path, authority, controllers=1, brokers=0).nodes[1]
    node.format("--standalone")
    node.properties |= change
    node.start()
    assert node.wait() == 1
    assert why in node.log()
