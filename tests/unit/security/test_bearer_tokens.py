"""SAS-24, SAS-25, SAS-26, SAS-27, SAS-28: what is said by OAUTHBEARER, and which tokens let somebody in."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
import pytest

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.claims import judge
from controller_runtime.security.oauth.settings import ClaimRules, UnsecuredToken, UnsecuredTokens
from controller_runtime.security.oauth.signatures import BadKeySet, UnknownKey, read_key_set
from controller_runtime.security.oauth.tokens import MAX_TOKEN_CHARACTERS, BadToken, BearerToken, sections
from controller_runtime.security.oauth.unsecured import judge_unsecured, unsecured_token
from controller_runtime.security.sasl.oauthbearer import OAuthBearerServer, client_first, extension_fault, read_first
from controller_runtime.security.sasl.server import Accepted, Challenge, Refused
from support.security.identity_provider import AUDIENCE, ISSUER, SigningKey, section

pytestmark = pytest.mark.unit

NOW = 1_800_000_000
WALL = WallClock(NOW * 1000)
KEY, OTHER, CURVE = SigningKey("first"), SigningKey("second"), SigningKey("curve", "ES256")
RULES = ClaimRules(audiences=(AUDIENCE,), issuer=ISSUER)
GOOD: dict[str, Any] = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "iat": NOW, "exp": NOW + 60}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


# What a client says first.


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (b"n,,\x01auth=Bearer a.b.c\x01\x01", ("", "a.b.c")),
        (b"n,,\x01auth=bearer   a.b.c==\x01\x01", ("", "a.b.c==")),
        (b"n,a=ann,\x01auth=Bearer a.b.c\x01\x01", ("ann", "a.b.c")),
        (b"n,,\x01auth=Bearer t\x01traceId=1 2\r\n\x01\x01", ("", "t")),
        (b"n,,\x01one=x\x01auth=Bearer t\x01\x01", ("", "t")),
    ],
)
def test_the_first_message_is_read(message: bytes, found: tuple[str, str]) -> None:
    """SAS-24"""
    assert read_first(message) == found


@pytest.mark.parametrize(
    "message",
    [
        b"", b"\x01", b"n,,", b"n,,\x01\x01", b"n,,\x01auth=Bearer t\x01", b"y,,\x01auth=Bearer t\x01\x01",
        b"p=tls-unique,,\x01auth=Bearer t\x01\x01", b"n,a=,\x01auth=Bearer t\x01\x01",
        b"n,a=x=y,\x01auth=Bearer t\x01\x01", b"n,,\x01auth=Basic t\x01\x01", b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer t u\x01\x01", b"n,,\x01a1=x\x01auth=Bearer t\x01\x01",
        b"n,,\x01k=\x01auth=Bearer t\x01\x01", b"n,,\x01k=\xff\x01auth=Bearer t\x01\x01",
        b"n,,\x01auth=Bearer t\x01\x01x", b"n,,\x01AUTH=Bearer t\x01\x01",
    ],
)  # fmt: skip
def test_what_is_no_first_message_is_refused_without_a_word(message: bytes) -> None:
    with pytest.raises(Refused) as refused:
        read_first(message)
    assert refused.value.words is None


def test_our_client_says_what_our_server_reads() -> None:
    assert read_first(client_first("a.b.c", {"trace": "1"})) == ("", "a.b.c")
    assert extension_fault("trace", "1") is None
    for name, value in (("auth", "x"), ("a1", "x"), ("a", ""), ("a", "\x01"), ("a", "ä")):
        assert extension_fault(name, value) is not None


def server(token: BearerToken | BadToken) -> OAuthBearerServer:
    def said(text: str) -> BearerToken:
        assert text == "a.b.c"
        if isinstance(token, BadToken):
            raise token
        return token

    return OAuthBearerServer(said)


def first(authorization: str = "") -> bytes:
    return f"n,{authorization},\x01auth=Bearer a.b.c\x01\x01".encode()


def test_a_token_that_is_believed_says_who_comes_and_until_when() -> None:
    found = server(BearerToken("ann", 5000)).on_token(first())
    assert isinstance(found, Accepted)
    assert (found.identity.principal, found.identity.expires_at_ms) == ("User:ann", 5000)
    assert isinstance(server(BearerToken("a,b", 1)).on_token(first("a=a=2Cb")), Accepted)


def test_nobody_is_somebody_else_than_his_token_says() -> None:
    with pytest.raises(Refused) as refused:
        server(BearerToken("ann", 5000)).on_token(first("a=admin"))
    assert "authorization id (admin) that is different from the token's principal name (ann)" in str(
        refused.value.words
    )


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (BadToken("expired"), '{"status":"invalid_token"}'),
        (BadToken("scope", "insufficient_scope", "[a, b]"), '{"status":"insufficient_scope", "scope":"[a, b]"}'),
    ],
)
def test_a_bad_token_is_answered_with_json_and_then_refused_with_it(bad: BadToken, said: str) -> None:
    """SAS-25"""
    exchange = server(bad)
    assert exchange.on_token(first()) == Challenge(said.encode())
    with pytest.raises(Refused) as refused:
        exchange.on_token(b"\x01")
    assert refused.value.words == said
    assert json.loads(said)


def test_after_the_json_no_second_token_is_looked_at() -> None:
    """Apache Kafka judges as many as come: a handshake is worth one guess here."""
    exchange = server(BadToken("expired"))
    exchange.on_token(first())
    with pytest.raises(Refused) as refused:
        exchange.on_token(first())
    assert refused.value.words is None


# Claims.


@pytest.mark.parametrize(
    ("claims", "rules"),
    [
        (GOOD, RULES),
        ({**GOOD, "exp": NOW - 29}, RULES),
        ({**GOOD, "exp": NOW - 29, "iat": NOW - 29}, RULES),
        ({**GOOD, "iat": NOW + 60}, RULES),
        ({**GOOD, "nbf": NOW + 30}, RULES),
        ({**GOOD, "nbf": NOW + 60, "exp": NOW + 60, "iat": 0}, ClaimRules((AUDIENCE,), ISSUER, 60)),
        ({**GOOD, "exp": NOW + 60.9, "iat": 1.5}, RULES),
        ({**GOOD, "aud": ["x", AUDIENCE]}, RULES),
        ({**GOOD, "aud": "b"}, ClaimRules(("a", "b"), ISSUER)),
        (without("aud"), ClaimRules()),
        ({**without("iss"), "aud": AUDIENCE}, ClaimRules((AUDIENCE,))),
        ({**GOOD, "iss": "anybody"}, ClaimRules((AUDIENCE,))),
        ({**GOOD, "scope": ["a", "b"]}, RULES),
        ({**GOOD, "scope": "a b"}, RULES),
        ({**GOOD, "scope": 7}, RULES),
    ],
)
def test_claims_that_let_in(claims: dict[str, Any], rules: ClaimRules) -> None:
    """SAS-26: each boundary from inside."""
    if claims.get("exp") == NOW - 29 and claims["iat"] == NOW:
        claims = {**claims, "iat": NOW - 60}
    assert judge(claims, rules, WALL).principal == "ann"


@pytest.mark.parametrize(
    ("claims", "rules"),
    [
        (without("exp"), RULES), (without("iat"), RULES), (without("sub"), RULES),
        ({**GOOD, "exp": NOW - 30, "iat": 0}, RULES),
        ({**GOOD, "exp": NOW, "iat": 0}, ClaimRules((AUDIENCE,), ISSUER, 0)),
        ({**GOOD, "exp": NOW + 59, "iat": NOW + 60}, RULES),
        ({**GOOD, "nbf": NOW + 31}, RULES),
        ({**GOOD, "nbf": NOW + 61}, ClaimRules((AUDIENCE,), ISSUER, 100)),
        ({**GOOD, "exp": str(NOW + 60)}, RULES), ({**GOOD, "exp": True}, RULES), ({**GOOD, "exp": -1}, RULES),
        ({**GOOD, "exp": 1e300}, RULES), ({**GOOD, "exp": 10**40}, RULES), ({**GOOD, "nbf": "now"}, RULES),
        ({**GOOD, "iss": ISSUER + "/"}, RULES), (without("iss"), RULES), ({**GOOD, "iss": [ISSUER]}, RULES),
        ({**GOOD, "iss": 7}, ClaimRules((AUDIENCE,))),
        ({**GOOD, "aud": "other"}, RULES), (without("aud"), RULES), ({**GOOD, "aud": []}, RULES),
        ({**GOOD, "aud": {AUDIENCE: 1}}, RULES), ({**GOOD, "aud": [AUDIENCE, 7]}, RULES),
        ({**GOOD, "sub": ""}, RULES), ({**GOOD, "sub": "  "}, RULES), ({**GOOD, "sub": 7}, RULES),
        ({**GOOD, "sub": ["ann"]}, RULES), (GOOD, ClaimRules((AUDIENCE,), ISSUER, principal_claim="email")),
        ({**GOOD, "scope": ["a", "a"]}, RULES), ({**GOOD, "scope": ["a", " a"]}, RULES),
        ({**GOOD, "scope": ["a", ""]}, RULES), ({**GOOD, "scope": ["a", 7]}, RULES), ({**GOOD, "scope": " "}, RULES),
    ],
)  # fmt: skip
def test_claims_that_let_nobody_in(claims: dict[str, Any], rules: ClaimRules) -> None:
    """SAS-26: each boundary from outside."""
    with pytest.raises(BadToken):
        judge(claims, rules, WALL)


@pytest.mark.parametrize("audience", [AUDIENCE, [AUDIENCE], [], ""])
def test_a_token_for_somebody_is_not_taken_where_nobody_is_expected(audience: object) -> None:
    """SAS-27"""
    with pytest.raises(BadToken, match=r"set sasl\.oauthbearer\.expected\.audience"):
        judge({**GOOD, "aud": audience}, ClaimRules(issuer=ISSUER), WALL)


def test_other_claims_name_principal_and_scopes() -> None:
    rules = ClaimRules((AUDIENCE,), ISSUER, scope_claim="scp", principal_claim="client_id")
    found = judge({**GOOD, "client_id": " svc ", "scp": ["r", "w"]}, rules, WALL)
    assert found == BearerToken("svc", (NOW + 60) * 1000, frozenset({"r", "w"}), NOW * 1000)


# Signatures.


def keys(*every: SigningKey) -> Any:
    return read_key_set(json.dumps({"keys": [one.public for one in every]}))


def check(token: str, *every: SigningKey) -> None:
    keys(*(every or (KEY,))).check(token, sections(token).header)


def test_a_signature_of_a_known_key_is_believed() -> None:
    check(KEY.sign(GOOD))
    check(CURVE.sign(GOOD), KEY, CURVE)
    check(jwt.encode(GOOD, KEY.private, "RS256"))  # no key id: the first key that fits
    check(jwt.encode(GOOD, OTHER.private, "RS256", headers={"kid": "second"}), KEY, OTHER)


def test_what_claims_to_be_signed_and_is_not() -> None:
    """SAS-28, and ATK-02: none, HMAC by the public key, a key that comes along, another's signature, a changed
    payload.
    """
    good = KEY.sign(GOOD)
    header, payload, signature = good.split(".")
    forged = section({**GOOD, "sub": "admin"})
    secret = KEY.public_pem
    tokens = {
        "none": f"{section({'alg': 'none'})}.{payload}.",
        "None, signed": f"{section({'alg': 'None', 'kid': 'first'})}.{payload}.{signature}",
        "no algorithm": f"{section({'kid': 'first'})}.{payload}.{signature}",
        "an algorithm that is a list": f"{section({'alg': ['RS256'], 'kid': 'first'})}.{payload}.{signature}",
        "HMAC by the public key": jwt.api_jws.PyJWS().encode(
            json.dumps(GOOD).encode(), "x" * 32, "HS256", {"kid": "first"}
        ),
        "another's key under our id": jwt.encode(GOOD, OTHER.private, "RS256", headers={"kid": "first"}),
        "a key that comes along": jwt.encode(
            GOOD, OTHER.private, "RS256", headers={"kid": "first", "jwk": OTHER.public, "jku": "https://evil.example"}
        ),
        "another payload": f"{header}.{forged}.{signature}",
        "no signature": f"{header}.{payload}.",
        "half a signature": f"{header}.{payload}.{signature[: len(signature) // 2]}",
        "RSA's key for an elliptic curve": f"{section({'alg': 'ES256', 'kid': 'first'})}.{payload}.{signature}",
        "critical and unknown": KEY.sign(GOOD, crit=["x"], x=1),
        "not encoded": KEY.sign(GOOD, b64=False, crit=["b64"]),
    }
    for what, token in tokens.items():
        with pytest.raises(BadToken):
            check(token)
            pytest.fail(what)
    assert secret.startswith(b"-----BEGIN PUBLIC KEY")


def test_an_hmac_by_the_public_key_as_attackers_make_it() -> None:
    import base64
    import hashlib
    import hmac

    signed = f"{section({'alg': 'HS256', 'kid': 'first'})}.{section(GOOD)}"
    for secret in (KEY.public_pem, KEY.public_pem.strip(), json.dumps(KEY.public).encode()):
        made = base64.urlsafe_b64encode(hmac.digest(secret, signed.encode(), hashlib.sha256)).rstrip(b"=").decode()
        with pytest.raises(BadToken, match="algorithm"):
            check(f"{signed}.{made}")


@pytest.mark.parametrize("kid", ["other", "../../etc/passwd", "' or 1=1 --", "x" * 5000, ""])
def test_a_key_id_is_compared_and_nothing_else(kid: str) -> None:
    """Attack: injection by the key id. Nothing is opened, asked or built by it."""
    with pytest.raises(UnknownKey) as unknown:
        check(
            jwt.encode(GOOD, KEY.private, "RS256", headers={"kid": kid})
            if kid
            else f"{section({'alg': 'RS256', 'kid': ''})}.{section(GOOD)}.x"
        )
    assert unknown.value.kid == kid
    assert kid not in str(unknown.value) or not kid


def test_keys_that_are_for_something_else_verify_nothing() -> None:
    token = KEY.sign(GOOD)
    for change in ({"use": "enc"}, {"key_ops": ["sign"]}, {"alg": "RS512"}, {"kty": "oct", "k": "AAAA"}):
        with pytest.raises(BadToken):
            read_key_set(json.dumps({"keys": [{**KEY.public, **change}]})).check(token, sections(token).header)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": {}}', '{"keys": 7}', "[" * 100_000, json.dumps({"keys": [{}] * 300})]
)
def test_what_is_no_key_set(text: str) -> None:
    with pytest.raises(BadKeySet):
        read_key_set(text)


def test_a_key_that_is_not_understood_spoils_no_other() -> None:
    """KIP-768: algorithms come and go."""
    found = read_key_set(
        json.dumps({"keys": [7, {"kty": "XYZ"}, {"kty": "RSA", "kid": "broken", "n": "!", "e": "!"}, KEY.public]})
    )
    found.check(KEY.sign(GOOD), {"alg": "RS256", "kid": "first"})
    broken = jwt.encode(GOOD, KEY.private, "RS256", headers={"kid": "broken"})
    with pytest.raises(BadToken):
        found.check(broken, sections(broken).header)


# Tokens that are no tokens.

NOT_A_NUMBER = section(b'{"alg":NaN}') + f".{section({})}.x"
TWICE = section(b'{"alg":"RS256","alg":"none"}') + f".{section({})}.x"
LONG_NUMBER = f"{section({})}." + section(b'{"exp":' + b"9" * 5000 + b"}") + ".x"


@pytest.mark.parametrize(
    "token",
    [
        "", "a", "a.b", "..", ".b.c", "a..c", "a.b.c.d", "!.b.c", "a.b.c", f"{section([1])}.{section({})}.x",
        f"{section({})}.{section(b'[' * 50_000)}.x"[:MAX_TOKEN_CHARACTERS],
        f"{section(b'{' + b'7' * 9 + b'}')}.{section({})}.x", NOT_A_NUMBER,
        TWICE,
        LONG_NUMBER, "x" * (MAX_TOKEN_CHARACTERS + 1),
    ],
)  # fmt: skip
def test_what_is_no_token_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(BadToken) as bad:
        sections(token)
    assert len(str(bad.value)) < 120


def test_a_giant_token_costs_next_to_nothing() -> None:
    """As large as a listener takes before it is known who asks."""
    token = f"{section({'alg': 'RS256', 'kid': 'first'})}.{'A' * 500_000}.{'A' * 342}"
    began = time.process_time()
    for _ in range(20):
        with pytest.raises(BadToken):
            sections(token)
    assert time.process_time() - began < 0.2


# Tokens that nobody has signed.


def test_unsecured_tokens_are_made_as_they_are_read() -> None:
    made = unsecured_token(UnsecuredToken({"sub": "ann", "scope": ["r", "w"]}), WALL)
    found = judge_unsecured(made, UnsecuredTokens(required_scopes=("r",)), WALL)
    assert found == BearerToken("ann", (NOW + 3600) * 1000, frozenset({"r", "w"}), NOW * 1000)
    with pytest.raises(BadToken) as bad:
        judge_unsecured(made, UnsecuredTokens(required_scopes=("r", "x")), WALL)
    assert (bad.value.status, bad.value.scope) == ("insufficient_scope", "[r, x]")


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "ann"}, {"exp": NOW + 1}, {"sub": "ann", "exp": NOW}, {"sub": "ann", "exp": NOW + 9, "iat": NOW + 1},
        {"sub": "ann", "exp": NOW + 9, "iat": "x"}, {"sub": "", "exp": NOW + 9}, {"sub": 7, "exp": NOW + 9},
    ],
)  # fmt: skip
def test_unsecured_tokens_have_their_rules_too(claims: dict[str, Any]) -> None:
    with pytest.raises(BadToken):
        judge_unsecured(f"{section({'alg': 'none'})}.{section(claims)}.", UnsecuredTokens(), WALL)
    signed = f"{section({'alg': 'none'})}.{section({'sub': 'ann', 'exp': NOW + 9})}.AAAA"
    with pytest.raises(BadToken, match="no signature"):
        judge_unsecured(signed, UnsecuredTokens(), WALL)
