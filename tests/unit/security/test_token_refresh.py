"""When a token is replaced (ExpiringCredentialRefreshingLogin), and what a token endpoint is asked and answers."""

from __future__ import annotations

import base64
from urllib.parse import parse_qs

import pytest

from controller_runtime.identifiers import WallClock
from controller_runtime.security.oauth.refresh import refresh_at
from controller_runtime.security.oauth.requests import (
    NoToken,
    by_assertion,
    by_secret,
    error_in,
    own_token,
    token_in,
)
from controller_runtime.security.oauth.settings import Assertion, AssertionGrant, Endpoint, Refresh, SecretGrant
from controller_runtime.security.oauth.tokens import BearerToken
from support.security.identity_provider import section

pytestmark = pytest.mark.unit

NOW = WallClock(1_000_000_000)
HOUR = 3_600_000
ENDPOINT = Endpoint("https://issuer.example/token")


@pytest.mark.parametrize(
    ("lifetime_ms", "issued_ms_ago", "dice", "after_ms"),
    [
        (HOUR, 0, 0.0, int(HOUR * 0.8)),
        (HOUR, 0, 1.0, int(HOUR * 0.85)),
        (1_000_000, 0, 1.0, 700_000),  # the buffer of five minutes before the end
        (500_000, HOUR, 0.0, 60_000),  # it began long ago: not at once
        (365_000, 0, 0.0, 65_000),
        (300_000, 0, 0.0, 240_000),  # shorter than buffer and period together: both are ignored
        (100_000, HOUR, 0.0, 80_000),
    ],
)
def test_a_token_is_replaced_at_a_part_of_its_life(
    lifetime_ms: int, issued_ms_ago: int, dice: float, after_ms: int
) -> None:
    token = BearerToken("ann", NOW + lifetime_ms, issued_at_ms=NOW - issued_ms_ago)
    assert refresh_at(Refresh(), token, NOW, dice) - NOW == after_ms


def test_it_is_not_replaced_as_soon_as_it_has_come() -> None:
    token = BearerToken("ann", NOW + HOUR, issued_at_ms=NOW - 100 * HOUR)
    assert refresh_at(Refresh(buffer_seconds=0, min_period_seconds=90), token, NOW, 0.0) - NOW == 90_000


def test_a_client_shows_its_secret_as_kafka_does() -> None:
    """Not URL-encoded unless it is asked for (KAFKA-14496, KIP-1050)."""
    asked = by_secret(SecretGrant(ENDPOINT, "a b", "s/%", "x y"))
    assert base64.b64decode(asked.headers["Authorization"].removeprefix("Basic ")) == b"a b:s/%"
    assert asked.body == b"grant_type=client_credentials&scope=x y"
    encoded = by_secret(SecretGrant(ENDPOINT, "a b", "s/%", "x y", encodes=True))
    assert base64.b64decode(encoded.headers["Authorization"].removeprefix("Basic ")) == b"a+b:s%2F%25"
    assert encoded.body == b"grant_type=client_credentials&scope=x+y"
    assert "s/%" not in repr(asked)


def test_an_assertion_is_a_grant_or_stands_for_the_secret() -> None:
    """KIP-1139, KIP-1258."""
    grant = parse_qs(by_assertion(AssertionGrant(ENDPOINT, Assertion(), "x"), "a.b.c").body.decode())
    assert grant == {
        "grant_type": ["urn:ietf:params:oauth:grant-type:jwt-bearer"], "assertion": ["a.b.c"], "scope": ["x"],
    }  # fmt: skip
    client = by_assertion(AssertionGrant(ENDPOINT, Assertion(), is_client=True, client_id="ann"), "a.b.c")
    assert parse_qs(client.body.decode()) == {
        "client_assertion_type": ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
        "client_assertion": ["a.b.c"], "grant_type": ["client_credentials"], "client_id": ["ann"],
    }  # fmt: skip
    assert "Authorization" not in client.headers


def test_the_token_is_found_in_the_answer() -> None:
    assert token_in(b'{"access_token": " a.b.c "}') == "a.b.c"
    assert token_in(b'{"id_token": "a.b.c"}') == "a.b.c"
    for answer in (b"", b"[]", b"{}", b'{"access_token": ""}', b'{"access_token": 7}', b"[" * 100_000):
        with pytest.raises(NoToken):
            token_in(answer)


def test_errors_of_an_endpoint_are_said_in_bounded_words() -> None:
    assert error_in(b'{"error": "invalid_client", "error_description": "no"}') == "{'invalid_client' - 'no'}"
    assert error_in(b'{"errorCode": "E7", "errorSummary": "no"}') == "{'E7' - 'no'}"
    assert error_in(b"<html>") == error_in(b"{}") == "{}"
    assert len(error_in(b'{"error": "' + b"x" * 10_000 + b'"}')) < 300
    assert "\n" not in error_in(b'{"error": "a\\nb"}')


def test_what_a_client_reads_of_its_own_token() -> None:
    token = f"{section({'alg': 'RS256'})}.{section({'sub': 'ann', 'exp': 7.5, 'iat': 1})}.x"
    assert own_token(token, "sub") == BearerToken("ann", 7500, issued_at_ms=1000)
    for claims in ({"sub": "ann"}, {"exp": 7}, {"sub": " ", "exp": 7}, {"sub": "ann", "exp": "7"}):
        with pytest.raises(NoToken):
            own_token(f"{section({})}.{section(claims)}.x", "sub")
