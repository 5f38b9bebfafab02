"""What an ingress controller does with passthrough, where there is none: it reads the name in the first bytes of a TLS
connection, finds the rule of an Ingress that has it as its host, and passes on what it cannot read.

Names that no rule has are closed at once, and so is an Ingress that does not ask for passthrough by a word of
ingress-nginx or of HAProxy's controller: it would end the TLS itself.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

WORDS = ("nginx.ingress.kubernetes.io/ssl-passthrough", "haproxy.org/ssl-passthrough")
MAX_HELLO = 16384


@dataclass(slots=True)
class IngressController:
    services: Mapping[tuple[str, int], int]
    """Service and port to where on this machine something of it listens."""
    port: int
    rules: dict[str, tuple[str, int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Names that were asked for."""

    def read(self, ingresses: Iterable[Mapping[str, Any]]) -> None:
        """Host to Service and port."""
        for each in ingresses:
            assert all(each["metadata"]["annotations"].get(word) == "true" for word in WORDS), each["metadata"]
            hosts = {host for tls in each["spec"]["tls"] for host in tls["hosts"]}
            for rule in each["spec"]["rules"]:
                assert rule["host"] in hosts
                assert rule["host"] not in self.rules, f"two rules have {rule['host']}"
                backend = rule["http"]["paths"][0]["backend"]["service"]
                self.rules[rule["host"]] = backend["name"], backend["port"]["number"]

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            name, hello = await _name_in(reader)
            self.asked.append(name)
            place = self.services.get(self.rules[name]) if name in self.rules else None
            if place is not None:
                there, back = await asyncio.open_connection("127.0.0.1", place)
                back.write(hello)
                await asyncio.gather(_copy(reader, back), _copy(there, writer))
        writer.close()


async def _name_in(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """Of a ClientHello, and its bytes."""
    found: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda _socket, name, _context: found.append(name or "")
    incoming, hello = ssl.MemoryBIO(), b""
    half = context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True)
    while not found and len(hello) < MAX_HELLO:
        part = await reader.read(MAX_HELLO)
        if not part:
            break
        hello += part
        incoming.write(part)
        with suppress(ssl.SSLError):
            half.do_handshake()
    return (found[0] if found else ""), hello


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextmanager
def listening(controller: IngressController) -> Iterator[None]:
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(controller.accept, "127.0.0.1", controller.port))
    thread = threading.Thread(target=loop.run_forever, name="ingress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(_ended(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _ended(server: asyncio.Server) -> None:
    server.close()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
