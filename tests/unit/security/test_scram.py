"""SCRAM by what a real Kafka and its clients said to each other, and what nobody may say."""

from __future__ import annotations

import base64
import hmac
import random
from functools import cache
from typing import Any, Final

import pytest

from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.plain import PlainServer
from controller_runtime.security.sasl.scram import Login, ScramClient, ScramServer, ServerNotTrusted
from controller_runtime.security.sasl.server import Accepted, Challenge, Refused
from controller_runtime.security.scram_keys import ScramKeys, keys_of
from support.disks.metadata_logs import logs_of, records_of
from support.golden import GOLDEN, json_lines
from support.sampling import run_seed

pytestmark = pytest.mark.unit

SHA256: Final = "SCRAM-SHA-256"
SHA512: Final = "SCRAM-SHA-512"


class Users:
    """Keys by name; who is not there gets keys that nobody has."""

    def __init__(self, keys: dict[str, ScramKeys]) -> None:
        self.keys = keys
        self.decoys: ScramKeys | None = None

    def user(self, mechanism: str, name: str) -> Login | None:
        del mechanism
        return Login(self.keys[name], Identity(f"User:{name}")) if name in self.keys else None

    def token(self, mechanism: str, token_id: str) -> Login | None:
        del mechanism
        if token_id not in self.keys:
            return None
        return Login(self.keys[token_id], Identity("User:owner", token_authenticated=True))

    def decoy(self, mechanism: str, name: str) -> ScramKeys:
        del mechanism
        return self.decoys or ScramKeys(b"salt of nobody" + name.encode(), bytes(32), bytes(32), 4096)


ANN: Final = keys_of("sha256", b"pencil", b"some salt", 4096)
USERS: Final = Users({"ann": ANN, "a,b=c": ANN, "few": keys_of("sha256", b"pencil", b"some salt", 4095)})


def server(mechanism: str = SHA256, users: Users = USERS, nonce: str = "server") -> ScramServer:
    return ScramServer(mechanism, users, lambda: nonce)


def log_in(user: str, password: str, *, by_token: bool = False, mechanism: str = SHA256) -> Accepted:
    client, other = ScramClient(mechanism, user, password, "client", by_token=by_token), server(mechanism)
    said = other.on_token(client.first())
    assert isinstance(said, Challenge)
    final = client.on_challenge(said.data)
    assert final is not None
    done = other.on_token(final)
    assert isinstance(done, Accepted)
    assert client.on_challenge(done.data) is None
    return done


@cache
def recorded() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """First and second SaslAuthenticate of each exchange that Kafka's clients and brokers had."""
    rows = [row for row in json_lines("wire/cluster.jsonl.gz") if row["api"] == "SaslAuthenticate"]
    return list(zip(rows[::2], rows[1::2], strict=True))


@cache
def stored() -> dict[tuple[str, bytes], ScramKeys]:
    """All keys that Kafka's controllers ever wrote, by user and salt."""
    directories = sorted(GOLDEN.glob("cluster/controller-*/**/__cluster_metadata-0"))
    paths = [path for each in directories for path in (*each.glob("*.checkpoint"), *logs_of(each))]
    records = (record for path in paths for record, _ in records_of(path))
    return {
        (one.name, one.salt): ScramKeys(one.salt, one.stored_key, one.server_key, one.iterations)
        for one in records
        if isinstance(one, UserScramCredentialRecord) and one.mechanism == 1
    }


def test_what_kafka_answered_its_clients_is_what_we_answer() -> None:
    """SAS-15: recorded logins, byte for byte, with the nonce and the stored keys of the broker that was asked."""
    compared = 0
    for first, final in recorded():
        asked, said = (base64.b64decode(first[side]["body"]["authBytes"]) for side in ("request", "response"))
        name = asked.decode().split("n=")[1].split(",")[0]
        parts = dict(part.split("=", 1) for part in said.decode().split(","))
        keys = stored().get((name, base64.b64decode(parts["s"])))
        if keys is None:
            continue
        nonce = parts["r"].removeprefix(asked.decode().rpartition("r=")[2])
        ours = server(users=Users({name: keys}), nonce=nonce)
        assert ours.on_token(asked) == Challenge(said)
        token = base64.b64decode(final["request"]["body"]["authBytes"])
        if final["response"]["body"]["errorCode"]:
            with pytest.raises(Refused) as refused:
                ours.on_token(token)
            assert refused.value.words is None
        else:
            done = ours.on_token(token)
            assert done == Accepted(Identity(f"User:{name}"), base64.b64decode(final["response"]["body"]["authBytes"]))
        compared += 1
    assert compared >= 3


def test_the_example_of_rfc_7677() -> None:
    keys = keys_of("sha256", b"pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096)
    ours = server(users=Users({"user": keys}), nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    said = ours.on_token(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert said == Challenge(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    final = f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    wanted = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert ours.on_token(final) == Accepted(Identity("User:user"), wanted)
    client = ScramClient(SHA256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert isinstance(said, Challenge)
    assert client.on_challenge(said.data) == final
    assert client.on_challenge(wanted) is None


def test_names_with_commas_and_equals_signs() -> None:
    """SAS-16."""
    assert log_in("a,b=c", "pencil").identity == Identity("User:a,b=c")
    assert ScramClient(SHA256, "a,b=c", "x", "n").first() == b"n,,n=a=2Cb=3Dc,r=n"
    for name in (b"a=b", b"a=2cb", b"", "ä".encode(), b"\0"):
        with pytest.raises(Refused):
            server().on_token(b"n,,n=" + name + b",r=nonce")


def test_a_token_is_its_owner() -> None:
    """TOK-02's half: the extension says that the name is a token's."""
    assert log_in("ann", "pencil", by_token=True).identity == Identity("User:owner", token_authenticated=True)


FINALS = [
    ("c=biws,r=clientserver,p={}", True),
    ("c=biws,r=client,p={}", False),
    ("c=biws,r=clientserverx,p={}", False),
    ("c=biws,r=serverclient,p={}", False),
    ("c=eSws,r=clientserver,p={}", False),  # y,,
    ("c=cD10bHMtdW5pcXVlLCw=,r=clientserver,p={}", False),  # p=tls-unique,,
    ("c=biwsYQ==,r=clientserver,p={}", False),
    ("c=,r=clientserver,p={}", False),
    ("r=clientserver,c=biws,p={}", False),
    ("c=biws,r=clientserver", False),
    ("c=biws,r=clientserver,p=", False),
    ("c=biws,r=clientserver,p=AAAA", False),
    ("c=biws,r=clientserver,p={},x=y", False),
    ("c=biws,r=clientserver,x=y,p={}", True),
    ("", False),
]


@pytest.mark.parametrize(("text", "accepted"), FINALS, ids=[text for text, _ in FINALS])
def test_the_last_message_must_repeat_what_was_agreed(text: str, accepted: bool) -> None:
    """SAS-17 and ATK-01 (CVE-2024-56128): another nonce or binding is refused even with the right proof."""
    import hashlib
    import hmac

    from controller_runtime.security.sasl.scram_messages import xored
    from controller_runtime.security.scram_keys import client_key, salted_password

    ours = server()
    said = ours.on_token(b"n,,n=ann,r=client")
    assert isinstance(said, Challenge)
    bare = text.partition(",p=")[0]
    key = client_key("sha256", salted_password("sha256", b"pencil", b"some salt", 4096))
    signed = b",".join([b"n=ann,r=client", said.data, bare.encode()])
    proof = xored(key, hmac.digest(hashlib.sha256(key).digest(), signed, "sha256"))
    final = text.format(base64.b64encode(proof).decode()).encode()
    if accepted:
        assert isinstance(ours.on_token(final), Accepted)
    else:
        with pytest.raises(Refused):
            ours.on_token(final)


@pytest.mark.parametrize(
    "first",
    [b"y,,n=ann,r=n", b"p=tls-unique,,n=ann,r=n", b"n,n=ann,r=n", b",,n=ann,r=n", b"n,,r=n,n=ann", b"n,,n=ann",
     b"n,,n=ann,r=", b"n,,n=ann,r=a b", b"n,,n=ann,r=n,", b"n,,n=ann,r=n,x", b"n,,n=ann,r=n,1=y", b"", b"\xff\xfe",
     b"n,,n=ann,r=n\n", b"n,,n=few,r=n"],
)  # fmt: skip
def test_a_first_message_that_is_none_is_refused(first: bytes) -> None:
    """SAS-17 (gs2 p=, y=), SAS-19, and SAS-20: keys of too few iterations."""
    with pytest.raises(Refused) as refused:
        server().on_token(first)
    assert refused.value.words is None


def test_a_client_asks_for_nobody_else() -> None:
    """SAS-18 and ATK-04."""
    assert isinstance(server().on_token(b"n,a=ann,n=ann,r=n"), Challenge)
    with pytest.raises(Refused) as refused:
        server().on_token(b"n,a=bob,n=ann,r=n")
    assert refused.value.words is not None
    assert refused.value.words.endswith("an authorization id that is different from username")


def test_extensions_that_nobody_knows_are_left_alone() -> None:
    """SAS-19."""
    assert isinstance(server().on_token(b"n,,m=x,n=ann,r=n,ext=a=b,tokenauth=false"), Challenge)


def test_a_stranger_is_asked_and_refused_like_a_user_with_the_wrong_password() -> None:
    """ATK-21: the same messages, the same words, and always the same salt for the same name."""
    whys = []
    for user in ("ann", "nobody"):
        client, ours = ScramClient(SHA256, user, "wrong", "client"), server()
        said = ours.on_token(client.first())
        assert isinstance(said, Challenge)
        final = client.on_challenge(said.data)
        assert final is not None
        with pytest.raises(Refused) as refused:
            ours.on_token(final)
        whys.append((str(refused.value), refused.value.words))
    assert whys[0] == whys[1]


def test_nobody_comes_in_with_keys_of_nobody() -> None:
    """Even who could prove the keys that a stranger is asked for."""
    users = Users({})
    users.decoys = ANN
    client, ours = ScramClient(SHA256, "nobody", "pencil", "client"), server(users=users)
    said = ours.on_token(client.first())
    assert isinstance(said, Challenge)
    final = client.on_challenge(said.data)
    assert final is not None
    with pytest.raises(Refused):
        ours.on_token(final)


@pytest.mark.parametrize(
    "said",
    [b"r=other,s=c2FsdA==,i=4096", b"r=client,s=c2FsdA==,i=4096", b"r=clientx,s=c2FsdA==,i=4095",
     b"r=clientx,s=c2FsdA==,i=999999999", b"r=clientx,s=?,i=4096", b"e=unknown-user", b"", b"\xff"],
)  # fmt: skip
def test_a_client_shows_nothing_to_a_server_that_asks_wrongly(said: bytes) -> None:
    """SAS-21: too few iterations, so many that they are a bomb, a nonce that is not ours."""
    with pytest.raises(ServerNotTrusted):
        ScramClient(SHA256, "ann", "pencil", "client").on_challenge(said)


@pytest.mark.parametrize("said", [b"v=AAAA", b"e=other-error", b"", b"v="])
def test_a_client_believes_no_server_that_cannot_prove_itself(said: bytes) -> None:
    """SAS-21: the wrong signature."""
    client, ours = ScramClient(SHA256, "ann", "pencil", "client"), server()
    first = ours.on_token(client.first())
    assert isinstance(first, Challenge)
    client.on_challenge(first.data)
    with pytest.raises(ServerNotTrusted):
        client.on_challenge(said)


def test_any_byte_that_changes_on_the_way_ends_the_login() -> None:
    dice = random.Random(run_seed())
    for _ in range(100):
        client, ours = ScramClient(SHA256, "ann", "pencil", "client"), server()
        first = ours.on_token(client.first())
        assert isinstance(first, Challenge)
        final = bytearray(client.on_challenge(first.data) or b"")
        at, before = dice.randrange(len(final)), bytes(final)
        final[at] ^= 1 << dice.randrange(8)
        with pytest.raises(Refused):
            ours.on_token(bytes(final))
        assert bytes(final) != before


@pytest.mark.parametrize("user", ["ann", "nobody"])
def test_proofs_and_passwords_are_compared_in_constant_time(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """ATK-06 (CVE-2021-38153): by the standard library's comparison, as often for who does not exist."""
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def noted(one: Any, other: Any) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    client, ours = ScramClient(SHA256, user, "wrong", "client"), server()
    said = ours.on_token(client.first())
    assert isinstance(said, Challenge)
    final = client.on_challenge(said.data)
    assert final is not None
    with pytest.raises(Refused):
        ours.on_token(final)
    assert compared[-1] == (32, 32)
    assert len(compared) == 2, "the nonce, and the key"
    with pytest.raises(Refused):
        PlainServer({"ann": "pencil"}).on_token(f"\0{user}\0wrong".encode())
    assert len(compared) == 3
