"""Frames, headers, and requests and responses as they travel: int32 length, header, body.

    frame = encode_request(body, version=17, correlation_id=1, client_id="raft-client-1")   # with its length
    request = decode_request(frame[4:])                                                     # without
    reply = encode_response(FetchResponse(), request.header)
    response = decode_response(reply[4:], ApiKey.FETCH, 17)

Cutting a stream into frames, with a bound, is for `network.frames`. As Apache Kafka does, `decode_request` ignores
bytes after the body; `decode_response` does not.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from controller_runtime.protocol.api_keys import (
    ApiKey,
    find_api,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
)
from controller_runtime.protocol.codec import decode, decode_prefix, decode_within, encode, walk_within
from controller_runtime.protocol.errors import MalformedMessage, ProtocolError
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.response_header import ResponseHeader
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

if TYPE_CHECKING:
    pass

MAX_REQUEST_ELEMENTS: Final = 50_000
"""Elements of arrays and tagged fields in one request, all together. Kafka, which counts none, allows 10,000 partitions
to be created by a request; a request for so many with three replicas placed by hand, the largest that its tools make,
has 40,000. About 20 MB of objects, at most."""
_pack_length: Final = struct.Struct(">i").pack
_pack_request_head: Final = struct.Struct(">hhih").pack
_NO_TAGS: Final = b"\0"
_unpack_length: Final = struct.Struct(">i").unpack_from
_unpack_key_and_version: Final = struct.Struct(">hh").unpack_from

B = TypeVar("B", bound=Message)
B_co = TypeVar("B_co", bound=Message, covariant=True)


class UnknownApiKey(ProtocolError):
    """A request for an API that Kafka 4.3.1 does not have. Kafka closes the connection."""

    def __init__(self, api_key: int) -> None:
        super().__init__(f"there is no API with key {api_key}")
        self.api_key = api_key


class UnsupportedApiVersion(ProtocolError):
    """A known API at a version that does not exist. For ApiVersions the reply is v0 with error 35; else Kafka closes
    the connection.
    """

    def __init__(self, header: RequestHeader) -> None:
        super().__init__(f"{ApiKey(header.request_api_key).name} has no version {header.request_api_version}")
        self.header = header


@dataclass(frozen=True, slots=True)
class Request(Generic[B_co]):
    """A decoded request. `size` is that of its frame without the length, `elements` how many were made of
    it (0: few).
    """

    header: RequestHeader
    body: B_co
    size: int = 0
    elements: int = 0

    @property
    def key(self) -> ApiKey:
        return ApiKey(self.header.request_api_key)

    @property
    def version(self) -> int:
        return self.header.request_api_version


@dataclass(frozen=True, slots=True)
class Response(Generic[B_co]):
    """A decoded response."""

    header: ResponseHeader
    body: B_co


def decode_request_header(frame: bytes) -> tuple[RequestHeader, int]:
    """The header alone and where the body begins, for who must decide by the API before reading on."""
    if len(frame) < 8:
        raise MalformedMessage(
            "RequestHeader", 1, "request_api_key", 0, f"a header needs 8 bytes, there are {len(frame)}"
        )
    key, version = _unpack_key_and_version(frame)
    found = find_api(key)
    if found is None:
        raise UnknownApiKey(key)
    header, start, _ = decode_within(
        RequestHeader, frame, request_header_version(key, version), 0, MAX_REQUEST_ELEMENTS
    )
    if not found.lowest <= version <= found.highest:
        raise UnsupportedApiVersion(header)
    return header, start


def decode_request(frame: bytes, max_elements: int = MAX_REQUEST_ELEMENTS) -> Request[Message]:
    """Read a frame without its length. Raises UnknownApiKey, UnsupportedApiVersion, MalformedMessage or
    TooManyElements.
    """
    return decode_request_body(frame, *decode_request_header(frame), max_elements)


def decode_request_body(
    frame: bytes, header: RequestHeader, start: int, max_elements: int = MAX_REQUEST_ELEMENTS
) -> Request[Message]:
    """Read on where `decode_request_header` ended."""
    body, elements = read_request_body(frame, header, start, max_elements)
    return Request(header, body, len(frame), elements)


def read_request_body(
    frame: bytes, header: RequestHeader, start: int, max_elements: int = MAX_REQUEST_ELEMENTS
) -> tuple[Message, int]:
    """The same as a body and its elements."""
    cls, version = request_class(header.request_api_key), header.request_api_version
    body, _, elements = decode_within(cls, frame, version, start, max_elements)
    return body, elements


def walk_request_body(frame: bytes, header: RequestHeader, start: int) -> None:
    """Raise what decoding a large body would raise before it makes anything: MalformedMessage or TooManyElements."""
    cls, version = request_class(header.request_api_key), header.request_api_version
    walk_within(cls, frame, version, start, MAX_REQUEST_ELEMENTS)


def encode_request(
    body: Message, version: int, correlation_id: int, client_id: str | None, *, with_length: bool = True
) -> bytes:
    """A request's frame."""
    key = body.KEY
    assert key is not None, f"{type(body).__name__} is no request"
    head = _request_head(key, version, correlation_id, client_id)
    return _frame(head, encode(body, version), with_length)


def _request_head(key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """`encode(RequestHeader(...))`, spelled out: the same few bytes go before everything that is sent."""
    name = b"" if client_id is None else client_id.encode()
    fixed = _pack_request_head(key, version, correlation_id, -1 if client_id is None else len(name))
    return fixed + name + _NO_TAGS if request_header_version(key, version) == 2 else fixed + name


def encode_response(body: Message, request: RequestHeader, *, with_length: bool = True) -> bytes:
    """The frame that answers the request with this header."""
    version = request.request_api_version
    head = _pack_length(request.correlation_id)
    if response_header_version(request.request_api_key, version):
        head += _NO_TAGS
    return _frame(head, encode(body, version), with_length)


def decode_response(frame: bytes, key: int, version: int) -> Response[Message]:
    """Read a response's frame without its length, knowing what was asked."""
    header, start = decode_prefix(ResponseHeader, frame, response_header_version(key, version))
    cls = response_class(key)
    if key == ApiKey.API_VERSIONS and version > 0 and _is_refused_api_versions(frame, start):
        version = 0
    return Response(header, decode(cls, frame[start:], version))


def _is_refused_api_versions(frame: bytes, start: int) -> bool:
    """A node that lacks the version asked for answers ApiVersions at v0 with UNSUPPORTED_VERSION."""
    return frame[start : start + 2] == b"\0\x23"


def _frame(head: bytes, body: bytes, with_length: bool) -> bytes:
    if with_length:
        return b"".join((_pack_length(len(head) + len(body)), head, body))
    return head + body


def correlation_id_of(frame: bytes) -> int:
    """The first field of every response header."""
    if len(frame) < 4:
        raise MalformedMessage("ResponseHeader", 0, "correlation_id", 0, f"4 bytes are needed, there are {len(frame)}")
    found: int = _unpack_length(frame)[0]
    return found
