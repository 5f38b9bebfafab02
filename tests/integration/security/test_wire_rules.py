"""What else the wire may bring: renegotiation, new keys, ends of every kind, certificates of other nodes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from controller_runtime.network.binding import packed_address
from controller_runtime.network.client_security import ClientSecurity
from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.network.secure_listener import secure
from controller_runtime.network.tls_stores import TlsStores
from controller_runtime.security.listener_security import ListenerSecurity
from controller_runtime.security.protocols import SecurityProtocol
from controller_runtime.security.tls_settings import ClientAuth, KeyStore, StoreType, TlsSettings, TrustStore
from support.security.authority import Authority, Identity

CA: Final = Authority("ca")
FRAME: Final = b"\0\0\0\5hello"


class Echo:
    def connection_opened(self, connection: ServerConnection) -> None: ...

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        connection.reply(len(frame).to_bytes(4, "big") + frame)

    def connection_closed(self, connection: ServerConnection) -> None: ...


def settings(own: Identity) -> TlsSettings:
    store = KeyStore(StoreType.PEM, key=own.key_pem(), chain=own.chain_pem)
    return TlsSettings(store, TrustStore(StoreType.PEM, None, None, CA.pem), ClientAuth.REQUIRED)


async def opened(own: Identity) -> tuple[SocketServer, int]:
    listener = SocketServer("SECURE", Echo(), ListenerLimits())
    secure(listener, TlsStores("SECURE", settings(own)))
    return listener, await listener.open("127.0.0.1", 0)


@contextlib.contextmanager
def connected(port: int) -> Iterator[ssl.SSLSocket]:
    """A blocking client that tells an orderly end from a cut."""
    stores = ClientSecurity(ListenerSecurity(SecurityProtocol.SSL, settings(CA.issue("ann")))).stores
    assert stores is not None
    with socket.create_connection(("127.0.0.1", port), 20) as plain:
        secured = stores.client.wrap_socket(plain, server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        try:
            yield secured
        finally:
            secured.close()


def asked(port: int) -> bytes:
    with connected(port) as one:
        one.sendall(FRAME)
        return bytes(one.recv(100))


async def s_client(port: int, directory: Path, said: list[bytes], *options: str) -> bytes:
    """What `openssl s_client` shows; a line `R` renegotiates, a line `K` changes keys."""
    CA.issue("ann").write(directory, "ann.pem")
    CA.write(directory)
    process = await asyncio.create_subprocess_exec(
        "openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-cert", str(directory / "ann.pem"), "-key",
        str(directory / "ann.pem"), "-CAfile", str(directory / "ca.pem"), *options,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    out = b""
    while b"---\n" not in out.partition(b"Verification")[2]:
        out += await process.stdout.read(4096)
    for one in said:
        process.stdin.write(one)
        await process.stdin.drain()
        await asyncio.sleep(0.2)
    process.stdin.close()
    out += await asyncio.wait_for(process.stdout.read(), 20)
    await asyncio.wait_for(process.wait(), 20)
    return out


async def test_renegotiation_is_refused(tmp_path: Path) -> None:
    """SSL-14; ATK-25."""
    listener, port = await opened(CA.issue("node"))
    shown = await s_client(port, tmp_path, [b"R\n"], "-tls1_2")
    assert b"RENEGOTIATING" in shown
    assert b"no renegotiation" in shown
    assert await asyncio.to_thread(asked, port) == FRAME
    listener.close()


async def test_new_keys_are_served(tmp_path: Path) -> None:
    """SSL-14: the key update of TLS 1.3."""
    listener, port = await opened(CA.issue("node"))
    shown = await s_client(port, tmp_path, [b"K\n", FRAME + b"\n"], "-tls1_3")
    assert b"KEYUPDATE" in shown
    assert shown.count(b"hello") == 1
    listener.close()


async def test_the_end_is_said(tmp_path: Path) -> None:
    """SSL-25: by close_notify, so that nobody takes an end for a cut."""
    listener, port = await opened(CA.issue("node"))

    def told() -> bytes:
        with connected(port) as one:
            one.sendall(FRAME)
            assert one.recv(100) == FRAME
            loop.call_soon_threadsafe(listener.close)
            return bytes(one.recv(100))

    loop = asyncio.get_running_loop()
    assert await asyncio.to_thread(told) == b""


async def test_a_peer_that_is_cut_off_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    """SSL-25: an end that is not said is an end."""
    listener, port = await opened(CA.issue("node"))

    def cut() -> None:
        with connected(port) as one:
            one.sendall(FRAME)
            assert one.recv(100) == FRAME
            one.shutdown(socket.SHUT_RDWR)

    await asyncio.to_thread(cut)
    async with asyncio.timeout(20):
        while listener.connections:
            await asyncio.sleep(0.005)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    listener.close()


async def test_the_certificate_of_another_node_is_not_believed() -> None:
    """One node's key, taken, does not make another one of it: names are compared."""
    listener, port = await opened(CA.issue("node-2", ["node-2.svc"]))
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        await asyncio.to_thread(asked, port)
    listener.close()


def test_an_ipv4_peer_of_an_ipv6_socket_is_an_ipv4_peer() -> None:
    """SSL-29."""
    assert packed_address("::ffff:1.2.3.4") == packed_address("1.2.3.4") == b"\1\2\3\4"
    assert packed_address("fe80::1%eth0") == packed_address("fe80::1")
