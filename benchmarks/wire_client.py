"""A small blocking client: one request at a time on one socket, at the versions that every Kafka 4.x serves.

Used by the load generator, so it must cost as little CPU as it can; it is the same for every peer.
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Self, TypeVar

from controller_runtime.protocol.codec import decode, decode_prefix, encode
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.response_header import ResponseHeader
from controller_runtime.protocol.schema import Message

M = TypeVar("M", bound=Message)


def frame(api_key: int, version: int, body: Message, *, header_version: int = 2) -> bytes:
    """A whole request with its length; the correlation id is 0."""
    header = RequestHeader(
        request_api_key=api_key, request_api_version=version, correlation_id=0, client_id="benchmark"
    )
    content = encode(header, header_version) + encode(body, version)
    return struct.pack(">i", len(content)) + content


class Connection:
    """A blocking socket. Errors are OSError; a closed connection is ConnectionError."""

    def __init__(self, port: int, *, host: str = "127.0.0.1", timeout_s: float = 10.0) -> None:
        self.socket = socket.create_connection((host, port), timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the peer closed the connection")
            data += more
        return bytes(data)

    def exchange(self, request: bytes) -> bytes:
        """Send a framed request, return the framed answer without its length."""
        self.socket.sendall(request)
        (length,) = struct.unpack(">i", self._read(4))
        return self._read(length)

    def ask(self, api_key: int, version: int, body: Message, response: type[M], *, flexible: bool = True) -> M:
        answer = self.exchange(frame(api_key, version, body, header_version=2 if flexible else 1))
        _, position = decode_prefix(ResponseHeader, answer, 1 if flexible else 0, 0)
        return decode(response, answer[position:], version)


def ask_api_versions(connection: Connection) -> ApiVersionsResponse:
    answer = connection.exchange(frame(18, 0, ApiVersionsRequest(), header_version=1))
    return decode(ApiVersionsResponse, answer[4:], 0)
