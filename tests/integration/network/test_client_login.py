"""A login of ours by SCRAM: what takes thousands of hashes is done beside the loop, and given up with the end."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from controller_runtime.network.client_login import Login
from controller_runtime.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from controller_runtime.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from controller_runtime.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.security.principals import Identity
from controller_runtime.security.sasl.scram import Login as User
from controller_runtime.security.sasl.scram import ScramServer
from controller_runtime.security.sasl_settings import ClientLogin
from controller_runtime.security.scram_keys import ScramKeys, keys_of

pytestmark = pytest.mark.integration

MECHANISM = "SCRAM-SHA-512"
KEYS = keys_of("sha512", b"pencil", b"salt", 4096)


class Users:
    def user(self, mechanism: str, name: str) -> User | None:
        return User(KEYS, Identity(f"User:{name}"))

    def token(self, mechanism: str, token_id: str) -> User | None:
        raise NotImplementedError

    def decoy(self, mechanism: str, name: str) -> ScramKeys:
        raise NotImplementedError


class Peer:
    """Answers a login with the mechanism itself, in the next turn of the loop. `threads` make keys as soon as `held` is
    set.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server = ScramServer(MECHANISM, Users(), lambda: "server")
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.login = Login(
            ClientLogin(MECHANISM, "ann", "pencil"),
            self.ask,
            lambda: self.ended.set_result("in"),
            self.ended.set_result,
        )
        self.asked = 0
        self.threads: list[threading.Thread] = []
        self.held = threading.Event()
        pbkdf2 = hashlib.pbkdf2_hmac

        def noted(*given: Any) -> bytes:
            self.threads.append(threading.current_thread())
            assert self.held.wait(30)
            return pbkdf2(*given)

        monkeypatch.setattr(hashlib, "pbkdf2_hmac", noted)

    def ask(self, request: Message, answered: Callable[[Message], None]) -> None:
        self.asked += 1
        answer: Message = SaslHandshakeResponse(mechanisms=(MECHANISM,))
        if isinstance(request, SaslAuthenticateRequest):
            said = self.server.on_token(request.auth_bytes)
            answer = SaslAuthenticateResponse(auth_bytes=said.data)
        asyncio.get_running_loop().call_soon(answered, answer)


@pytest.fixture
async def peer(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Peer]:
    found = Peer(monkeypatch)
    found.login.begin()
    async with asyncio.timeout(30):
        while not found.threads:
            await asyncio.sleep(0.005)
    yield found
    found.held.set()
    found.login.close()


async def test_keys_are_made_beside_the_loop(peer: Peer) -> None:
    """They take as many hashes as the peer says."""
    await asyncio.sleep(0)
    assert not peer.ended.done()
    peer.held.set()
    assert await asyncio.wait_for(peer.ended, 30) == "in"
    assert threading.main_thread() not in peer.threads
    assert not peer.login.is_in_progress


async def test_a_connection_that_ends_meanwhile_asks_nothing_more(peer: Peer) -> None:
    asked = peer.asked
    peer.login.close()
    peer.held.set()
    await asyncio.get_running_loop().run_in_executor(None, peer.threads[0].is_alive)
    for _ in range(10):
        await asyncio.sleep(0.01)
    assert (peer.asked, peer.ended.done()) == (asked, False)
