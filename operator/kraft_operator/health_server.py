"""`/livez`, `/readyz` and `/metrics` in a thread of their own, apart from kopf's loop, which cancels what it does not know.

Liveness fails when a part that should beat has not beaten for too long. Readiness holds for the leader and for a standby alike: both do
what they should.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from kraft_operator.metrics import Metrics

STALE_AFTER: Final = 120.0


class Heartbeats:
    """Parts that must show signs of life; a part is watched from its first beat on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}

    def beat(self, part: str) -> None:
        self._last[part] = self._clock()

    def stale(self) -> list[str]:
        now = self._clock()
        return sorted(part for part, last in dict(self._last).items() if now - last > STALE_AFTER)


class HealthServer:
    def __init__(self, port: int, heartbeats: Heartbeats, metrics: Metrics, ready: Callable[[], bool]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, text = _answer(self.path, heartbeats, metrics, ready)
                body = text.encode()
                self.send_response(code)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Probes are not worth a line."""

        self._server = ThreadingHTTPServer(("", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _answer(path: str, heartbeats: Heartbeats, metrics: Metrics, ready: Callable[[], bool]) -> tuple[int, str]:
    match path.partition("?")[0]:
        case "/livez":
            stale = heartbeats.stale()
            return (500, f"no sign of life: {', '.join(stale)}\n") if stale else (200, "ok\n")
        case "/readyz":
            return (200, "ok\n") if ready() else (503, "starting\n")
        case "/metrics":
            return 200, metrics.render()
        case _:
            return 404, "not found\n"
