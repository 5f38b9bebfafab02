"""What a client of ours does not do for a server that may be somebody in between: say its password, take something
weaker than it was told, or believe that it is let in by a server that has proven nothing.
"""

from __future__ import annotations

from base64 import b64encode
from random import Random

import pytest

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.security.client_session import ClientSession, LoggedIn, LoginFailed
from controller_runtime.security.sasl_settings import ClientLogin
from support.sampling import run_seed

pytestmark = pytest.mark.unit

SECRET = "c4nary-password"


def session(mechanism: str) -> ClientSession:
    found = ClientSession(ClientLogin(mechanism, "ann", SECRET), "nonce")
    found.begin()
    return found


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_server_that_offers_something_weaker_is_left(mechanism: str) -> None:
    """Attack: downgrade of the mechanism. It hears no password, whether it refuses ours or pretends to take it."""
    offered = SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=("PLAIN",))
    with pytest.raises(LoginFailed, match=r"not enabled in the server, enabled mechanisms are \[PLAIN\]"):
        session(mechanism).on_answer(offered)
    pretended = session(mechanism).on_answer(SaslHandshakeResponse(mechanisms=("PLAIN",)))
    assert isinstance(pretended, SaslAuthenticateRequest)
    assert SECRET.encode() not in pretended.auth_bytes
    assert pretended.auth_bytes == b"n,,n=ann,r=nonce"


def answers(random: Random) -> Message:
    """Of a server that knows no password, but the grammar."""
    salt = b64encode(random.randbytes(8)).decode()
    nonce = random.choice(("nonce", "noncex", "x"))
    said = random.choice((
        b"", b"v=", b"v=" + b64encode(random.randbytes(32)), random.randbytes(20),
        f"r={nonce},s={salt},i={random.choice((1, 4096, 4097))}".encode(),
    ))  # fmt: skip
    return random.choice((
        SaslAuthenticateResponse(auth_bytes=said), SaslAuthenticateResponse(auth_bytes=said),
        SaslHandshakeResponse(mechanisms=("PLAIN",)),
    ))  # fmt: skip


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_whatever_a_server_says_that_knows_no_password_it_hears_none_and_is_not_believed(mechanism: str) -> None:
    random = Random(run_seed())
    for _ in range(100):
        client, asked = session(mechanism), 0
        try:
            for _ in range(6):
                following = client.on_answer(answers(random))
                assert not isinstance(following, LoggedIn)
                assert isinstance(following, SaslAuthenticateRequest)
                assert SECRET.encode() not in following.auth_bytes
                asked += 1
        except LoginFailed as failed:
            assert SECRET not in str(failed)  # noqa: PT017
