"""A listener that speaks TLS: connections are its own once they are encrypted, and have the principal that their
certificate names.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import cast

from controller_runtime.network.binding import packed_address
from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.handshakes import Handshake, HandshakeGate
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.tls import BadPeer, principal_on
from controller_runtime.network.tls_stores import TlsStores

log = logging.getLogger(__name__)


def secure(server: SocketServer, stores: TlsStores) -> None:
    """Before it is opened."""
    server.accept = _Securing(server, stores).new_handshake


class _Securing:
    """Between a listener and its connections while they are not encrypted yet."""

    def __init__(self, server: SocketServer, stores: TlsStores) -> None:
        self._server = server
        self._stores = stores
        self._gate = HandshakeGate(server.loop)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._server.loop

    @property
    def context(self) -> ssl.SSLContext:
        return self._stores.server

    def new_handshake(self) -> Handshake:
        return Handshake(self, self._gate)

    def new_connection(self) -> ServerConnection:
        return ServerConnection(self._server)

    def accepted(self, handshake: Handshake) -> bool:
        connection = cast(ServerConnection, handshake.connection)
        connection.peer, connection.peer_address = handshake.peer, packed_address(handshake.address)
        connection.last_activity = self._server.now()
        if not self._server.admit(connection):
            return False
        self._server.handshakes[handshake] = None
        return True

    def secured(self, handshake: Handshake, transport: asyncio.Transport) -> None:
        self._server.handshakes.pop(handshake, None)
        connection = cast(ServerConnection, handshake.connection)
        try:
            connection.principal = principal_on(self._stores.settings, self._stores.server, transport)
        except Exception as error:
            why = (
                str(error)
                if isinstance(error, BadPeer)
                else f"its principal cannot be made out: {type(error).__name__}"
            )
            self.unsecured(handshake, why)
            transport.abort()
            return
        self._server.secured_connections += 1
        connection.connection_made(transport)

    def unsecured(self, handshake: Handshake, why: str) -> None:
        self._server.handshakes.pop(handshake, None)
        self._server.quotas.leave(cast(ServerConnection, handshake.connection))
        self._server.failed_handshakes += 1
        log.info("no TLS with %s on %s: %s", handshake.peer, self._server.name, why)
