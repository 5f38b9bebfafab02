"""A quorum, its broker and its clients by OAUTHBEARER, with an identity provider on loopback; and who is not let in.

SAS-24, SAS-25, SAS-28, SAS-29, SAS-30, SAS-31, SAS-32, SAS-34: over real sockets.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jwt
import pytest

from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.security.sasl.oauthbearer import client_first
from support.clients.sasl_frames import authenticate, handshake, read_authenticate, versions
from support.nodes.processes import NodeProcess, eventually, kraft
from support.nodes.strangers import metrics
from support.security.identity_provider import CLIENT, SECRET, IdentityProvider, SigningKey, claims, section
from support.security.oauth_cluster import (
    LOGIN,
    MODULE,
    PACKAGE,
    OAuthCluster,
    client_file,
    client_properties,
    of_listener,
    system_property,
)

pytestmark = [pytest.mark.integration, pytest.mark.slow]

INVALID = '{"status":"invalid_token"}'


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with IdentityProvider() as made:
        yield made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, provider: IdentityProvider) -> Iterator[OAuthCluster]:
    more = {"quorate.log.level": "debug"}
    with OAuthCluster(tmp_path_factory.mktemp("oauth"), provider, controllers=3, **more) as made:
        made.start()
        made.wait_until_unfenced()
        yield made


class Visitor:
    """Who speaks to the clients' listener frame by frame."""

    def __init__(self, cluster: OAuthCluster) -> None:
        self._socket = socket.create_connection(("127.0.0.1", cluster.clients_port), 20)
        self._socket.settimeout(20)

    def ask(self, frame: bytes) -> bytes:
        """The answer with its length; empty when the connection ends instead."""
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        found = b""
        while len(found) < 4 or len(found) < 4 + struct.unpack(">i", found[:4])[0]:
            try:
                piece = self._socket.recv(65536)
            except ConnectionError:
                return b""
            if not piece:
                return b""
            found += piece
        return found

    def close(self) -> None:
        self._socket.close()


def shown(cluster: OAuthCluster, first: bytes) -> SaslAuthenticateResponse | None:
    """What the listener says in the end to who begins so, and agrees to errors; None: it hangs up."""
    visitor = Visitor(cluster)
    try:
        visitor.ask(versions())
        visitor.ask(handshake("OAUTHBEARER"))
        said = visitor.ask(authenticate(first))
        if not said:
            return None
        answer = read_authenticate(said)
        if answer.auth_bytes:
            assert answer.error_code == 0
            assert answer.auth_bytes.decode() == INVALID
            answer = read_authenticate(visitor.ask(authenticate(b"\x01")))
            assert answer.error_message == INVALID
        return answer
    finally:
        visitor.close()


def tool(cluster: OAuthCluster, tmp_path: Path, *, opts: str, **changes: str) -> tuple[int, str]:
    """`kraft topics --list` by a client with these properties; exit code and all that it says."""
    told = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", **changes}
    file = client_file(tmp_path / "client.properties", told)
    seen = kraft(
        "topics", "--bootstrap-server", cluster.clients, "--command-config", file, "--list",
        environment={"KAFKA_OPTS": opts},
    )  # fmt: skip
    return seen.returncode, seen.stdout + seen.stderr


def by_secret(cluster: OAuthCluster, provider: IdentityProvider, tmp_path: Path, **changes: str) -> tuple[int, str]:
    told = client_properties(provider) | changes
    return tool(cluster, tmp_path, opts=system_property(provider.url("token")), **told)


def test_nodes_and_tools_come_by_tokens(cluster: OAuthCluster, provider: IdentityProvider, tmp_path: Path) -> None:
    """Controllers to each other, the broker to them, a tool to the broker: each by a token that its secret bought."""
    assert by_secret(cluster, provider, tmp_path)[0] == 0
    bought = [headers for _, path, headers, _ in provider.asked if path == "/token"]
    assert len(bought) >= 5
    name = "sasl.oauthbearer.client.credentials.client"
    options = f'{MODULE} required clientId="{CLIENT}" clientSecret="{SECRET}" scope="a b";'
    older = {f"{name}.id": "", f"{name}.secret": "", "sasl.jaas.config": options}
    assert by_secret(cluster, provider, tmp_path, **older)[0] == 0
    assert provider.asked[-1][3]["scope"] == ["a b"]


def test_a_tool_says_what_its_token_lacks(cluster: OAuthCluster, provider: IdentityProvider, tmp_path: Path) -> None:
    code, said = by_secret(
        cluster, provider, tmp_path, **{"sasl.oauthbearer.client.credentials.client.secret": "c4nary wrong"}
    )
    assert (code, "c4nary" in said) == (1, False)
    assert "status 401 and error {'invalid_client' - 'who are you?'}" in said


def test_what_nobody_allowed_is_not_asked(cluster: OAuthCluster, provider: IdentityProvider, tmp_path: Path) -> None:
    """SAS-32, ATK-08: the file of a client names whatever it likes."""
    before = len(provider.asked)
    for url in (provider.url("token") + "?x", provider.url("token").upper(), "file:///etc/passwd", "ftp://x/y", "x"):
        code, said = by_secret(cluster, provider, tmp_path, **{"sasl.oauthbearer.token.endpoint.url": url})
        assert code == 1
        assert "sasl.oauthbearer.token.endpoint.url" in said
        assert "root:" not in said
    assert len(provider.asked) == before


def test_a_redirect_is_not_followed(cluster: OAuthCluster, provider: IdentityProvider, tmp_path: Path) -> None:
    provider.status = 302
    try:
        asked = provider.times("jwks")
        code, said = by_secret(cluster, provider, tmp_path, **{"sasl.login.retry.backoff.max.ms": "0"})
        assert (code, "status 302" in said) == (1, True)
        assert provider.times("jwks") == asked
    finally:
        provider.status = 200


def test_a_token_of_a_file_and_assertions(cluster: OAuthCluster, provider: IdentityProvider, tmp_path: Path) -> None:
    """FileJwtRetriever; JwtBearerJwtRetriever (KIP-1139); an assertion in place of a secret (KIP-1258)."""
    token, key, template = tmp_path / "token", tmp_path / "key.pem", tmp_path / "template.json"
    token.write_text(provider.token() + "\n")
    key.write_bytes(provider.key.pem)
    template.write_text(json.dumps({"header": {"kid": "first"}, "payload": {"sub": CLIENT, "aud": "ignored"}}))
    told = {"sasl.jaas.config": f"{MODULE} required;", "sasl.login.callback.handler.class": LOGIN}
    url = "sasl.oauthbearer.token.endpoint.url"
    of_file = {**told, url: f"file://{token}"}
    assert tool(cluster, tmp_path, opts=system_property(f"file://{token}"), **of_file)[0] == 0
    assertion = "sasl.oauthbearer.assertion"
    files = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.files={key},{template},{token}"
    allowed = f"{system_property(provider.url('token'))} {files}"
    signed = {**told, url: provider.url("token"), f"{assertion}.private.key.file": str(key),
        f"{assertion}.template.file": str(template), f"{assertion}.claim.jti.include": "true"}  # fmt: skip
    bearer = {**signed, "sasl.oauthbearer.jwt.retriever.class": f"{PACKAGE}.JwtBearerJwtRetriever"}
    assert tool(cluster, tmp_path, opts=allowed, **bearer)[0] == 0
    made = jwt.decode(provider.asked[-1][3]["assertion"][0], options={"verify_signature": False})
    assert made["sub"] == CLIENT
    assert made["exp"] - made["iat"] == 300
    assert made["iat"] - made["nbf"] == 60
    assert len(made["jti"]) == 36
    client = {**signed, f"{assertion}.claim.iss": "us"}
    assert tool(cluster, tmp_path, opts=allowed, **client)[0] == 0
    assert "client_assertion" in provider.asked[-1][3]
    found = {**told, url: provider.url("token"), f"{assertion}.file": str(token)}
    assert tool(cluster, tmp_path, opts=allowed, **found)[0] == 0
    assert provider.asked[-1][3]["client_assertion"] == [token.read_text().strip()]
    code, said = tool(cluster, tmp_path, opts=system_property(provider.url("token")), **found)
    assert (code, f"{assertion}.file" in said) == (1, True)


ATTACKS: dict[str, Callable[[SigningKey], str]] = {
    "none": lambda key: f"{section({'alg': 'none'})}.{section(claims('admin'))}.",
    "HMAC": lambda key: jwt.encode(claims("admin"), "s" * 40, "HS256", headers={"kid": key.kid}),
    "another signer": lambda key: jwt.encode(
        claims("admin"), SigningKey("x").private, "RS256", headers={"kid": key.kid}
    ),
    "a key that comes along": lambda key: jwt.encode(
        claims("admin"), (other := SigningKey("x")).private, "RS256", headers={"jwk": other.public}
    ),
    "expired": lambda key: key.sign(claims(iat=1, exp=int(time.time()) - 31)),
    "not yet": lambda key: key.sign(claims(nbf=int(time.time()) + 100)),
    "another audience": lambda key: key.sign(claims(aud="others")),
    "no audience": lambda key: key.sign(claims(aud=None)),
    "another issuer": lambda key: key.sign(claims(iss="https://evil.example")),
    "nobody": lambda key: key.sign(claims("")),
    "for ever": lambda key: key.sign(claims(exp=None)),
    "a path as key id": lambda key: key.sign(claims(), kid="../../../../etc/passwd"),
    "giant": lambda key: f"{section({'alg': 'RS256', 'kid': 'first'})}.{'A' * 400_000}.{'A' * 342}",
    "deep": lambda key: f"{section(b'[' * 30_000)}.e30.x",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_tokens_that_open_nothing(cluster: OAuthCluster, provider: IdentityProvider, attack: str) -> None:
    """SAS-25, SAS-28, ATK-02: each is refused with the same words, counted, and not logged."""
    (broker,) = cluster.broker_nodes
    before = _failures(broker)
    token = ATTACKS[attack](provider.key)
    answer = shown(cluster, client_first(token, {}))
    assert answer is not None
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (58, INVALID, b"")
    assert _failures(broker) == before + 1
    assert token not in broker.log()
    assert token.split(".")[1] not in broker.log()


def _failures(node: NodeProcess) -> float:
    return metrics(node)["quorate_authentications_failed_total"]


def test_a_good_token_lets_in_until_it_ends(cluster: OAuthCluster, provider: IdentityProvider) -> None:
    """SAS-34: the session lasts as long as the token."""
    answer = shown(cluster, client_first(provider.token(exp=int(time.time()) + 100), {"trace": "7"}))
    assert answer is not None
    assert (answer.error_code, answer.error_message or "") == (0, "")
    assert 90_000 < answer.session_lifetime_ms <= 100_000
    assert provider.token() not in cluster.broker_nodes[0].log()


def test_nobody_is_let_in_as_another(cluster: OAuthCluster, provider: IdentityProvider) -> None:
    """ATK-04, with a token."""
    first = client_first(provider.token(), {}).replace(b"n,,", b"n,a=admin,")
    answer = shown(cluster, first)
    assert answer is not None
    assert answer.error_code == 58
    assert "authorization id (admin)" in str(answer.error_message)


def test_what_is_no_message_of_this_mechanism(cluster: OAuthCluster) -> None:
    for first in (b"", b"\x01", b"n,,\x01auth=Bearer \x01\x01", b"\xff" * 1000, client_first("x" * 500_000, {})[:-1]):
        answer = shown(cluster, first)
        assert answer is not None
        assert answer.error_code == 58
        assert "due to invalid credentials with SASL mechanism OAUTHBEARER" in str(answer.error_message)


def test_a_new_key_is_found_and_a_flood_of_unknown_ones_asks_once_each(
    cluster: OAuthCluster, provider: IdentityProvider
) -> None:
    """SAS-29, ATK-24: an unknown key id has the endpoint asked, once a minute; without one nothing happens."""
    provider.key = SigningKey("second")
    provider.published = [provider.key]
    token = provider.token()

    def let_in() -> bool:
        answer = shown(cluster, client_first(token, {}))
        return answer is not None and answer.error_code == 0

    eventually("the new key is known", let_in, 20)
    asked = provider.times("jwks")
    for _ in range(30):
        shown(cluster, client_first(provider.key.sign(claims(), kid="nobody's"), {}))
    shown(cluster, client_first(provider.key.sign(claims(), kid="x" * 1001), {}))
    shown(cluster, client_first(jwt.encode(claims(), SigningKey("y", "ES256").private, "ES256"), {}))
    time.sleep(0.5)
    assert provider.times("jwks") <= asked + 1
    assert let_in()


def test_an_issuer_that_is_away_or_slow_holds_nobody_up(cluster: OAuthCluster, provider: IdentityProvider) -> None:
    """SAS-30: the old keys serve; and while the endpoint says nothing, others are let in at once."""
    provider.status, provider.pause_seconds = 503, 3.0
    try:
        shown(cluster, client_first(provider.key.sign(claims(), kid="away"), {}))
        began = time.monotonic()
        answer = shown(cluster, client_first(provider.token(), {}))
        assert answer is not None
        assert answer.error_code == 0
        assert time.monotonic() - began < 2.5
    finally:
        provider.status, provider.pause_seconds = 200, 0.0


def test_nodes_hide_their_secret_and_are_ready(cluster: OAuthCluster) -> None:
    """SEC-03: at level debug, and at /metrics."""
    for node in cluster.nodes.values():
        assert node.http("/readyz")[0] == 200
        assert "c4nary" not in node.log() + node.http("/metrics")[1]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"listener.name.clients.oauthbearer.sasl.server.callback.handler.class": ""}, "believes signatures"),
        ({"listener.name.clients.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": ""}, "jwks.endpoint.url"),
        ({"quorate.oauthbearer.allowed.urls": ""}, "cannot be accessed due to restrictions"),
        ({"listener.name.clients.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "http://127.0.0.1:1/jwks",
          "quorate.oauthbearer.allowed.urls": "http://127.0.0.1:1/jwks,TOKEN"}, "no keys from there"),
    ],
)  # fmt: skip
def test_what_stops_the_start(tmp_path: Path, provider: IdentityProvider, change: dict[str, str], word: str) -> None:
    """SAS-31, SAS-32, SAS-33, SAS-30: nothing is believed by default, and no keys are no start."""
    change = {
        key: text.replace("TOKEN", f"{provider.url('token')},{provider.url('jwks')}") for key, text in change.items()
    }
    good = of_listener("CLIENTS", provider)
    with OAuthCluster(tmp_path, provider) as made:
        (broker,) = made.broker_nodes
        broker.properties |= change
        told = dict(broker.properties)
        broker.properties |= {key: good[key] for key in change if key in good}
        made.format()
        broker.properties = told
        broker.start()
        assert broker.wait() == 1
        assert word in broker.log()
