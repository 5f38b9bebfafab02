"""SASL, frame by frame, as Apache Kafka answers it: out of turn on a PLAINTEXT listener, and whole dialogues where
clients say who they are.
"""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, cast

import pytest

from controller_runtime.metadata.scram import BY_NAME
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from controller_runtime.security.sasl.plain import client_token
from controller_runtime.security.sasl.scram import ScramClient
from controller_runtime.security.scram_keys import salted_password
from support.apache_kafka.differential import DEVIATIONS, Case, Pair, Side, Table, judge
from support.apache_kafka.node_pairs import SETTINGS, pair_of_nodes
from support.clients.sasl_frames import CORRELATION, authenticate, framed, handshake, versions
from support.nodes.processes import eventually, free_ports

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
NAMES: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "", "no such", "ä", "x" * 300)
TABLES = (
    Table(ApiKey.SASL_HANDSHAKE, BOTH, tuple(Case(name, SaslHandshakeRequest(mechanism=name)) for name in NAMES)),
    Table(
        ApiKey.SASL_AUTHENTICATE,
        BOTH,
        tuple(
            Case(name, SaslAuthenticateRequest(auth_bytes=data))
            for name, data in (("nothing", b""), ("a login", client_token("ann", "x")), ("much", bytes(5000)))
        ),
    ),
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_who_need_not_say_who_he_is_is_told_so(pair: Pair, table: Table) -> None:
    """SAS-13: 34, and the connection lives: the next case is asked on it."""
    assert judge(pair, table) >= 20


MECHANISMS: Final = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
SALT: Final = b"some salt of both"
_MODULES: Final = "org.apache.kafka.common.security"
SASL: Final = {
    "listener.security.protocol.map": f"{SETTINGS['listener.security.protocol.map']},CLIENTS:SASL_PLAINTEXT",
    "listener.name.clients.sasl.enabled.mechanisms": MECHANISMS,
    "listener.name.clients.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required "
    'user_ann="s3cret" user_empty="" "user_a b"="c d";',
    "listener.name.clients.scram-sha-256.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    "listener.name.clients.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    "listener.name.clients.scram-sha-256.connections.max.reauth.ms": "2500",
}


@dataclass(slots=True)
class Talk:
    """One connection, and what was said so far."""

    port: int
    heard: list[Any] = field(default_factory=list)
    token: bytes = b""
    """Of the last answer."""
    client: ScramClient | None = None


Say = bytes | Callable[[Talk], bytes]


def _first(user: str, password: str = "pencil", mechanism: str = "SCRAM-SHA-256") -> Callable[[Talk], bytes]:
    def say(talk: Talk) -> bytes:
        talk.client = ScramClient(mechanism, user, password, "client")
        return authenticate(talk.client.first())

    return say


def _final(mangle: Callable[[bytes], bytes] = lambda token: token) -> Callable[[Talk], bytes]:
    def say(talk: Talk) -> bytes:
        assert talk.client is not None
        if not talk.token:
            return authenticate(b"nobody asks")
        token = talk.client.on_challenge(talk.token)
        assert token is not None
        return authenticate(mangle(token))

    return say


LOGIN: Final = authenticate(client_token("ann", "s3cret"))
METADATA: Final = framed(MetadataRequest(topics=()), 12)
_UNKNOWN: Final = versions()[:2] + (99).to_bytes(2, "big") + versions()[4:]
_S256: Final = handshake("SCRAM-SHA-256")


def _changed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda token: token.replace(old, new)


DIALOGUES: Final[dict[str, Sequence[Say]]] = {
    "versions, handshake, login": (versions(), handshake("PLAIN"), LOGIN, METADATA, versions()),
    "handshake first": (handshake("PLAIN"), LOGIN, METADATA),
    "handshake first, versions after": (handshake("PLAIN"), versions()),
    "unknown version of ApiVersions, then a known one": (_UNKNOWN, versions(), handshake("PLAIN"), LOGIN),
    "a software name that is none, then one": (versions(name="-x-"), versions(), handshake("PLAIN")),
    "versions twice": (versions(), versions()),
    "old versions": (versions(0), handshake("PLAIN"), LOGIN),
    "metadata first": (METADATA,),
    "metadata after versions": (versions(), METADATA),
    "a token first": (LOGIN,),
    "a key that nobody has": (b"\x03\xe7\0\0" + METADATA[4:],),
    "nonsense": (b"\x7f" * 20,),
    "nothing": (b"",),
    "a mechanism that is not enabled": (handshake("OAUTHBEARER"), LOGIN),
    "a mechanism in lower case": (handshake("plain"),),
    "a handshake of an unknown version": (handshake("PLAIN")[:3] + b"\x02" + handshake("PLAIN")[4:],),
    "metadata among tokens": (handshake("PLAIN"), METADATA),
    "versions among tokens": (handshake("PLAIN"), versions()),
    "an administrator's request among tokens": (
        handshake("PLAIN"),
        framed(DescribeClusterRequest(), 1),
    ),
    "a second handshake among tokens": (handshake("PLAIN"), handshake("PLAIN")),
    "a token of an unknown version": (handshake("PLAIN"), LOGIN[:3] + b"\x09" + LOGIN[4:]),
    "half a token": (handshake("PLAIN"), LOGIN[:-3]),
    "raw tokens": (handshake("PLAIN", 0), client_token("ann", "s3cret"), METADATA),
    "a wrong raw token": (handshake("PLAIN", 0), client_token("ann", "wrong")),
    "login at version 0": (handshake("PLAIN"), authenticate(client_token("ann", "s3cret"), 0), METADATA),
    "login at version 1": (handshake("PLAIN"), authenticate(client_token("ann", "s3cret"), 1), METADATA),
    "wrong at version 0": (handshake("PLAIN"), authenticate(client_token("ann", "wrong"), 0)),
    "again when in": (handshake("PLAIN"), LOGIN, handshake("PLAIN"), LOGIN, METADATA),
    **{
        f"PLAIN: {token!r}": (handshake("PLAIN"), authenticate(token))
        for token in (
            b"\0ann\0wrong",
            b"\0bob\0x",
            b"\0empty\0",
            b"\0empty\0x",
            b"\0\0x",
            b"ann\0ann\0s3cret",
            b"bob\0ann\0s3cret",
            b"bob\0ann\0wrong",
            b"\0ann",
            b"",
            b"\0ann\0s3cret\0",
            b"\xff\xff",
            b"\0a b\0c d",
            b"\0ann\0s3cret\0\0\0",
        )
    },
    "SCRAM: a login": (_S256, _first("ann"), _final(), METADATA),
    "SCRAM: 512": (handshake("SCRAM-SHA-512"), _first("bob", "pencil", "SCRAM-SHA-512"), _final(), METADATA),
    "SCRAM: a wrong password": (_S256, _first("ann", "wrong"), _final()),
    "SCRAM: a name with signs": (_S256, _first("a,b=c"), _final(), METADATA),
    "SCRAM: another nonce": (_S256, _first("ann"), _final(_changed(b"r=client", b"r=other"))),
    "SCRAM: no proof": (_S256, _first("ann"), _final(lambda token: token.partition(b",p=")[0])),
    "SCRAM: half a proof": (_S256, _first("ann"), _final(lambda token: token[:-4])),
    **{
        f"SCRAM: {token!r}": (_S256, authenticate(token))
        for token in (
            b"n,,n=ann,r=client",
            b"y,,n=ann,r=client",
            b"p=tls-unique,,n=ann,r=client",
            b"n,a=ann,n=ann,r=client",
            b"n,a=bob,n=ann,r=client",
            b"n,,m=x,n=ann,r=client",
            b"n,,n=ann,r=client,ext=1",
            b"n,,n=ann,r=client,ext",
            b"n,,n=a=b,r=client",
            b"n,,n=,r=client",
            b"n,,n=ann,r=",
            b"n,,n=ann",
            b"",
            b"n,,n=\xc3\xa4,r=client",
            b"n,,n=ann,r=a b",
            b"n,,n=ann,r=client,",
            b"n,,n=ann,r=client,tokenauth=false",
        )
    },
    "SCRAM: a token that is not there": (_S256, authenticate(b"n,,n=ann,r=client,tokenauth=true")),
    "SCRAM: a stranger": (_S256, _first("nobody"), _final()),
    "SCRAM: again as the same": (_S256, _first("ann"), _final(), _S256, _first("ann"), _final(), METADATA),
    "SCRAM: again as another": (_S256, _first("ann"), _final(), _S256, _first("a,b=c"), _final()),
    "SCRAM: again by another mechanism": (_S256, _first("ann"), _final(), handshake("PLAIN"), LOGIN),
    "SCRAM: again, and again at once": (
        _S256,
        _first("ann"),
        _final(),
        _S256,
        _first("ann"),
        _final(),
        _S256,
        METADATA,
    ),
    "SCRAM: again with a wrong password": (_S256, _first("ann"), _final(), _S256, _first("ann", "wrong"), _final()),
}


EVERYBODY: Final = DescribeUserScramCredentialsRequest(users=None)
ON_PURPOSE: Final = {
    "SCRAM: half a proof": "refused like a wrong one",
    "SCRAM: a token that is not there": "asked for a proof all the same",
    "SCRAM: a stranger": "asked for a proof all the same",
}
"""Dialogues that end otherwise, with words of docs/deviations.md."""


@dataclass(frozen=True, slots=True)
class Listeners:
    java: int
    ours: int


@pytest.fixture(scope="module")
def listeners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listeners]:
    found = Listeners(*free_ports(2))
    java, ours = ({**SASL, "listeners": f",CLIENTS://127.0.0.1:{port}"} for port in (found.java, found.ours))
    with pair_of_nodes(tmp_path_factory.mktemp("sasl"), java, ours) as pair:
        for side in pair.sides:
            made = side.call(ListenerType.BROKER, _users(), 0)
            assert [each.error_code for each in made.results] == [0, 0, 0]
            eventually("its users", partial(_knows_users, side))
        yield found


def _knows_users(side: Side) -> bool:
    return len(side.call(ListenerType.BROKER, EVERYBODY, 0).results) == 3


def _users() -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        upsertions=tuple(
            ScramCredentialUpsertion(
                name=name,
                mechanism=BY_NAME[mechanism].number,
                iterations=4096,
                salt=SALT,
                salted_password=salted_password(BY_NAME[mechanism].algorithm, b"pencil", SALT, 4096),
            )
            for name, mechanism in (("ann", "SCRAM-SHA-256"), ("a,b=c", "SCRAM-SHA-256"), ("bob", "SCRAM-SHA-512"))
        )
    )


def _talk(port: int, says: Sequence[Say]) -> list[Any]:
    """What is heard after each; the last thing is whether the connection lives."""
    talk = Talk(port)
    raw = False
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        for say in says:
            frame = say(talk) if callable(say) else say
            try:
                connection.sendall(struct.pack(">i", len(frame)) + frame)
                (size,) = struct.unpack(">i", _exactly(connection, 4))
                answer = _exactly(connection, size)
            except OSError:
                talk.heard.append("closed")
                break
            is_token = raw and frame[:2] != METADATA[:2]
            talk.heard.append(answer.hex() if is_token else _shown(talk, frame, answer))
            raw = raw or frame == handshake("PLAIN", 0)
        else:
            connection.settimeout(0.5)
            try:
                talk.heard.append("closed" if not connection.recv(1) else "more")
            except TimeoutError:
                talk.heard.append("lives")
            except OSError:
                talk.heard.append("closed")
    return talk.heard


def _shown(talk: Talk, frame: bytes, answer: bytes) -> Any:
    key, version = struct.unpack(">hh", frame[:4])
    if key == ApiKey.API_VERSIONS and version == 99:
        version = 0
    read = decode_response(answer, key, version)
    assert read.header.correlation_id == CORRELATION
    if key in (ApiKey.API_VERSIONS, ApiKey.METADATA):
        return f"{ApiKey(key).name} {getattr(read.body, 'error_code', 0)}"
    shown: dict[str, Any] = json.loads(json.dumps(to_json(read.body, version)))
    if key == ApiKey.SASL_HANDSHAKE:
        shown["mechanisms"].sort()
    if key == ApiKey.SASL_AUTHENTICATE:
        talk.token = cast(SaslAuthenticateResponse, read.body).auth_bytes
        said = re.sub(r"^r=client[^,]{20,}", "r=client<nonce>", talk.token.decode())
        shown["authBytes"] = re.sub(r"^v=.{44,}", "v=<signature>", said)
    return shown


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def test_both_hear_and_answer_the_same(listeners: Listeners) -> None:
    """SAS-01..09, 12, 13, 14, 16..19, 36: every dialogue with both, the same answers and the same end."""
    with ThreadPoolExecutor(16) as pool:
        java, ours = (
            dict(zip(DIALOGUES, pool.map(partial(_talk, port), DIALOGUES.values()), strict=True))
            for port in (listeners.java, listeners.ours)
        )
    differ = {name: (java[name], ours[name]) for name in DIALOGUES if java[name] != ours[name]}
    known = DEVIATIONS.read_text()
    assert all(words in known for words in ON_PURPOSE.values())
    assert ON_PURPOSE.keys() <= differ.keys(), "these no longer differ"
    rest = {name: each for name, each in differ.items() if name not in ON_PURPOSE}
    assert not rest, "\n".join(f"{name}\n  java {java}\n  ours {ours}" for name, (java, ours) in rest.items())
    stranger, wrong = ours["SCRAM: a stranger"], ours["SCRAM: a wrong password"]
    assert (len(stranger), stranger[-2:]) == (len(wrong), wrong[-2:]), "nobody learns who exists"


def test_a_frame_too_large_for_a_stranger_ends_it(listeners: Listeners) -> None:
    """SAS-10: 512 KiB and one byte, and less than nothing; 512 KiB are read."""
    for port in (listeners.java, listeners.ours):
        for size in (512 * 1024 + 1, -1, 2**31 - 1):
            with socket.create_connection(("127.0.0.1", port), 30) as connection:
                connection.sendall(struct.pack(">i", size))
                assert _ended(connection), f"{port}: {size}"


def _ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_login_is_a_request_frame_like_another() -> None:
    """What is said above is what an encoder of requests says."""
    assert encode_request(SaslHandshakeRequest(mechanism="PLAIN"), 1, CORRELATION, "tester")[4:] == handshake("PLAIN")
