"""PLAIN as Kafka's PlainSaslServer judges it."""

from __future__ import annotations

import pytest

from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.plain import PlainServer, client_token
from controller_runtime.security.sasl.server import Accepted, Refused

pytestmark = pytest.mark.unit

SERVER = PlainServer({"ann": "s3cret", "empty": "", "ä": "ö"})
WRONG = "Authentication failed: Invalid username or password"


@pytest.mark.parametrize("token", [b"\0ann\0s3cret", b"ann\0ann\0s3cret"])
def test_a_user_with_his_password_comes_in(token: bytes) -> None:
    assert SERVER.on_token(token) == Accepted(Identity("User:ann"))


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (b"\0ann\0wrong", WRONG),
        (b"\0bob\0s3cret", WRONG),
        (b"\0empty\0x", WRONG),
        (b"\0ann\0S3cret", WRONG),
        (b"\0\0s3cret", "Authentication failed: username not specified"),
        (b"\0ann\0", "Authentication failed: password not specified"),
        (b"\0empty\0", "Authentication failed: password not specified"),
        (b"bob\0ann\0s3cret",
         "Authentication failed: Client requested an authorization id that is different from username"),
        (b"bob\0ann\0wrong", WRONG),
        (b"ann\0s3cret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0ann\0s3cret\0\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\xff\xfe", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
    ],
)  # fmt: skip
def test_everybody_else_is_refused_in_kafkas_words(token: bytes, words: str | None) -> None:
    """SAS-14 and ATK-04."""
    with pytest.raises(Refused) as refused:
        SERVER.on_token(token)
    assert refused.value.words == words


def test_a_client_says_user_and_password() -> None:
    assert SERVER.on_token(client_token("ä", "ö")) == Accepted(Identity("User:ä"))
