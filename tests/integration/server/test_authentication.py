"""The door of a listener with SASL on real sockets: delays, deadlines, bounds, and who is known behind it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from controller_runtime.identifiers import WallClock
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.parts.events import RequestReceived
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.metadata_response import MetadataResponse
from controller_runtime.security.sasl.plain import client_token
from controller_runtime.security.sasl.scram import Login
from controller_runtime.security.sasl_settings import SaslSettings
from controller_runtime.security.scram_keys import ScramKeys
from controller_runtime.server.shell import authentication
from controller_runtime.server.shell.authentication import Authentication
from controller_runtime.server.shell.requests import Fed, Requests
from controller_runtime.values import replace
from support.clients.sasl_frames import authenticate, framed, handshake, read_authenticate

pytestmark = pytest.mark.integration

DELAY = 1.0
"""Long enough for another login on a slow machine."""
SETTINGS = SaslSettings(
    ("PLAIN", "SCRAM-SHA-256"),
    {"ann": "s3cret"},
    failure_delay_seconds=DELAY,
    deadline_seconds=60,
    max_receive_bytes=1000,
)


class Nobody:
    """Who looks a user of SCRAM up meets a bug."""

    def user(self, mechanism: str, name: str) -> Login | None:
        raise NotImplementedError

    def token(self, mechanism: str, token_id: str) -> Login | None:
        raise NotImplementedError

    def decoy(self, mechanism: str, name: str) -> ScramKeys:
        raise NotImplementedError


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, frame: bytes) -> None:
        self.writer.write(struct.pack(">i", len(frame)) + frame)

    async def hear(self) -> bytes:
        """With its length."""
        head = await asyncio.wait_for(self.reader.readexactly(4), 20)
        return head + await self.reader.readexactly(struct.unpack(">i", head)[0])

    async def ended(self) -> bool:
        try:
            return await asyncio.wait_for(self.reader.read(1), 20) == b""
        except ConnectionError:
            return True

    async def log_in(self, password: str = "s3cret") -> bytes:
        self.say(handshake("PLAIN"))
        await self.hear()
        self.say(authenticate(client_token("ann", password)))
        return await self.hear()


@dataclass
class Stand:
    requests: Requests
    listener: SocketServer
    events: asyncio.Queue[Fed]
    port: int
    clients: list[Client] = field(default_factory=list)

    async def client(self) -> Client:
        made = Client(*await asyncio.open_connection("127.0.0.1", self.port))
        self.clients.append(made)
        return made


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with a_stand(SETTINGS) as made:
        yield made


@asynccontextmanager
async def a_stand(settings: SaslSettings) -> AsyncIterator[Stand]:
    events: asyncio.Queue[Fed] = asyncio.Queue()
    requests = Requests({"CLIENTS": ListenerType.BROKER}, events.put_nowait)
    door = Authentication(requests, settings, Nobody(), lambda: WallClock(0))
    listener = SocketServer("CLIENTS", door, ListenerLimits())
    stand = Stand(requests, listener, events, await listener.open("127.0.0.1", 0))
    yield stand
    for client in stand.clients:
        client.writer.close()
    listener.close()
    await asyncio.sleep(0)


METADATA = framed(MetadataRequest(topics=()), 12)


async def test_behind_the_door_it_is_known_who_asks(stand: Stand) -> None:
    client = await stand.client()
    await client.log_in()
    client.say(METADATA)
    event = await asyncio.wait_for(stand.events.get(), 20)
    assert isinstance(event, RequestReceived)
    assert (event.connection.principal, event.connection.authenticated) == ("User:ann", True)
    assert not event.connection.token_authenticated
    stand.requests.respond(event.request_id, MetadataResponse())
    await client.hear()
    assert stand.requests.authentications.succeeded == 1


async def test_a_failure_is_said_late_and_holds_nobody_up(stand: Stand) -> None:
    """SAS-11: who fails hears it after the delay, who comes after him is in before."""
    loop = asyncio.get_running_loop()
    wrong, right = await stand.client(), await stand.client()
    began = loop.time()
    failing = asyncio.ensure_future(wrong.log_in("wrong"))
    assert read_authenticate(await right.log_in()).error_code == 0
    assert not failing.done(), "the right one is in before the wrong one hears that he is not"
    answer = await failing
    assert loop.time() - began >= DELAY
    assert read_authenticate(answer).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await wrong.ended()
    assert stand.requests.authentications.failed == 1


async def test_nothing_more_is_read_from_who_failed(stand: Stand) -> None:
    client = await stand.client()
    client.say(handshake("PLAIN"))
    client.say(authenticate(client_token("ann", "wrong")))
    client.say(authenticate(client_token("ann", "s3cret")))
    client.say(METADATA)
    await client.hear()
    assert read_authenticate(await client.hear()).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert await client.ended()
    assert stand.events.empty()
    assert stand.requests.authentications.succeeded == 0


async def test_who_does_not_authenticate_in_time_is_given_up() -> None:
    """ATK-20: silent ones, and one who has begun; who has authenticated stays."""
    async with a_stand(replace(SETTINGS, deadline_seconds=2)) as stand:
        silent, begun, inside = await stand.client(), await stand.client(), await stand.client()
        begun.say(handshake("PLAIN"))
        await begun.hear()
        await inside.log_in()
        assert await silent.ended()
        assert await begun.ended()
        inside.say(METADATA)
        assert isinstance(await asyncio.wait_for(stand.events.get(), 20), RequestReceived)


async def test_a_fault_of_ours_ends_that_login_and_is_counted(stand: Stand) -> None:
    stranger, right = await stand.client(), await stand.client()
    stranger.say(handshake("SCRAM-SHA-256"))
    await stranger.hear()
    stranger.say(authenticate(b"n,,n=ann,r=abc"))
    assert await stranger.ended()
    assert stand.requests.faults.counts == {("none", "authenticated"): 1}
    assert read_authenticate(await right.log_in()).error_code == 0


async def test_frames_are_small_until_it_is_known_who_asks(stand: Stand) -> None:
    """SAS-10, ATK-05: a length is refused as soon as it is read; afterwards it is the listener's bound."""
    for size in (1001, -1, 2**31 - 1):
        client = await stand.client()
        client.writer.write(struct.pack(">i", size))
        assert await client.ended()
    client = await stand.client()
    client.say(authenticate(b"x" * 900)[:1000])
    assert await client.ended(), "it was read, and is no handshake"
    inside = await stand.client()
    await inside.log_in()
    inside.say(METADATA + bytes(2000))
    assert isinstance(await asyncio.wait_for(stand.events.get(), 20), RequestReceived)


async def test_of_very_many_strangers_the_oldest_go(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication, "MAX_GUESTS", 3)
    clients = [await stand.client() for _ in range(4)]
    assert await clients[0].ended()
    assert read_authenticate(await clients[3].log_in()).error_code == 0
    assert len(stand.listener.connections) == 3
