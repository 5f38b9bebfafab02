"""An API server made of values, over TLS, that knows Secrets and one account, which may get some of them."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.security.authority import Authority

TOKEN = "canary-of-the-account"


@dataclass
class SecretServer:
    allowed: frozenset[tuple[str, str]]
    """(namespace, name) of what the account may get, whether it is there or not."""
    port: int = 0
    authority: Authority = field(default_factory=lambda: Authority("ca of values"))
    secrets: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def put_secret(self, namespace: str, name: str, data: Mapping[str, bytes]) -> None:
        held = {key: base64.b64encode(value).decode() for key, value in data.items()}
        self.secrets[namespace, name] = {"kind": "Secret", "metadata": {"name": name}, "data": held}

    def account(self, folder: Path, namespace: str, name: str) -> None:
        """What Kubernetes puts into the pods of the account."""
        del name
        folder.mkdir()
        (folder / "token").write_text(TOKEN)
        (folder / "namespace").write_text(namespace)
        self.authority.write(folder, "ca.crt")

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, Any]]:
        match path.strip("/").split("/"):
            case ["api", "v1", "namespaces", namespace, "secrets", name]:
                wanted = namespace, name
            case _:
                return 404, {}
        if authorization != f"Bearer {TOKEN}":
            return 401, {}
        if wanted not in self.allowed:
            return 403, {}
        return (200, self.secrets[wanted]) if wanted in self.secrets else (404, {})


@contextmanager
def secret_server(folder: Path, *allowed: tuple[str, str]) -> Iterator[SecretServer]:
    made = SecretServer(frozenset(allowed))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = made.answer(self.path, self.headers["Authorization"])
            encoded = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.authority.issue("api").write(folder))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        made.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
