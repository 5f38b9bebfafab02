"""Frames into request events, and answers into frames.

As in Apache Kafka, a connection that sends what its listener does not serve (an unknown API, a version that does not
exist, bytes that do not decode) is closed without an answer; only ApiVersions is answered at any version, as v0 with an
error. An answer that cannot be encoded becomes UNKNOWN_SERVER_ERROR. A request is remembered until it is answered or
its connection ends, so at most one per connection is held, and of large ones no more than have room together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from controller_runtime.network.listener import ServerConnection
from controller_runtime.node.events import (
    ConnectionClosed,
    ConnectionId,
    ConnectionInfo,
    NodeEvent,
    RequestId,
    RequestReceived,
)
from controller_runtime.node.faults import FailedRequests, place_of, unknown_answer
from controller_runtime.protocol.api_keys import ApiKey, Role, api
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.framing import UnsupportedApiVersion, decode_request, encode_response
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message, Versions
from controller_runtime.protocol.served import served

log = logging.getLogger(__name__)

MAX_HELD_BYTES: Final = 512 << 20
"""What requests that are being answered may have together, parked fetches among them: who asks for more is closed, so
that those who wait are not.
"""
ELEMENT_BYTES: Final = 400
"""What an element of a request is taken to cost beside its bytes: an object with a name and an id in it has about as
many.
"""


class _Waiting(NamedTuple):
    """A request that is not answered yet."""

    connection: ServerConnection
    header: RequestHeader
    """As which it is answered."""
    body: Message
    cost: int


class Requests:
    """All accepted connections of a process and what they wait for."""

    def __init__(self, roles: Mapping[str, Role], feed: Callable[[NodeEvent], None]) -> None:
        """`feed` collects events until the node exists (see `attach`)."""
        self._served: dict[str, Mapping[int, Versions]] = {
            listener: {int(key): versions for key, versions in served(role).items()} for listener, role in roles.items()
        }
        self._feed = feed
        self._waiting: dict[RequestId, _Waiting] = {}
        self.held_bytes = 0
        self._connections: dict[ConnectionId, ServerConnection] = {}
        self._infos: dict[ServerConnection, ConnectionInfo] = {}
        self._asked: dict[ServerConnection, RequestId] = {}
        self._next_connection = 0
        self._next_request = 0
        self.received = 0
        self.faults = FailedRequests()

    def attach(self, feed: Callable[[NodeEvent], None]) -> None:
        self._feed = feed

    # FrameHandler, called by listeners.

    def connection_opened(self, connection: ServerConnection) -> None:
        self._next_connection += 1
        connection_id = ConnectionId(self._next_connection)
        connection.connection_id = connection_id
        self._connections[connection_id] = connection
        self._infos[connection] = ConnectionInfo(connection_id, connection.listener_name, connection.peer_address)

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        cost = len(frame)
        try:
            request = decode_request(frame)
            header, body = request.header, request.body
            cost += request.elements * ELEMENT_BYTES
        except UnsupportedApiVersion as error:
            if error.header.request_api_key != ApiKey.API_VERSIONS:
                connection.close(str(error))
                return
            header, body = error.header, ApiVersionsRequest()
        except ProtocolError as error:
            connection.close(str(error))
            return
        except Exception as error:
            log.error("%s", self.faults.count(None, "decoded", error).text)
            connection.close("its request cannot be decoded")
            return
        key, version = header.request_api_key, header.request_api_version
        versions = self._served[connection.listener_name].get(key)
        if key != ApiKey.API_VERSIONS and (versions is None or version not in versions):
            connection.close(f"{ApiKey(key).name} v{version} is not served on {connection.listener_name}")
            return
        if self.held_bytes + cost > MAX_HELD_BYTES:
            connection.close(
                f"requests that are being answered have {self.held_bytes} bytes, there is no room for {cost}"
            )
            return
        forwardable = versions is not None and api(key).is_forwardable
        self._receive(connection, header, body, frame if forwardable else None, cost)

    def connection_closed(self, connection: ServerConnection) -> None:
        connection_id = ConnectionId(connection.connection_id)
        self._connections.pop(connection_id, None)
        self._infos.pop(connection, None)
        request_id = self._asked.pop(connection, None)
        if request_id is not None:
            self.held_bytes -= self._waiting.pop(request_id).cost
            self._feed(ConnectionClosed(connection_id))

    # Responder, called by the driver.

    def respond(self, request_id: RequestId, body: Message) -> None:
        found = self._waiting.pop(request_id, None)
        if found is None:
            return
        self.held_bytes -= found.cost
        connection, header, asked = found.connection, found.header, found.body
        del self._asked[connection]
        try:
            frame = encode_response(body, header)
        except Exception as error:
            # One client must not end the node for everybody: what it asked for is done, only the words are missing.
            log.error("%s", self.faults.count(header.request_api_key, "answered", error).text)
            self._say_unknown(connection, header, asked)
            return
        connection.reply(frame)

    def _say_unknown(self, connection: ServerConnection, header: RequestHeader, asked: Message) -> None:
        try:
            frame = encode_response(unknown_answer(asked), header)
        except Exception as error:
            connection.close(f"its answer cannot be told: {place_of(error)}")
            return
        connection.reply(frame)

    def finish_without_reply(self, request_id: RequestId) -> None:
        """The request was carried out and its sender wants no answer (a produce with acks=0)."""
        found = self._waiting.pop(request_id, None)
        if found is not None:
            self.held_bytes -= found.cost
            del self._asked[found.connection]
            found.connection.finish()

    def close_connection(self, connection_id: ConnectionId) -> None:
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.close("the node ends it")

    def _receive(
        self, connection: ServerConnection, header: RequestHeader, body: Message, frame: bytes | None, cost: int
    ) -> None:
        self._next_request += 1
        self.received += 1
        request_id = RequestId(self._next_request)
        version = header.request_api_version
        known = ApiVersionsRequest.VERSIONS
        answered_as = header
        if header.request_api_key == ApiKey.API_VERSIONS and version not in known:
            answered_as = RequestHeader(
                request_api_key=header.request_api_key, request_api_version=0, correlation_id=header.correlation_id
            )
        self._waiting[request_id] = _Waiting(connection, answered_as, body, cost)
        self.held_bytes += cost
        self._asked[connection] = request_id
        self._feed(
            RequestReceived(
                request_id,
                self._infos[connection],
                header.request_api_key,
                version,
                header.client_id,
                body,
                header.correlation_id,
                frame,
            )
        )
