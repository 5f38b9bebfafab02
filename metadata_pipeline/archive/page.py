"""The archive's pages over HTTP, read only: `/status`, `/metrics`, `/livez`, `/readyz`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Final

from metadata_pipeline.archive.problems import Standing
from metadata_pipeline.archive.telling import Telling, as_json, as_metrics

SECONDS: Final = 5.0
"""A client that is silent for so long is let go."""


@contextmanager
def served(host: str, port: int, tell: Callable[[], Telling]) -> Iterator[int]:
    """Serve until the block ends; gives the port. Raises OSError for an address that cannot be had."""

    class Page(BaseHTTPRequestHandler):
        timeout: ClassVar[float | None] = SECONDS

        def do_GET(self) -> None:
            status, kind, body = answer(self.path, tell())
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """A probe every few seconds is no news."""

    server = ThreadingHTTPServer((host, port), Page)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, name="pages", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(path: str, now: Telling) -> tuple[int, str, bytes]:
    """Ready is who has looked at its disk once, whatever it found: it can be asked."""
    match path.partition("?")[0]:
        case "/status":
            return 200, "application/json", as_json(now)
        case "/metrics":
            return 200, "text/plain; version=0.0.4", as_metrics(now)
        case "/livez":
            return 200, "text/plain", b"ok\n"
        case "/readyz":
            ready = now.standing is not Standing.STARTING
            return 200 if ready else 503, "text/plain", b"ok\n" if ready else b"its disk is being read\n"
        case _:
            return 404, "text/plain", b"there are /status, /metrics, /livez, /readyz\n"
