"""An identity provider on loopback: real HTTP, real signatures, a key set that rotates and an endpoint that may fail.

It counts who asks it for what, answers as it is told, and forgets nothing of what clients sent.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "kafka"
CLIENT: Final = "ann"
SECRET: Final = "c4nary of the client"


class SigningKey:
    """A private key with the name under which its public half is known."""

    def __init__(self, kid: str, algorithm: str = "RS256") -> None:
        self.kid, self.algorithm = kid, algorithm
        self.private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey = (
            ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256"
            else rsa.generate_private_key(public_exponent=65537, key_size=2048)
        )  # fmt: skip

    @property
    def public(self) -> dict[str, Any]:
        """As a JWK."""
        maker = jwt.algorithms.ECAlgorithm if self.algorithm == "ES256" else jwt.algorithms.RSAAlgorithm
        found = dict(maker.to_jwk(self.private.public_key(), as_dict=True))
        found.pop("key_ops", None)
        return {**found, "kid": self.kid, "use": "sig", "alg": self.algorithm}

    @property
    def pem(self) -> bytes:
        """PKCS#8, as clients that sign assertions have it."""
        return self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    @property
    def public_pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        return str(jwt.encode(dict(claims), self.private, self.algorithm, headers={"kid": self.kid, **header}))


def claims(subject: str = CLIENT, seconds: float = 600, **changes: Any) -> dict[str, Any]:
    """None as a change takes the claim away."""
    now = int(time.time())
    found = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + int(seconds), **changes}
    return {name: value for name, value in found.items() if value is not None}


def section(value: Any) -> str:
    """Of a token that no library would make."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class IdentityProvider(AbstractContextManager["IdentityProvider"]):
    def __init__(self, lifetime_seconds: float = 600, tls: ssl.SSLContext | None = None) -> None:
        self.key = SigningKey("first")
        self.published = [self.key]
        self.lifetime_seconds = lifetime_seconds
        self.clients = {CLIENT: SECRET}
        self.status = 200
        """What every request is answered with."""
        self.pause_seconds = 0.0
        self.asked: list[tuple[str, str, dict[str, str], dict[str, list[str]]]] = []
        """Method, path, headers, form."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str) -> str:
        return f"{self._scheme}://localhost:{self._server.server_address[1]}/{path}"

    @property
    def jwks(self) -> dict[str, Any]:
        return {"keys": [key.public for key in self.published]}

    def token(self, subject: str = CLIENT, **changes: Any) -> str:
        return self.key.sign(claims(subject, self.lifetime_seconds, **changes))

    def times(self, path: str) -> int:
        return sum(one[1] == f"/{path}" for one in self.asked)

    def granted(self, headers: Mapping[str, str], form: Mapping[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """A token for who shows a secret that it knows, or an assertion that one of its keys has signed."""
        shown = form.get("assertion") or form.get("client_assertion")
        if shown:
            try:
                found = jwt.decode(shown[0], self.key.public_pem, [self.key.algorithm], options={"verify_aud": False})
            except jwt.exceptions.PyJWTError as error:
                return 400, {"error": "invalid_grant", "error_description": str(error)}
            return 200, {"access_token": self.token(found["sub"]), "token_type": "Bearer"}
        words = base64.b64decode(headers.get("Authorization", "").removeprefix("Basic ")).decode()
        client, _, secret = words.partition(":")
        if self.clients.get(client) != secret:
            return 401, {"error": "invalid_client", "error_description": "who are you?"}
        return 200, {"access_token": self.token(client), "token_type": "Bearer", "expires_in": self.lifetime_seconds}


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer("GET", {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer("POST", parse_qs(body.decode()))

        def _answer(self, method: str, form: dict[str, list[str]]) -> None:
            headers = dict(self.headers.items())
            provider.asked.append((method, self.path, headers, form))
            time.sleep(provider.pause_seconds)
            status, body = provider.status, provider.jwks
            if self.path == "/token" and status == 200:
                status, body = provider.granted(headers, form)
            data = json.dumps(body).encode()
            self.send_response(status)
            if status in {301, 302}:
                self.send_header("Location", provider.url("jwks"))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            del code, size

    return Handler
