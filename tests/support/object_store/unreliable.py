"""A store as no store should be, in front of one that is well: it lists what was put only later, and acknowledges puts
that it forgets.

with UnreliableFront(server.port) as front: ... front.environment
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote, urlsplit

_LISTED: Final = re.compile(rb"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)
_OF_ONE_HOP: Final = frozenset(("connection", "transfer-encoding", "keep-alive", "content-length"))


class UnreliableFront(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target: int) -> None:
        self.target = target
        self.lists_late = False
        """What is put from now on is in no listing."""
        self.forgets: re.Pattern[str] | None = None
        """Puts of these names are acknowledged, and that is all."""
        self.unlisted = set[str]()
        self.forgotten = list[str]()
        self.listings = 0
        self._keep = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Request)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.server_address[1]}"}

    def lists_all(self) -> None:
        """Listings have caught up."""
        self.lists_late = False
        self.unlisted.clear()

    def is_forgotten(self, name: str) -> bool:
        """Of a put that has come."""
        with self._keep:
            if self.forgets is not None and self.forgets.search(name):
                self.forgotten.append(name)
                return True
            if self.lists_late:
                self.unlisted.add(name)
        return False

    def as_listed(self, answer: bytes) -> bytes:
        with self._keep:
            self.listings += 1
            return _LISTED.sub(lambda found: b"" if unquote(found[1].decode()) in self.unlisted else found[0], answer)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _passed_on(self) -> None:
        front = self.server
        assert isinstance(front, UnreliableFront)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = urlsplit(self.path)
        name = unquote(asked.path).lstrip("/").partition("/")[2]
        if self.command == "PUT" and front.is_forgotten(name):
            self._answer(200, {"ETag": f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'}, b"")
            return
        connection = HTTPConnection("127.0.0.1", front.target, timeout=30)
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            answer = connection.getresponse()
            data = answer.read()
            headers = {key: value for key, value in answer.getheaders() if key.lower() not in _OF_ONE_HOP}
            if self.command == "GET" and not name:
                data = front.as_listed(data)
            if self.command == "HEAD" and (length := answer.getheader("Content-Length")) is not None:
                headers["Content-Length"] = length
            self._answer(answer.status, headers, data)
        finally:
            connection.close()

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _passed_on  # noqa: N815

    def _answer(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self.send_response_only(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
