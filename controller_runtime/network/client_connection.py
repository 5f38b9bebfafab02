"""One outgoing connection: who is there (ApiVersions), then requests and their answers in order.

Requests may be sent while earlier ones are unanswered; a peer answers in order, so an answer with another correlation
id than the oldest request's means that the two sides disagree, and the connection ends. When a request's time is up the
connection ends too: its answer would block those behind it. Every call ends exactly once, with an answer or a
`CallError`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from controller_runtime.network.frames import BadFrame, FrameBuffer, whole_frame
from controller_runtime.network.traffic import Traffic
from controller_runtime.protocol.errors import ErrorCode, InvalidValue, ProtocolError, UnsupportedField
from controller_runtime.protocol.framing import correlation_id_of, decode_response, encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.schema import Message

if TYPE_CHECKING:
    from controller_runtime.network.client_login import Login
    from controller_runtime.network.own_tokens import OwnTokens
    from controller_runtime.security.sasl_settings import ClientLogin

MAX_UNANSWERED: Final = 1000
"""Calls on one connection that wait for an answer, and calls on one channel that wait for a connection."""

_API_VERSIONS_KEY: Final = 18


class Failure(Enum):
    """Why a call has no answer. The values are those of the seam's `CallFailure`."""

    REFUSED = "refused"
    DISCONNECTED = "disconnected"
    TIMED_OUT = "timed out"
    UNSUPPORTED_VERSION = "unsupported version"
    MALFORMED = "malformed"
    UNAUTHENTICATED = "unauthenticated"


class CallError(Exception):
    """A call ended without an answer."""

    def __init__(self, failure: Failure, detail: str) -> None:
        self.failure = failure
        self.detail = detail
        super().__init__(f"{failure.value}: {detail}")


class InFlightRequest:
    """A request on its way. `done` is called once, with the negotiated version and the answer, or with the error."""

    __slots__ = ("body", "correlation_id", "done", "expires", "timer", "version")

    def __init__(self, body: Message, done: Callable[[int, Message | CallError], None]) -> None:
        self.body = body
        self.done: Callable[[int, Message | CallError], None] | None = done
        self.version = -1
        self.correlation_id = 0
        self.expires = 0.0
        self.timer: asyncio.TimerHandle | None = None

    def finish(self, answer: Message | CallError) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.done is not None:
            done, self.done = self.done, None
            done(self.version, answer)

    def cancel(self) -> None:
        """Nobody waits any more: a late answer is dropped, and that it is late ends no connection."""
        self.done = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class ClientConnection(asyncio.Protocol):
    """An open connection. `ready` is called when the peer's versions are known, `lost` once at its end."""

    def __init__(
        self,
        peer: str,
        *,
        client_id: str,
        software_version: str,
        max_frame_bytes: int,
        ready: Callable[[], None],
        lost: Callable[[CallError, bool], None],
        traffic: Traffic,
        login: ClientLogin | None = None,
        tokens: OwnTokens | None = None,
    ) -> None:
        self.versions: dict[int, tuple[int, int]] = {}
        self.is_ready = False
        self._peer = peer
        self._client_id = client_id
        self._software_version = software_version
        self._ready = ready
        self._lost = lost
        self._traffic = traffic
        self._max_frame_bytes = max_frame_bytes
        self._frames = FrameBuffer(max_frame_bytes)
        self._unanswered: deque[InFlightRequest] = deque()
        self._next_correlation_id = 0
        self._transport: asyncio.Transport | None = None
        self._cause: CallError | None = None
        self._held: deque[InFlightRequest] = deque()
        """What waits until we have shown anew who we are."""
        self._login: Login | None = None
        if login is not None:
            from controller_runtime.network.client_login import Login

            self._login = Login(login, self._ask, self._logged_in, self._login_failed, tokens)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._traffic.connections += 1
        self._ask_versions(ApiVersionsRequest.VERSIONS.highest)

    def send(self, call: InFlightRequest) -> None:
        """Send at the highest common version; a call that cannot be sent ends at once."""
        if self._login is not None and self._login.is_in_progress:
            self._hold(call)
            return
        self._send(call)

    def _hold(self, call: InFlightRequest) -> None:
        if len(self._held) >= MAX_UNANSWERED:
            call.finish(CallError(Failure.REFUSED, f"{MAX_UNANSWERED} calls wait for a login at {self._peer}"))
        else:
            self._held.append(call)

    def _send(self, call: InFlightRequest) -> None:
        ours = type(call.body).VERSIONS
        key = cast(int, type(call.body).KEY)
        lowest, highest = self.versions.get(key, (0, -1))
        version = min(highest, ours.highest)
        if version < max(lowest, ours.lowest):
            theirs = f"serves {lowest} to {highest}" if key in self.versions else "does not serve it"
            detail = f"{type(call.body).__name__}: {self._peer} {theirs}, we speak {ours}"
            call.finish(CallError(Failure.UNSUPPORTED_VERSION, detail))
        elif len(self._unanswered) >= MAX_UNANSWERED:
            call.finish(CallError(Failure.REFUSED, f"{self._peer} owes {MAX_UNANSWERED} answers"))
        else:
            self._write(call, version)

    def expire(self, call: InFlightRequest) -> None:
        """The call's time is up; what waits behind it on this connection ends with it."""
        call.finish(CallError(Failure.TIMED_OUT, f"no answer from {self._peer} in time"))
        self.close(
            CallError(Failure.DISCONNECTED, f"the connection to {self._peer} was given up: an answer is overdue")
        )

    def close(self, cause: CallError) -> None:
        self._cause = self._cause or cause
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_quiet(self) -> bool:
        return not self._unanswered and not self._held

    def data_received(self, data: bytes) -> None:
        self._traffic.received(len(data))
        frame = None if len(self._frames) else whole_frame(data, self._max_frame_bytes)
        if frame is None:
            self._frames.feed(data)
        try:
            if frame is not None:
                if self._cause is None:
                    self._answered(frame)
                return
            while (frame := self._frames.next_frame()) is not None and self._cause is None:
                self._answered(frame)
        except (BadFrame, ProtocolError) as bad:
            self.close(CallError(Failure.MALFORMED, f"{self._peer} sent what cannot be read: {bad}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._traffic.closed += 1
        quiet = self.is_quiet
        cause = self._cause or CallError(
            Failure.DISCONNECTED, f"{self._peer} ended the connection{f' ({exc})' if exc else ''}"
        )
        if self._login is not None:
            self._login.close()
        self._lost(cause, quiet)
        while self._unanswered:
            self._unanswered.popleft().finish(cause)
        while self._held:
            self._held.popleft().finish(cause)

    def _ask_versions(self, version: int) -> None:
        question = ApiVersionsRequest(client_software_name="quorate", client_software_version=self._software_version)
        self._write(InFlightRequest(question, self._negotiated), version)

    def _negotiated(self, version: int, answer: Message | CallError) -> None:
        del version
        if isinstance(answer, ApiVersionsResponse) and not self.is_ready:
            self.versions = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
            if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
                self._ask_versions(self.versions.get(_API_VERSIONS_KEY, (0, 0))[1])
            elif answer.error_code:
                self.close(
                    CallError(
                        Failure.UNSUPPORTED_VERSION, f"{self._peer} refuses ApiVersions: error {answer.error_code}"
                    )
                )
            elif self._login is not None:
                self._login.begin()
            else:
                self._open()

    def _open(self) -> None:
        self.is_ready = True
        self._ready()

    # Showing who we are.

    def _ask(self, body: Message, answered: Callable[[Message], None]) -> None:
        def done(_: int, answer: Message | CallError) -> None:
            if not isinstance(answer, CallError):
                answered(answer)
            elif self._cause is None:  # it was not sent
                self._login_failed(answer.detail)

        if self._transport is not None:
            self._send(InFlightRequest(body, done))

    def _logged_in(self) -> None:
        if not self.is_ready:
            self._open()
        while self._held and self._transport is not None:
            call = self._held.popleft()
            if call.done is not None:  # not cancelled meanwhile
                self._send(call)

    def _login_failed(self, why: str) -> None:
        self.close(CallError(Failure.UNAUTHENTICATED, why))

    def _write(self, call: InFlightRequest, version: int) -> None:
        assert self._transport is not None, "send() after the connection was lost"
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        try:
            frame = encode_request(call.body, version, self._next_correlation_id, self._client_id)
        except (UnsupportedField, InvalidValue) as error:
            call.finish(CallError(Failure.UNSUPPORTED_VERSION, f"{self._peer}: {error}"))
            return
        except Exception as error:
            call.finish(CallError(Failure.UNSUPPORTED_VERSION, f"{self._peer}: {type(error).__name__}"))
            return
        call.version = version
        call.correlation_id = self._next_correlation_id
        self._unanswered.append(call)
        self._transport.write(frame)
        self._traffic.sent(len(frame))

    def _answered(self, frame: bytes) -> None:
        if not self._unanswered:
            raise BadFrame("an answer that was not asked for")
        call = self._unanswered[0]
        if correlation_id_of(frame) != call.correlation_id:
            raise BadFrame(f"an answer to another request than {type(call.body).__name__} {call.correlation_id}")
        try:
            response = decode_response(frame, cast(int, type(call.body).KEY), call.version)
        except ProtocolError:
            raise
        except Exception as error:
            raise BadFrame(f"{type(error).__name__} while its answer was decoded") from error
        self._unanswered.popleft()
        self._traffic.responses += 1
        call.finish(response.body)
