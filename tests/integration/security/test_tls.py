"""TLS on real sockets: who gets in, who does not, and that nobody waits for those who do not."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from controller_runtime.identifiers import Endpoint
from controller_runtime.network import handshakes
from controller_runtime.network.client_connection import CallError, Failure
from controller_runtime.network.client_pool import ClientOptions, ClientPool
from controller_runtime.network.client_security import ClientSecurity
from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.connection_quotas import ConnectionLimits, ConnectionQuotas
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.network.secure_listener import secure
from controller_runtime.network.tls_stores import TlsStores
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.mapping_rules import parse_rules
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import ClientAuth, KeyStore, StoreType, TlsSettings, TrustStore
from controller_runtime.values import replace
from support.security.authority import Authority, Identity

CA: Final = Authority("ca")
OTHER_CA: Final = Authority("other-ca")
NODE: Final = CA.issue("node-1")
FRAME: Final = b"\0\0\0\5hello"


def key_store(identity: Identity) -> KeyStore:
    return KeyStore(StoreType.PEM, key=identity.key_pem(), chain=identity.chain_pem)


def trust(*authorities: Authority) -> TrustStore:
    return TrustStore(StoreType.PEM, certificates="".join(one.pem for one in authorities))


def settings(own: Identity | None = NODE, trusted: Authority = CA) -> TlsSettings:
    return TlsSettings(None if own is None else key_store(own), trust(trusted), ClientAuth.REQUIRED)


class Echo:
    """Answers every frame with the principal of who sent it, and the frame."""

    def __init__(self) -> None:
        self.principals: list[str] = []

    def connection_opened(self, connection: ServerConnection) -> None:
        self.principals.append(connection.principal)

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        connection.reply(len(frame).to_bytes(4, "big") + frame)

    def connection_closed(self, connection: ServerConnection) -> None: ...


class Served:
    def __init__(self, listener: SocketServer, echo: Echo, port: int) -> None:
        self.listener, self.echo, self.port = listener, echo, port

    async def ask(self, security: TlsSettings, host: str = "127.0.0.1", frame: bytes = FRAME) -> bytes:
        connecting = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, security)).connecting_to(host)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, **connecting)
        try:
            writer.write(frame)
            return await reader.readexactly(len(frame))
        finally:
            writer.transport.abort()

    async def raw(self, data: bytes) -> bytes:
        """What comes back for bytes that are no TLS, until the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            return await reader.read()
        finally:
            writer.transport.abort()

    async def refuses(self, security: TlsSettings, host: str = "127.0.0.1") -> None:
        before = self.listener.failed_handshakes
        with pytest.raises((OSError, EOFError)):
            await self.ask(security, host)
        await until(lambda: self.listener.failed_handshakes == before + 1)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(tls: TlsSettings | None = None, quotas: ConnectionQuotas | None = None) -> AsyncIterator[Served]:
    echo = Echo()
    listener = SocketServer("SECURE", echo, ListenerLimits(), quotas)
    secure(listener, TlsStores("SECURE", tls or settings()))
    port = await listener.open("127.0.0.1", 0)
    try:
        yield Served(listener, echo, port)
        await asyncio.sleep(0)
        assert not listener.handshakes, "whatever came is over"
    finally:
        listener.close()


async def test_a_certificate_of_the_authority_is_a_principal() -> None:
    """SSL-05: required."""
    async with serving() as served:
        assert await served.ask(settings(CA.issue("ann"))) == FRAME
        large = b"\0\x10\0\0" + bytes(1 << 20)
        assert await served.ask(settings(CA.issue("bob")), frame=large) == large
        assert served.echo.principals == ["User:CN=ann", "User:CN=bob"]


async def test_a_certificate_that_is_not_good_gets_nobody_in() -> None:
    """SSL-05, 28: none, of another authority, expired, not yet valid; nobody else is kept from anything."""
    async with serving() as served:
        await served.refuses(settings(None))
        await served.refuses(settings(OTHER_CA.issue("ann")))
        await served.refuses(settings(CA.issue("ann", days=(-9, -1))))
        await served.refuses(settings(CA.issue("ann", days=(1, 9))))
        assert served.echo.principals == []
        assert await served.ask(settings(CA.issue("ann"))) == FRAME


async def test_where_a_certificate_is_only_requested_who_has_none_is_anonymous() -> None:
    """SSL-06: untrusted ones are refused all the same."""
    async with serving(replace(settings(), client_auth=ClientAuth.REQUESTED)) as served:
        await served.ask(settings(None))
        await served.ask(settings(CA.issue("ann")))
        await served.refuses(settings(OTHER_CA.issue("ann")))
        assert served.echo.principals == ["User:ANONYMOUS", "User:CN=ann"]


async def test_who_is_not_asked_for_a_certificate_is_anonymous() -> None:
    async with serving(replace(settings(), client_auth=ClientAuth.NONE)) as served:
        await served.ask(settings(CA.issue("ann")))
        assert served.echo.principals == ["User:ANONYMOUS"]


async def test_a_client_believes_its_own_authority_only() -> None:
    async with serving() as served:
        with pytest.raises(ssl.SSLCertVerificationError):
            await served.ask(settings(CA.issue("ann"), OTHER_CA))
        await until(lambda: served.listener.failed_handshakes == 1)


async def test_a_client_compares_the_name_that_it_dialled() -> None:
    """SSL-11, 28: names and addresses of the certificate, its common name only without any, nothing if told so."""
    common_name_only = CA.issue("by-name", hosts=())
    ann = settings(CA.issue("ann"))
    for own, right, wrong in (
        (CA.issue("node", hosts=["node-1.svc"]), "node-1.svc", "node-2.svc"),
        (CA.issue("node", hosts=["127.0.0.1"]), "127.0.0.1", "127.0.0.2"),
        (common_name_only, "by-name", "127.0.0.1"),
        (CA.issue("by-name", hosts=["other"]), "other", "by-name"),
    ):
        async with serving(settings(own)) as served:
            await served.ask(ann, right)
            with pytest.raises(ssl.SSLCertVerificationError):
                await served.ask(ann, wrong)
            await served.ask(replace(ann, checks_host=False), wrong)
            await until(lambda one=served: one.listener.failed_handshakes == 1)  # type: ignore[misc]


async def test_an_expired_server_is_not_believed() -> None:
    """SSL-28."""
    async with serving(settings(CA.issue("node", days=(-9, -1)))) as served:
        with pytest.raises(ssl.SSLCertVerificationError):
            await served.ask(settings(CA.issue("ann")))
        await until(lambda: served.listener.failed_handshakes == 1)


async def test_one_between_may_be_sent_along_or_be_the_anchor() -> None:
    """SSL-27."""
    between = Authority("between", CA)
    node = between.issue("node")
    alone = Identity(node.key, node.chain[:1])
    async with serving(settings(node)) as served:
        await served.ask(settings(CA.issue("ann")))
    async with serving(settings(alone)) as served:
        await served.ask(settings(CA.issue("ann"), between))
        with pytest.raises(ssl.SSLCertVerificationError):
            await served.ask(settings(CA.issue("ann")))
        await until(lambda: served.listener.failed_handshakes == 1)


async def test_versions_and_suites_are_those_of_the_settings() -> None:
    """SSL-12, 13."""
    ann = settings(CA.issue("ann"))
    old, new = replace(ann, protocols=("TLSv1.2",)), replace(ann, protocols=("TLSv1.3",))
    async with serving() as served:
        await served.ask(old)
        await served.ask(new)
    async with serving(replace(settings(), protocols=("TLSv1.3",))) as served:
        await served.refuses(old)
    async with serving(replace(settings(), protocols=("TLSv1.2",))) as served:
        await served.refuses(new)
    suite = ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",)
    async with serving(replace(settings(), ciphers=suite)) as served:
        await served.ask(replace(ann, ciphers=suite))
        await served.refuses(replace(ann, ciphers=("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",)))
        await served.refuses(new)


async def test_no_rule_for_a_name_ends_its_connection() -> None:
    """SSL-10: the first request finds nobody; SSL-09 has the rules."""
    rules = parse_rules(r"RULE:^CN=([a-z]+)$/$1/U")
    async with serving(replace(settings(), rules=rules)) as served:
        await served.ask(settings(CA.issue("ann")))
        await served.refuses(settings(CA.issue("ann2")))
        assert served.echo.principals == ["User:ANN"]


@pytest.mark.parametrize("data", [FRAME, b"GET / HTTP/1.1\r\n\r\n", b"\x15\x03\x01\0\2\2\50", b"\x16\x03\x01\xff\xff"])
async def test_what_is_no_tls_is_closed_unanswered(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL-23: plaintext among it. At once: nobody waits for the deadline."""
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS", 1e6)
    async with serving() as served:
        assert await served.raw(data) == b""
        assert served.listener.failed_handshakes == 1
        assert await served.ask(settings(CA.issue("ann"))) == FRAME


async def test_a_record_that_holds_no_hello_ends_in_an_alert() -> None:
    async with serving() as served:
        said = await served.raw(b"\x16\x03\x01\0\4\x01\0\xff\xff" + b"x" * 9)
        assert said[:1] in {b"", b"\x15"}
        await until(lambda: served.listener.failed_handshakes == 1)


async def test_a_plaintext_listener_closes_on_a_handshake() -> None:
    """SSL-23, the reverse."""
    echo = Echo()
    listener = SocketServer("PLAIN", echo, ListenerLimits())
    port = await listener.open("127.0.0.1", 0)
    with pytest.raises(OSError):
        await Served(listener, echo, port).ask(settings(CA.issue("ann")))
    listener.close()


async def test_a_handshake_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL-24: a client that says nothing, or half of its hello, or not its last word, while others are served."""
    monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS", 0.3)
    async with serving() as served:
        outgoing = ssl.MemoryBIO()
        hello = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings(CA.issue("ann")))).stores
        assert hello is not None
        half_open = hello.client.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
        with pytest.raises(ssl.SSLWantReadError):
            half_open.do_handshake()
        whole = outgoing.read()
        waiting = [asyncio.create_task(served.raw(data)) for data in (b"", whole[:9], whole[:-1], whole)]
        await until(lambda: len(served.listener.handshakes) == 4)
        assert await served.ask(settings(CA.issue("ann"))) == FRAME
        answers = await asyncio.gather(*waiting)
        assert answers[:3] == [b"", b"", b""]
        assert answers[3][:1] == b"\x16", "a server's hello"
        assert served.listener.failed_handshakes == 4


async def test_of_handshakes_that_do_not_end_the_oldest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "MAX_UNFINISHED", 3)
    tls = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings(CA.issue("ann")))).stores
    assert tls is not None
    async with serving() as served:
        writers = []
        for _ in range(8):
            outgoing = ssl.MemoryBIO()
            with pytest.raises(ssl.SSLWantReadError):
                tls.client.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1").do_handshake()
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(outgoing.read())
            writers.append(writer)
        await until(lambda: served.listener.failed_handshakes == 5)
        assert len(served.listener.handshakes) == 3
        assert await served.ask(settings(CA.issue("ann"))) == FRAME
        for writer in writers:
            writer.transport.abort()
        await until(lambda: not served.listener.handshakes)


async def test_many_that_come_at_once_are_all_served() -> None:
    ann = settings(CA.issue("ann"))
    async with serving() as served:
        answers = await asyncio.gather(*(served.ask(ann) for _ in range(100)))
        assert answers == [FRAME] * 100
        assert served.listener.failed_handshakes == 0


async def test_connections_that_are_not_encrypted_yet_count_as_connections() -> None:
    async with serving(quotas=ConnectionQuotas(ConnectionLimits(per_address=2))) as served:
        idle = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(2)]
        await until(lambda: len(served.listener.handshakes) == 2)
        assert await served.raw(b"") == b""
        assert served.listener.refused_connections == 1
        for _, writer in idle:
            writer.transport.abort()
        await until(lambda: not served.listener.handshakes)
        assert await served.ask(settings(CA.issue("ann"))) == FRAME, "their places are free"


async def test_who_waits_for_a_place_may_encrypt_meanwhile_and_is_answered_then() -> None:
    ann = settings(CA.issue("ann"))
    quotas = ConnectionQuotas(ConnectionLimits(of_all=1))
    async with serving(quotas=quotas) as served:
        _, idle = await asyncio.open_connection("127.0.0.1", served.port)
        await until(lambda: len(served.listener.handshakes) == 1)
        asked = asyncio.create_task(served.ask(ann))
        await until(lambda: len(quotas.waiting("SECURE")) == 1 and len(served.listener.handshakes) == 1)
        assert not asked.done()
        quotas.limit(ConnectionLimits(of_all=0))  # the idle one is closed, in the midst of its handshake
        await until(lambda: not served.listener.handshakes)
        assert not asked.done()
        quotas.limit(ConnectionLimits(of_all=1))
        assert await asked == FRAME
        idle.transport.abort()


async def test_the_pool_says_why_no_connection_can_be_made() -> None:
    async with serving() as served:
        made = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings(CA.issue("ann"), OTHER_CA)))
        pool = ClientPool(ClientOptions("test"), lambda: 0.5, security=made)
        with pytest.raises(CallError, match=r"cannot connect to .* its certificate is refused") as failed:
            await pool.call("any", Endpoint("127.0.0.1", served.port), MetadataRequest(topics=()), 5)
        assert failed.value.failure is Failure.REFUSED
        await pool.close()
        await until(lambda: served.listener.failed_handshakes > 0)


async def test_a_host_that_no_certificate_can_be_for_is_refused_as_any_other() -> None:
    """A peer names endpoints: what it names ends a call, never the node."""

    async def resolver(host: str, port: int) -> list[tuple[str, int]]:
        return [("127.0.0.1", served.port)]

    async with serving() as served:
        made = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings(CA.issue("ann"))))
        pool = ClientPool(ClientOptions("test"), lambda: 0.5, resolver, security=made)
        for host in (".", "a..b", "x" * 300, "\0"):
            with pytest.raises(CallError):
                await pool.call("any", Endpoint(host, 1), MetadataRequest(topics=()), 5)
        await pool.close()
        await until(lambda: not served.listener.handshakes)


def test_stores_are_read_anew_from_files(tmp_path: Path) -> None:
    own = NODE.write(tmp_path)
    trusted = CA.write(tmp_path)
    TlsStores(
        "SECURE",
        TlsSettings(KeyStore(StoreType.PEM, str(own)), TrustStore(StoreType.PEM, str(trusted)), ClientAuth.REQUIRED),
    )


async def test_a_certificate_of_the_clients_authority_opens_no_listener_of_controllers() -> None:
    """ATK-14: each listener believes its own authority, on one node too."""
    ann = CA.issue("ann")
    async with serving(settings(trusted=CA)) as for_clients, serving(settings(trusted=OTHER_CA)) as for_controllers:
        assert await for_clients.ask(settings(ann)) == FRAME
        await for_controllers.refuses(settings(ann))
        assert await for_controllers.ask(settings(OTHER_CA.issue("node-2"))) == FRAME


async def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered() -> None:
    """Clients of TLS 1.3 send both in one packet: what is there before the connection is, is not left lying."""
    stores = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings(CA.issue("ann")))).stores
    assert stores is not None
    async with serving() as served:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = stores.client.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
                incoming.write(await asyncio.wait_for(reader.read(65536), 20))
        client.write(FRAME + FRAME)
        writer.write(outgoing.read())
        said = b""
        while len(said) < 2 * len(FRAME):
            incoming.write(await asyncio.wait_for(reader.read(65536), 20))
            with contextlib.suppress(ssl.SSLWantReadError):
                while len(said) < 2 * len(FRAME):
                    said += client.read(100)
        assert said == 2 * FRAME
        writer.transport.abort()
