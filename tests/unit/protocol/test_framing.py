"""Frames, headers and the pair of request and response."""

from __future__ import annotations

import pytest

from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import MalformedMessage
from controller_runtime.protocol.framing import (
    UnknownApiKey,
    UnsupportedApiVersion,
    correlation_id_of,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.messages.vote_response import VoteResponse

pytestmark = pytest.mark.unit


def test_a_request_and_its_answer_travel() -> None:
    frame = encode_request(VoteRequest(cluster_id="c"), 2, 7, "raft-client-1")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    request = decode_request(frame[4:])
    assert (request.key, request.version, request.size) == (ApiKey.VOTE, 2, len(frame) - 4)
    assert (request.header.correlation_id, request.header.client_id) == (7, "raft-client-1")
    assert request.body == VoteRequest(cluster_id="c")
    reply = encode_response(VoteResponse(error_code=3), request.header)
    assert correlation_id_of(reply[4:]) == 7
    assert decode_response(reply[4:], ApiKey.VOTE, 2).body == VoteResponse(error_code=3)


def test_the_client_id_is_never_compact_and_may_be_null() -> None:
    frame = encode_request(ApiVersionsRequest(), 3, 1, None, with_length=False)
    assert frame[:10] == b"\0\x12\0\3\0\0\0\1\xff\xff"
    assert decode_request(frame).header.client_id is None


def test_api_versions_always_answers_with_header_0() -> None:
    header = RequestHeader(request_api_key=18, request_api_version=4, correlation_id=9)
    frame = encode_response(ApiVersionsResponse(), header, with_length=False)
    assert frame == b"\0\0\0\x09" + encode(ApiVersionsResponse(), 4)


def test_bytes_after_a_request_are_ignored_as_kafka_does() -> None:
    frame = encode_request(ApiVersionsRequest(), 0, 1, "abc", with_length=False)
    assert decode_request(frame + b"\xff\xff").body == ApiVersionsRequest()


def test_bytes_after_a_response_are_refused() -> None:
    header = RequestHeader(request_api_key=52, request_api_version=2, correlation_id=9)
    frame = encode_response(VoteResponse(), header, with_length=False)
    with pytest.raises(MalformedMessage, match="left over"):
        decode_response(frame + b"x", ApiKey.VOTE, 2)


def test_an_unknown_api_is_named() -> None:
    with pytest.raises(UnknownApiKey, match="no API with key 999"):
        decode_request(bytes.fromhex("03e70000000000010003616263"))
    with pytest.raises(UnknownApiKey, match="key 4"):
        decode_request(b"\0\4\0\0\0\0\0\1\xff\xff")


def test_an_unsupported_version_keeps_the_header_for_the_answer() -> None:
    with pytest.raises(UnsupportedApiVersion, match="API_VERSIONS has no version 9") as caught:
        decode_request(bytes.fromhex("0012000900000001000361626300"))
    assert (caught.value.header.correlation_id, caught.value.header.client_id) == (1, "abc")


def test_a_header_can_be_read_alone() -> None:
    frame = encode_request(MetadataRequest(), 12, 1, "abc", with_length=False)
    header, start = decode_request_header(frame)
    assert (header.request_api_key, frame[start:]) == (3, encode(MetadataRequest(), 12))


@pytest.mark.parametrize("frame", [b"", b"\0\x12\0", b"\0\x12\0\3\0\0\0"])
def test_half_a_header_is_refused(frame: bytes) -> None:
    with pytest.raises(MalformedMessage, match="RequestHeader"):
        decode_request(frame)
    with pytest.raises(MalformedMessage, match="ResponseHeader"):
        correlation_id_of(frame[:3])
