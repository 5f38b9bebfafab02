"""New certificates while a listener serves: who connects later gets them, who is connected notices nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from pathlib import Path
from typing import Final

import pytest

from controller_runtime.network.client_security import ClientSecurity
from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.network.secure_listener import secure
from controller_runtime.network.tls import TlsError
from controller_runtime.network.tls_stores import EXPIRY_WARNING_SECONDS, TlsStores
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import ClientAuth, KeyStore, StoreType, TlsSettings, TrustStore
from controller_runtime.values import replace
from support.security.authority import Authority, Identity, today

CA: Final = Authority("ca")
NEXT_CA: Final = Authority("next-ca")
CUT: Final = "a certificate that is cut off"
OTHER_KEY: Final = "the key of another certificate"
FRAME: Final = b"\0\0\0\5hello"


class Echo:
    def connection_opened(self, connection: ServerConnection) -> None: ...

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        connection.reply(len(frame).to_bytes(4, "big") + frame)

    def connection_closed(self, connection: ServerConnection) -> None: ...


class Node:
    """A listener whose stores are files."""

    def __init__(self, directory: Path, *, may_change: bool = False) -> None:
        self.directory = directory
        self.first = CA.issue("node", ["127.0.0.1", "node.svc"])
        self.own, self.trusted = self.first.write(directory), CA.write(directory)
        settings = TlsSettings(
            KeyStore(StoreType.PEM, str(self.own)), TrustStore(StoreType.PEM, str(self.trusted)), ClientAuth.REQUIRED
        )
        self.stores = TlsStores("SECURE", replace(settings, may_change_names=may_change, may_lose_hosts=may_change))
        self.port = 0

    async def open(self) -> SocketServer:
        listener = SocketServer("SECURE", Echo(), ListenerLimits())
        secure(listener, self.stores)
        self.port = await listener.open("127.0.0.1", 0)
        return listener

    def rewrite(self, path: Path, text: str) -> None:
        """As Kubernetes does it: whole, by another file under its name."""
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").replace(path)

    async def connect(self, who: Identity, *trusts: Authority) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        believed = "".join(one.pem for one in trusts or (CA,))
        settings = TlsSettings(
            KeyStore(StoreType.PEM, key=who.key_pem(), chain=who.chain_pem),
            TrustStore(StoreType.PEM, None, None, believed),
        )
        secured = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings)).connecting_to("127.0.0.1")
        return await asyncio.open_connection("127.0.0.1", self.port, **secured)


async def echo(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
    reader, writer = connection
    writer.write(FRAME)
    return await reader.readexactly(len(FRAME))


def shown(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
    return bytes(connection[1].get_extra_info("ssl_object").getpeercert(binary_form=True))


async def test_later_connections_get_the_new_certificate_and_older_ones_live(tmp_path: Path) -> None:
    """SSL-15."""
    node = Node(tmp_path)
    listener = await node.open()
    ann = CA.issue("ann")
    before = await node.connect(ann)
    assert not node.stores.look()
    renewed = CA.issue("node", ["127.0.0.1", "node.svc", "one-more"])
    node.rewrite(node.own, renewed.pem())
    assert node.stores.look()
    after = await node.connect(ann)
    assert (shown(before), shown(after)) == (node.first.der, renewed.der)
    assert (await echo(before), await echo(after)) == (FRAME, FRAME)
    assert (node.stores.reloads, node.stores.failed_reloads, node.stores.look()) == (1, 0, False)
    for _, writer in (before, after):
        writer.transport.abort()
    listener.close()


async def test_an_authority_that_is_gone_from_the_trust_store_lets_nobody_in(tmp_path: Path) -> None:
    """SSL-22: a rotation trusts both for a while, then the new one only."""
    node = Node(tmp_path)
    listener = await node.open()
    node.rewrite(node.trusted, CA.pem + NEXT_CA.pem)
    assert node.stores.look()
    for one in (CA, NEXT_CA):
        connection = await node.connect(one.issue("ann"))
        assert await echo(connection) == FRAME
        connection[1].transport.abort()
    node.rewrite(node.trusted, NEXT_CA.pem)
    assert node.stores.look()
    refused = await node.connect(CA.issue("ann"))  # in TLS 1.3 a client learns it when it reads
    with pytest.raises((OSError, EOFError)):
        await echo(refused)
    refused[1].transport.abort()
    connection = await node.connect(NEXT_CA.issue("ann"))
    assert await echo(connection) == FRAME
    connection[1].transport.abort()
    listener.close()


@pytest.mark.parametrize("broken", ["", "-----BEGIN PRIVATE KEY-----\nMIIE", CUT, OTHER_KEY])
async def test_a_broken_file_leaves_the_old_certificate_serving(
    broken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SSL-20: said once, and made good by the next whole file."""
    node = Node(tmp_path)
    listener = await node.open()
    renewed = CA.issue("node", ["127.0.0.1", "node.svc"])
    texts = {CUT: renewed.pem()[:-60], OTHER_KEY: renewed.key_pem() + node.first.chain_pem}
    node.rewrite(node.own, texts.get(broken, broken))
    assert not node.stores.look()
    assert not node.stores.look()
    assert caplog.text.count("keeps the certificates that it has") == node.stores.failed_reloads == 1
    connection = await node.connect(CA.issue("ann"))
    assert (shown(connection), await echo(connection)) == (node.first.der, FRAME)
    connection[1].transport.abort()
    node.rewrite(node.own, renewed.pem())
    assert node.stores.look()
    listener.close()


def test_a_file_that_is_gone_for_a_moment_changes_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.own.rename(tmp_path / "away")
    assert not node.stores.look()
    (tmp_path / "away").rename(node.own)
    assert node.stores.look()
    os.utime(node.own, ns=(1, 1))
    assert node.stores.look(), "the same bytes with another date are read anew, as by Kafka"


@pytest.mark.parametrize(
    ("name", "hosts", "why"),
    [
        (
            "another",
            ["127.0.0.1", "node.svc"],
            "DistinguishedName does not match: existing='CN=node', new='CN=another'",
        ),
        ("node", ["127.0.0.1"], "SubjectAltNames do not match: 1 of the existing ones are missing"),
    ],
)
def test_somebody_elses_certificate_is_refused_unless_it_is_allowed(
    name: str, hosts: list[str], why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SSL-16."""
    for allowed in (False, True):
        node = Node(tmp_path, may_change=allowed)
        node.rewrite(node.own, CA.issue(name, hosts).pem())
        assert node.stores.look() is allowed
    assert why in caplog.text


def test_a_store_neither_appears_nor_vanishes(tmp_path: Path) -> None:
    """SSL-17."""
    node = Node(tmp_path)
    settings = node.stores.settings
    assert not node.stores.change(replace(settings, keystore=None))
    client = TlsStores("client", replace(settings, keystore=None, truststore=None))
    assert not client.change(settings)
    assert not client.change(replace(settings, keystore=None))
    assert node.stores.settings is settings


def test_brokers_that_would_refuse_each_other_do_not_start(tmp_path: Path) -> None:
    """SSL-21: and a reload that would make them is refused."""
    node = Node(tmp_path)
    settings = node.stores.settings
    proven = TlsStores("INTERNAL", settings, proves_itself=True)
    node.rewrite(node.trusted, NEXT_CA.pem)
    assert not proven.look()
    with pytest.raises(TlsError, match="the trust store does not believe the key store"):
        TlsStores("INTERNAL", settings, proves_itself=True)
    TlsStores("CLIENTS", settings)


async def test_outgoing_connections_use_what_is_in_the_files_now(tmp_path: Path) -> None:
    """Raft and forwarding among them: in Apache Kafka only a restart changes what they show."""
    node = Node(tmp_path)
    listener = await node.open()
    stores = TlsStores("controllers", node.stores.settings)
    security = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, stores.settings), stores)
    node.rewrite(node.trusted, NEXT_CA.pem)
    assert stores.look()
    with pytest.raises(ssl.SSLCertVerificationError):
        await asyncio.open_connection("127.0.0.1", node.port, **security.connecting_to("127.0.0.1"))
    node.rewrite(node.trusted, CA.pem)
    assert stores.look()
    _, writer = await asyncio.open_connection("127.0.0.1", node.port, **security.connecting_to("127.0.0.1"))
    writer.transport.abort()
    listener.close()


def test_the_end_of_a_certificate_is_said_a_month_before_once_a_day(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    ends = node.stores.not_after
    assert ends is not None
    assert abs(ends - (today().timestamp() + 365 * 86400)) < 86400
    caplog.set_level(logging.WARNING)
    for now in (
        ends - EXPIRY_WARNING_SECONDS - 1,
        ends - 86400 * 2,
        ends - 86400 * 2 + 5,
        ends - 86400 + 5,
        ends + 86400 * 3,
    ):
        node.stores.warn_of_the_end(now)
    said = [record.message.partition("which ")[2] for record in caplog.records]
    assert said == ["ends in 2.0 days", "ends in 1.0 days", "ended 3.0 days ago"]
