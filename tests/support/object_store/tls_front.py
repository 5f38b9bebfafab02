"""TLS in front of an S3 server that has none: what comes in is passed on as it is, and remembered.

with TlsFront(pem_file, server.port) as front: ... f"https://127.0.0.1:{front.port}"

As a program: python -m support.object_store.tls_front HOST PORT PEM TARGET-PORT
"""

from __future__ import annotations

import socket
import socketserver
import ssl
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self


class TlsFront(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, pem: Path, target: int, address: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.target = target
        self.came = bytearray()
        self._keep = threading.Lock()
        super().__init__(address, _Connection)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def remember(self, data: bytes) -> None:
        with self._keep:
            self.came += data

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that does not trust us is what is tried."""

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        front = self.server
        assert isinstance(front, TlsFront)
        with (
            front.context.wrap_socket(self.request, server_side=True) as client,
            socket.create_connection(("127.0.0.1", front.target)) as target,
        ):
            back = threading.Thread(target=_pump, args=(target, client, lambda _: None), daemon=True)
            back.start()
            _pump(client, target, front.remember)
            with suppress(OSError):
                target.shutdown(socket.SHUT_WR)
            back.join()


def _pump(source: socket.socket, sink: socket.socket, seen: object) -> None:
    assert callable(seen)
    with suppress(OSError):
        while data := source.recv(65536):
            seen(data)
            sink.sendall(data)


if __name__ == "__main__":
    host, port, pem_file, server_port = sys.argv[1:]
    with TlsFront(Path(pem_file), int(server_port), (host, int(port))) as running:
        print("serves", flush=True)
        threading.Event().wait()
