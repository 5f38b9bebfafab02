"""Frames into request events, and answers into frames.

As in Apache Kafka, a connection that sends what its listener does not serve (an unknown API, a version that does not
exist, bytes that do not decode) is closed without an answer; only ApiVersions is answered at any version, as v0 with an
error. An answer that cannot be encoded becomes UNKNOWN_SERVER_ERROR. A request is remembered until it is answered or
its connection ends, so at most one per connection is held, and of large ones no more than have room together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from controller_runtime.network.connection import ServerConnection
from controller_runtime.parts.api_table import TABLES, Forwarded, served
from controller_runtime.parts.effects import Inside
from controller_runtime.parts.events import (
    ConnectionClosed,
    ConnectionId,
    ConnectionInfo,
    HeartbeatsCutOff,
    RequestId,
    RequestReceived,
    UnreadRequest,
)
from controller_runtime.parts.failed_requests import FailedRequests, place_of
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.framing import (
    UnsupportedApiVersion,
    decode_request_header,
    encode_response,
    read_request_body,
    walk_request_body,
)
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.security.principals import Identity
from controller_runtime.security.protocols import ANONYMOUS
from controller_runtime.server.shell.throttling import HELD_TO_BYTE_RATES, Throttled, time_to_wait, with_time_to_wait
from controller_runtime.server.telemetry.api_meter import ApiMeter, ApiRow
from controller_runtime.values import dataclass, replace

if TYPE_CHECKING:  # a process loads only what its roles need
    from controller_runtime.server.shell.client_rates import ClientRates

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
    """A request that is not answered yet: what was read of its frame."""

    connection: ServerConnection
    header: RequestHeader
    """As which it is answered."""
    body: Message | None
    """Nothing, if it was not read."""
    size: int
    """Of its frame."""
    cost: int
    served: _Served


@dataclass(frozen=True, slots=True)
class _Served:
    """An API on one listener."""

    lowest: int
    highest: int
    forwarded: Forwarded
    row: ApiRow


class Authentications:
    """For metrics: how many connections have shown who they are, and how many have not."""

    def __init__(self) -> None:
        self.succeeded = 0
        self.failed = 0
        self.expired = 0
        """Closed because they did not authenticate again in time."""

    def counters(self) -> dict[str, float]:
        """By the names of metrics."""
        return {
            "quorate_authentications_succeeded_total": self.succeeded,
            "quorate_authentications_failed_total": self.failed,
            "quorate_authentications_expired_total": self.expired,
        }


class NotServed(ProtocolError):
    """An API or a version that the listener does not serve."""


Fed = RequestReceived | UnreadRequest | ConnectionClosed | HeartbeatsCutOff


class Requests:
    """All accepted connections of a process and what they wait for."""

    def __init__(self, roles: Mapping[str, ListenerType], feed: Callable[[Fed], None]) -> None:
        """`feed` collects events until the node exists (see `attach`)."""
        self.meter = meter = ApiMeter(roles)
        self._served: dict[str, Mapping[int, _Served]] = {
            listener: {
                int(key): _Served(one.lowest, one.highest, TABLES[role][key].forwarded, meter.row(listener, key))
                for key, one in served(role).items()
            }
            for listener, role in roles.items()
        }
        self._feed = feed
        self._waiting: dict[RequestId, _Waiting] = {}
        self.held_bytes = 0
        self._connections: dict[ConnectionId, ServerConnection] = {}
        self._infos: dict[ServerConnection, ConnectionInfo] = {}
        self._asked: dict[ServerConnection, RequestId] = {}
        self._throttled = Throttled()
        self._beating: set[ServerConnection] = set()
        """Those on which brokers send heartbeats."""
        self._brokers = frozenset(name for name, role in roles.items() if role is ListenerType.BROKER)
        self.rates: ClientRates | None = None
        """Of the clients of a broker."""
        self.measure: Callable[[], None] = lambda: None
        """Has processor time measured for a while."""
        self._next_connection = 0
        self._next_request = 0
        self.received = 0
        self.authentications = Authentications()
        self.faults = FailedRequests()

    def attach(self, feed: Callable[[Fed], None]) -> None:
        self._feed = feed

    # FrameHandler, called by listeners.

    def connection_opened(self, connection: ServerConnection) -> None:
        self._next_connection += 1
        connection_id = ConnectionId(self._next_connection)
        connection.connection_id = connection_id
        self._connections[connection_id] = connection
        self._infos[connection] = ConnectionInfo(
            connection_id,
            connection.listener_name,
            connection.peer_address,
            principal=connection.principal,
            authenticated=connection.principal != ANONYMOUS,
        )

    def authenticated(self, connection: ServerConnection, identity: Identity) -> None:
        """It is known, or known anew, who asks on it."""
        self.authentications.succeeded += 1
        info = self._infos[connection]
        self._infos[connection] = replace(
            info,
            principal=identity.principal,
            authenticated=True,
            token_authenticated=identity.token_authenticated,
        )

    def frame_received(self, connection: ServerConnection, frame: bytes) -> None:
        weighed = self.rates is not None and self.rates.bounds_time and connection.listener_name in self._brokers
        if weighed:
            self.measure()
        if self.meter.watching:
            self.meter.mark()
        try:
            arrived = self._arrived(connection, frame)
        except ProtocolError as error:
            connection.close(str(error))
            return
        except Exception as error:
            log.error("%s", self.faults.count(None, "decoded", error).text)
            connection.close("its request cannot be decoded")
            return
        if self.held_bytes + arrived.cost > MAX_HELD_BYTES:
            connection.close(
                f"no room for its request of {arrived.cost} bytes: those that are being answered have {self.held_bytes}"
            )
            return
        self._receive(connection, arrived, frame, weighed=weighed)

    def _arrived(self, connection: ServerConnection, frame: bytes) -> _Waiting:
        """As much of a frame as has to be read here. Raises ProtocolError for what is not served."""
        apis = self._served[connection.listener_name]
        try:
            header, start = decode_request_header(frame)
        except UnsupportedApiVersion as error:
            if error.header.request_api_key != ApiKey.API_VERSIONS:
                raise
            asked, size = ApiVersionsRequest(), len(frame)
            return _Waiting(connection, error.header, asked, size=size, cost=size, served=apis[ApiKey.API_VERSIONS])
        key, version = header.request_api_key, header.request_api_version
        found = apis.get(key)
        if found is None or not found.lowest <= version <= found.highest:
            raise NotServed(f"{ApiKey(key).name} v{version} is not served on {connection.listener_name}")
        if found.forwarded is Forwarded.UNREAD:
            walk_request_body(frame, header, start)
            return _Waiting(connection, header, None, size=len(frame), cost=len(frame), served=found)
        body, elements = read_request_body(frame, header, start)
        cost = len(frame) + elements * ELEMENT_BYTES
        return _Waiting(connection, header, body, size=len(frame), cost=cost, served=found)

    def connection_closed(self, connection: ServerConnection) -> None:
        connection_id = ConnectionId(connection.connection_id)
        self._connections.pop(connection_id, None)
        self._infos.pop(connection, None)
        self._throttled.forget(connection)
        request_id = self._asked.pop(connection, None)
        if request_id is not None:
            self.held_bytes -= self._waiting.pop(request_id).cost
            self.meter.spent(request_id)
            self._feed(ConnectionClosed(connection_id))
        if connection in self._beating:
            self._beating.discard(connection)
            self._feed(HeartbeatsCutOff(connection_id))

    # Responder, called by the driver.

    def respond(self, request_id: RequestId, body: Message, inside: Inside | None = None) -> None:
        found = self._waiting.pop(request_id, None)
        if found is None:
            return
        self.held_bytes -= found.cost
        connection, header, row = found.connection, found.header, found.served.row
        del self._asked[connection]
        if self.meter.watching:
            self.meter.mark()
        try:
            if header.request_api_key == ApiKey.API_VERSIONS:
                header = _answered_as(header)
            frame = encode_response(body, header)
            wait_ms = max(self._over_byte_rate(found, len(frame)), self._over_time(found, request_id))
            if wait_ms > getattr(body, "throttle_time_ms", wait_ms):
                body = replace(body, throttle_time_ms=wait_ms)  # type: ignore[call-arg]
                frame = encode_response(body, header)
            row.answered(body)
            if inside is not None:
                self.meter.forwarded(connection.listener_name, inside)
        except Exception as error:
            # One client must not end the node for everybody: what it asked for is done, only the words are missing.
            log.error("%s", self.faults.count(header.request_api_key, "answered", error).text)
            self.meter.spent(request_id)
            self._say_unknown(found)
            return
        self._throttled.mute(connection, max(wait_ms, getattr(body, "throttle_time_ms", 0)))
        connection.reply(frame)
        if self.meter.watching:
            self.meter.charge(row)

    def relay(self, request_id: RequestId, frame: bytes) -> None:
        """Answer with what another node answered to the same request: a header and a body."""
        found = self._waiting.pop(request_id, None)
        if found is not None:
            self.held_bytes -= found.cost
            del self._asked[found.connection]
            if self.meter.watching:
                self.meter.mark()
            try:
                wait_ms, for_time_ms = time_to_wait(frame, found.header), self._over_time(found, request_id)
                if for_time_ms > wait_ms:
                    wait_ms, frame = for_time_ms, with_time_to_wait(frame, found.header, for_time_ms)
            except Exception as error:
                log.error("%s", self.faults.count(found.header.request_api_key, "answered", error).text)
                wait_ms = 0
            self._throttled.mute(found.connection, wait_ms)
            found.connection.reply(len(frame).to_bytes(4, "big") + frame)

    def _over_byte_rate(self, asked: _Waiting, answer_bytes: int) -> int:
        """How long its client has to wait for what it produced or fetched, in milliseconds."""
        connection, header = asked.connection, asked.header
        if self.rates is None or header.request_api_key not in HELD_TO_BYTE_RATES:
            return 0
        if connection.listener_name not in self._brokers:
            return 0
        principal = self._infos[connection].principal
        return self.rates.wait_ms(header, asked.body, principal, asked.size, answer_bytes)

    def _over_time(self, asked: _Waiting, request_id: RequestId) -> int:
        """How long its client has to wait for the time that its requests take, in milliseconds."""
        seconds = self.meter.spent(request_id)
        if seconds is None or self.rates is None:
            return 0
        principal = self._infos[asked.connection].principal
        return self.rates.wait_for_time_ms(asked.header, asked.body, principal, seconds)

    def _say_unknown(self, failed: _Waiting) -> None:
        connection = failed.connection
        if failed.body is None:
            connection.close("its answer cannot be encoded")
            return
        try:
            answer = refusal(failed.body, ErrorCode.UNKNOWN_SERVER_ERROR)
            frame = encode_response(answer, failed.header)
        except Exception as error:
            connection.close(f"its answer cannot be encoded: {place_of(error)}")
            return
        failed.served.row.answered(answer)
        connection.reply(frame)

    def finish_without_reply(self, request_id: RequestId) -> None:
        """The request was carried out and its sender wants no answer (a produce with acks=0)."""
        found = self._waiting.pop(request_id, None)
        if found is not None:
            self.held_bytes -= found.cost
            del self._asked[found.connection]
            self.meter.spent(request_id)
            self._throttled.mute(found.connection, self._over_byte_rate(found, 0))
            found.connection.finish()

    def close_connection(self, connection_id: ConnectionId) -> None:
        connection = self._connections.get(connection_id)
        if connection is not None:
            connection.close("the node ends it")

    def _receive(self, connection: ServerConnection, arrived: _Waiting, frame: bytes, *, weighed: bool) -> None:
        self._next_request += 1
        self.received += 1
        request_id, info = RequestId(self._next_request), self._infos[connection]
        header, body, row = arrived.header, arrived.body, arrived.served.row
        row.received(header.request_api_version)
        self._waiting[request_id] = arrived
        if weighed:
            self.meter.weigh(request_id)
        self.held_bytes += arrived.cost
        self._asked[connection] = request_id
        key, version, correlation_id = header.request_api_key, header.request_api_version, header.correlation_id
        if body is None:
            unread = UnreadRequest(request_id, info, key, version, correlation_id=correlation_id, frame=frame)
            self._feed(unread)
            if self.meter.watching:
                self.meter.charge(row, request_id)
            return
        if key == ApiKey.BROKER_HEARTBEAT:
            self._beating.add(connection)
        if key == ApiKey.FETCH and self.rates is not None and connection.listener_name in self._brokers:
            body = self.rates.bounded(header, body, info.principal)  # type: ignore[arg-type]
        kept = frame if arrived.served.forwarded is Forwarded.JUDGED else None
        received = RequestReceived(
            request_id,
            info,
            key,
            version,
            client_id=header.client_id,
            body=body,
            correlation_id=correlation_id,
            frame=kept,
        )
        self._feed(received)
        if self.meter.watching:
            self.meter.charge(row, request_id)


def _answered_as(header: RequestHeader) -> RequestHeader:
    """ApiVersions at a version that nobody knows is answered at version 0."""
    key, version = header.request_api_key, header.request_api_version
    if key != ApiKey.API_VERSIONS or version in ApiVersionsRequest.VERSIONS:
        return header
    return RequestHeader(request_api_key=key, request_api_version=0, correlation_id=header.correlation_id)
