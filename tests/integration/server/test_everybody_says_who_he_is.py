"""A quorum whose controllers, brokers and clients all say who they are, by processes of ours alone."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from controller_runtime.protocol.framing import decode_response
from controller_runtime.security.sasl.plain import client_token
from support.clients.sasl_frames import authenticate, handshake, versions
from support.nodes.processes import eventually, kraft
from support.nodes.strangers import metrics
from support.security.sasl_cluster import (
    BROKER_SECRET,
    NODE_SECRET,
    PASSWORD,
    SCRAM_USER,
    USER,
    SaslCluster,
    client_file,
)

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SaslCluster]:
    more = {"listener.name.clients.plain.connections.max.reauth.ms": "1500", "quorate.log.level": "debug"}
    with SaslCluster(tmp_path_factory.mktemp("sasl"), controllers=3, brokers=1, **more) as made:
        made.start()
        made.wait_until_unfenced()
        yield made


@pytest.mark.parametrize(
    ("mechanism", "user"), [("PLAIN", USER), ("SCRAM-SHA-256", SCRAM_USER), ("SCRAM-SHA-512", SCRAM_USER)]
)
def test_tools_come_by_every_mechanism(cluster: SaslCluster, tmp_path: Path, mechanism: str, user: str) -> None:
    """SAS-44: the broker came to its quorum by SCRAM, or it would not be ready; a topic is made over its listener."""
    config = client_file(tmp_path / "client.properties", mechanism, user, PASSWORD)
    to = ("--bootstrap-server", cluster.clients, "--command-config", config)
    made = kraft("topics", *to, "--create", "--topic", f"by-{mechanism}", "--partitions", "2")
    assert made.returncode == 0, made.stderr
    assert kraft("topics", *to, "--list").stdout.split().count(f"by-{mechanism}") == 1


def test_tools_come_to_controllers(cluster: SaslCluster, tmp_path: Path) -> None:
    for mechanism, user in (("PLAIN", USER), ("SCRAM-SHA-512", SCRAM_USER)):
        config = client_file(tmp_path / f"{mechanism}.properties", mechanism, user, PASSWORD)
        to = ("--bootstrap-controller", cluster.bootstrap_controllers, "--command-config", config)
        seen = kraft("metadata-quorum", *to, "describe", "--status")
        assert "LeaderId:" in seen.stdout, seen.stderr


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_said_at_once_in_kafkas_words(cluster: SaslCluster, tmp_path: Path, mechanism: str) -> None:
    """SAS-12; what the tool says and what the node logs holds no password (SEC-03)."""
    config = client_file(tmp_path / "client.properties", mechanism, USER, "c4nary wrong")
    seen = kraft("topics", "--bootstrap-server", cluster.clients, "--command-config", config, "--list")
    words = {
        "PLAIN": "Authentication failed: Invalid username or password",
        "SCRAM-SHA-512": "Authentication failed during authentication due to invalid credentials with SASL mechanism "
        "SCRAM-SHA-512",
    }[mechanism]
    assert seen.returncode == 1
    assert words in seen.stdout + seen.stderr
    assert "c4nary" not in seen.stdout + seen.stderr


def test_who_says_nothing_is_not_heard(cluster: SaslCluster, tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=1500\n")
    to = ("--bootstrap-server", cluster.clients, "--command-config", str(tmp_path / "client.properties"))
    seen = kraft("topics", *to, "--list")
    assert seen.returncode == 1


def test_a_user_is_added_and_removed_while_everything_runs(cluster: SaslCluster, tmp_path: Path) -> None:
    """SAS-22, SAS-23: the next login counts."""
    admin = client_file(tmp_path / "admin.properties", "PLAIN", USER, PASSWORD)
    to = ("--bootstrap-server", cluster.clients, "--command-config", admin)
    of_carl = ("--entity-type", "users", "--entity-name", "carl")

    def carl(password: str) -> bool:
        config = client_file(tmp_path / "carl.properties", "SCRAM-SHA-256", "carl", password)
        return (
            kraft("topics", "--bootstrap-server", cluster.clients, "--command-config", config, "--list").returncode == 0
        )

    assert not carl("one")
    for password in ("one", "two"):
        added = kraft("configs", *to, "--alter", "--add-config", f"SCRAM-SHA-256=[password={password}]", *of_carl)
        assert added.returncode == 0, added.stderr
        eventually("he is known", lambda password=password: carl(password))  # type: ignore[misc]
    assert not carl("one")
    assert kraft("configs", *to, "--alter", "--delete-config", "SCRAM-SHA-256", *of_carl).returncode == 0
    eventually("he is gone", lambda: not carl("two"))


async def _login(cluster: SaslCluster) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", cluster.clients_port)
    lifetime = 0
    for frame in (handshake("PLAIN"), authenticate(client_token(USER, PASSWORD))):
        answer = await _ask(reader, writer, frame)
        if frame[:2] == b"\0\x24":
            lifetime = decode_response(answer, 36, 2).body.session_lifetime_ms  # type: ignore[attr-defined]
    return reader, writer, lifetime


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frame: bytes) -> bytes:
    writer.write(struct.pack(">i", len(frame)) + frame)
    async with asyncio.timeout(30):
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        return await reader.readexactly(size)


async def test_a_session_that_is_over_ends_with_the_next_request(cluster: SaslCluster) -> None:
    """SAS-35 over the wire: what is asked in time is answered, what is asked late is not."""
    reader, writer, lifetime = await _login(cluster)
    assert lifetime == 1500
    await _ask(reader, writer, versions())
    await asyncio.sleep(1.6)
    with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
        await _ask(reader, writer, versions())
    writer.close()


async def test_our_client_authenticates_again_before_its_time_is_over(cluster: SaslCluster) -> None:
    """SAS-37: one connection, asked for longer than a session lasts; no call fails."""
    from controller_runtime.identifiers import Endpoint
    from controller_runtime.network.client_pool import ClientOptions, ClientPool
    from controller_runtime.network.client_security import ClientSecurity
    from controller_runtime.protocol.messages.metadata_request import MetadataRequest
    from controller_runtime.security.listener_security import ListenerSecurity
    from controller_runtime.security.protocols import SecurityProtocol
    from controller_runtime.security.sasl_settings import ClientLogin

    login = ClientLogin("PLAIN", USER, PASSWORD)
    security = ClientSecurity(ListenerSecurity(SecurityProtocol.SASL_PLAINTEXT, login=login))
    pool = ClientPool(ClientOptions("again"), lambda: 0.5, security=security)
    started = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() - started < 3.2:
        calls = [
            pool.call("c", Endpoint("127.0.0.1", cluster.clients_port), MetadataRequest(topics=()), 20.0)
            for _ in range(5)
        ]
        await asyncio.gather(*calls)
        await asyncio.sleep(0.02)
    assert pool.take_counts().connections == 1
    await pool.close()


def test_strangers_cost_nobody_else_anything(cluster: SaslCluster, tmp_path: Path) -> None:
    """ATK-20: connections that never authenticate, halves of frames among them; others log in meanwhile."""
    strangers = []
    try:
        for number in range(300):
            one = socket.create_connection(("127.0.0.1", cluster.clients_port), 30)
            one.sendall(
                [b"", b"\0\0", struct.pack(">i", 500_000) + b"x", struct.pack(">i", 9) + b"\0\x11\0\1"][number % 4]
            )
            strangers.append(one)
        config = client_file(tmp_path / "client.properties", "SCRAM-SHA-256", SCRAM_USER, PASSWORD)
        seen = kraft("topics", "--bootstrap-server", cluster.clients, "--command-config", config, "--list")
        assert seen.returncode == 0, seen.stderr
    finally:
        for one in strangers:
            one.close()


def _tokens(cluster: SaslCluster, config: str, *arguments: str) -> CompletedProcess[str]:
    return kraft("delegation-tokens", "--bootstrap-server", cluster.clients, "--command-config", config, *arguments)


def test_a_token_stands_for_its_owner_until_it_is_over(cluster: SaslCluster, tmp_path: Path) -> None:
    """TOK-02, TOK-03 and ATK-18: made by who logged in, shown by SCRAM, which makes no other."""
    owner = client_file(tmp_path / "owner.properties", "PLAIN", USER, PASSWORD)
    made = _tokens(cluster, owner, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob")
    assert made.returncode == 0, made.stderr
    token_id, token_hmac = made.stdout.splitlines()[-1].split()[:2]

    def listed(config: str) -> CompletedProcess[str]:
        return kraft("topics", "--bootstrap-server", cluster.clients, "--command-config", config, "--list")

    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        bearer = client_file(tmp_path / f"{mechanism}.properties", mechanism, token_id, token_hmac, by_token=True)
        eventually("the broker knows the token", lambda bearer=bearer: listed(bearer).returncode == 0)  # type: ignore[misc]
        for words in (
            ("--create", "--max-life-time-period", "-1"),
            ("--renew", "--renew-time-period", "-1", "--hmac", token_hmac),
            ("--expire", "--expiry-time-period", "-1", "--hmac", token_hmac),
            ("--describe",),
        ):
            refused = _tokens(cluster, bearer, *words)
            assert refused.returncode == 1
            assert "UnsupportedByAuthenticationException" in refused.stdout + refused.stderr, words
    wrong = client_file(
        tmp_path / "wrong.properties", "SCRAM-SHA-256", token_id, token_hmac[:-4] + "AAA=", by_token=True
    )
    assert listed(wrong).returncode == 1
    as_user = client_file(tmp_path / "as-user.properties", "SCRAM-SHA-256", token_id, token_hmac)
    assert listed(as_user).returncode == 1, "a token is no user"

    renewer = client_file(tmp_path / "renewer.properties", "SCRAM-SHA-256", SCRAM_USER, PASSWORD)
    assert token_id in _tokens(cluster, owner, "--describe", "--owner-principal", "User:ann").stdout
    assert token_id in _tokens(cluster, renewer, "--describe", "--owner-principal", "User:ann").stdout
    assert token_id not in _tokens(cluster, renewer, "--describe", "--owner-principal", "User:carl").stdout
    assert _tokens(cluster, renewer, "--renew", "--renew-time-period", "-1", "--hmac", token_hmac).returncode == 0
    ended = _tokens(cluster, owner, "--expire", "--expiry-time-period", "-1", "--hmac", token_hmac)
    assert ended.returncode == 0, ended.stderr
    eventually("it is over", lambda: listed(bearer).returncode == 1)
    assert token_id not in _tokens(cluster, owner, "--describe", "--owner-principal", "User:ann").stdout


def test_metrics_say_how_many_have_shown_who_they_are(cluster: SaslCluster) -> None:
    leads = [metrics(node) for node in cluster.controller_nodes]
    assert all(each["quorate_authentications_succeeded_total"] > 0 for each in leads), "the other controllers"
    broker = metrics(next(node for node in cluster.nodes.values() if node not in cluster.controller_nodes))
    assert broker["quorate_authentications_failed_total"] > 0, "a wrong password, above"


def _said_by_tools(cluster: SaslCluster, directory: Path) -> Iterator[str]:
    """Every configuration of every node, and what its metadata directory shows."""
    admin = client_file(directory / "admin.properties", "PLAIN", USER, PASSWORD)
    for node in cluster.nodes.values():
        to = ("--bootstrap-server", cluster.clients) if node not in cluster.controller_nodes else (
            "--bootstrap-controller", cluster.bootstrap_controllers)  # fmt: skip
        of_node = ("--entity-type", "brokers", "--entity-name", str(node.node_id))
        seen = kraft("configs", *to, "--command-config", admin, "--describe", "--all", *of_node)
        assert "plain.sasl.jaas.config=null sensitive=true" in seen.stdout, seen.stderr
        yield seen.stdout + seen.stderr
    log = next(Path(cluster.controller_nodes[0].properties["log.dirs"]).glob("__cluster_metadata-0/*.log"))
    yield kraft("dump-log", "--cluster-metadata-decoder", "--files", str(log)).stdout
    yield kraft("metadata-shell", "--directory", str(log.parent), "tree", "/").stdout


def test_no_secret_is_in_any_output(cluster: SaslCluster, tmp_path: Path) -> None:
    """SEC-01, SEC-03: passwords of nodes, brokers and clients, after all that happened above; and the files of the
    nodes hold none of them either (SEC-04, SEC-06).
    """
    config = client_file(tmp_path / "owner.properties", "PLAIN", USER, PASSWORD)
    made = _tokens(cluster, config, "--create", "--max-life-time-period", "-1")
    assert made.returncode == 0, made.stderr
    token_hmac = made.stdout.splitlines()[-1].split()[1]
    ended = _tokens(cluster, config, "--expire", "--expiry-time-period", "-1", "--hmac", token_hmac)
    assert ended.returncode == 0, ended.stderr
    said = [*_said_by_tools(cluster, tmp_path)]
    for node in cluster.nodes.values():
        said += [node.log(), node.http("/metrics")[1], "\n".join(node.properties.values())]
    assert any("refusing" in each for each in said), "a login that failed is logged"
    assert any("hmac=<64 bytes>" in each for each in said), "at level debug requests are logged (ATK-10)"
    assert [each for each in said if "hmac=b" in each] == []
    assert any(SCRAM_USER in each for each in said), "the metadata log has been read"
    for secret in (NODE_SECRET, BROKER_SECRET, PASSWORD, token_hmac, "c4nary"):
        assert [each for each in said if secret in each] == []
