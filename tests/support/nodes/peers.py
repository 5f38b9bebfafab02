"""A peer on a real socket that answers as a test says: stands for a foreign broker, right or wrong."""

from __future__ import annotations

from collections.abc import Callable

from controller_runtime.network.connection import ServerConnection
from controller_runtime.network.listener import SocketServer
from controller_runtime.network.listener_limits import ListenerLimits
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import Request, UnsupportedApiVersion, decode_request, encode_response
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message

Answer = Callable[[Request[Message]], Message | bytes | None]
"""A body to encode, raw bytes to send, or nothing."""


def frame_of(payload: bytes) -> bytes:
    """A frame: the length, then the payload."""
    return len(payload).to_bytes(4, "big") + payload


class Peer:
    """Serves `ranges` (API key -> versions) and answers what `answer` says."""

    def __init__(self, ranges: dict[int, tuple[int, int]], answer: Answer) -> None:
        self.ranges = ranges
        self.answer = answer
        self.requests: list[Request[Message]] = []
        self.connections: list[ServerConnection] = []
        self.listener = SocketServer("PEER", self, ListenerLimits())
        self.port = 0

    async def open(self, host: str = "127.0.0.1", port: int = 0) -> int:
        self.port = await self.listener.open(host, port)
        return self.port

    def close(self) -> None:
        self.listener.stop_accepting()
        for connection in tuple(self.connections):
            connection.close("the peer goes away")

    def connection_opened(self, connection: ServerConnection) -> None:
        self.connections.append(connection)

    def connection_closed(self, connection: ServerConnection) -> None:
        self.connections.remove(connection)

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        versions = ApiVersionsResponse(
            api_keys=tuple(
                ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.ranges.items()
            )
        )
        try:
            request = decode_request(frame)
        except UnsupportedApiVersion as error:
            connection.reply(encode_response(versions, error.header))
            return
        self.requests.append(request)
        lowest, highest = self.ranges[18]
        if isinstance(request.body, ApiVersionsRequest) and not lowest <= request.version <= highest:
            refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=versions.api_keys[:1])
            at_zero = RequestHeader(
                request_api_key=18, request_api_version=0, correlation_id=request.header.correlation_id
            )
            connection.reply(encode_response(refusal, at_zero))
        elif isinstance(request.body, ApiVersionsRequest):
            connection.reply(encode_response(versions, request.header))
        else:
            self._answer(connection, request)

    def _answer(self, connection: ServerConnection, request: Request[Message]) -> None:
        answer = self.answer(request)
        if isinstance(answer, bytes):
            connection.reply(answer)
        elif answer is not None:
            connection.reply(encode_response(answer, request.header))
