"""One request to an identity provider, by HTTP: blocking, for a thread. Bounded in time and in size.

Redirects are not followed: only what the configuration names and the allow-list holds is asked (CVE-2025-27817).
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from controller_runtime.security.oauth.settings import Endpoint
from controller_runtime.security.tls_settings import TlsSettings
from controller_runtime.values import dataclass, field

MAX_ANSWER_BYTES: Final = 1 << 20
MAX_SECONDS: Final = 30.0
"""For the whole answer, however slowly it comes."""
_PIECE: Final = 16_384


class WebError(OSError):
    """No answer that can be used; names the host, and no secret."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    status: int
    body: bytes = field(repr=False)


def ask(
    endpoint: Endpoint, method: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> WebAnswer:
    """Raises WebError, SecurityError."""
    where = urlsplit(endpoint.url)
    host = where.hostname or ""
    try:
        connection = _connection(endpoint, where.scheme, host, where.port)
        try:
            connection.connect()
            if connection.sock is not None:
                connection.sock.settimeout(endpoint.read_timeout_seconds)
            path = (where.path or "/") + (f"?{where.query}" if where.query else "")
            connection.request(method, path, body, dict(headers or {"Accept": "application/json"}))
            answer = connection.getresponse()
            return WebAnswer(answer.status, _bounded(answer, host))
        finally:
            connection.close()
    except WebError:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise WebError(f"{host} does not answer: {str(error) or type(error).__name__}") from error


def _connection(endpoint: Endpoint, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    timeout = endpoint.connect_timeout_seconds
    if scheme != "https":
        return http.client.HTTPConnection(host, port or 80, timeout=timeout)
    from controller_runtime.network.tls import check_name
    from controller_runtime.network.tls_stores import TlsStores

    context = TlsStores("the identity provider", endpoint.tls or TlsSettings()).client
    check_name(context, host)
    return http.client.HTTPSConnection(host, port or 443, timeout=timeout, context=context)


def _bounded(answer: http.client.HTTPResponse, host: str) -> bytes:
    deadline, found = time.monotonic() + MAX_SECONDS, bytearray()
    while piece := answer.read1(_PIECE):
        found += piece
        if len(found) > MAX_ANSWER_BYTES:
            raise WebError(f"{host} answers more than {MAX_ANSWER_BYTES} bytes")
        if time.monotonic() > deadline:
            raise WebError(f"{host} has not finished its answer in {MAX_SECONDS:g} s")
    return bytes(found)
