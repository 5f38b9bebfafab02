"""What one frame of a stranger may cost: the budget of elements in `decode_request`, and what a refusal
itself costs.
"""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from benchmarks.hostile_frames import claimed_names, create_topics, empty_names, metadata_of, unknown_tags
from controller_runtime.parts.envelope import unwrap
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import ErrorCode, MalformedMessage, TooManyElements
from controller_runtime.protocol.framing import MAX_REQUEST_ELEMENTS, decode_request
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.topic_record import TopicRecord

HOSTILE = {
    "two million names of no byte": (empty_names(2_000_000), "2000000 elements of topic_names"),
    "a hundred thousand topics": (create_topics(100_000), "100000 elements of topics"),
    "a hundred thousand names": (metadata_of(100_000), "100000 elements of topics"),
    "a hundred thousand tags": (unknown_tags(100_000), "100000 elements of tagged fields"),
    "tags of the header": (
        struct.pack(">ihhih", 300_013, 18, 3, 1, -1) + b"\xa0\x8d\x06" + b"\x05\x01x" * 100_000,
        "100000 elements of tagged fields",
    ),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_too_much_is_refused_by_name_and_nothing_is_made_of_it(name: str) -> None:
    framed, words = HOSTILE[name]
    frame = framed[4:]
    with pytest.raises(TooManyElements):
        decode_request(frame)  # compiles; the second look is measured
    tracemalloc.start()
    try:
        with pytest.raises(TooManyElements, match=words) as refused:
            decode_request(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024
    assert refused.value.allowed == MAX_REQUEST_ELEMENTS
    assert len(str(refused.value)) < 200


def test_as_much_as_is_allowed_is_read() -> None:
    request = decode_request(empty_names(MAX_REQUEST_ELEMENTS)[4:])
    assert isinstance(request.body, DeleteTopicsRequest)
    assert (request.elements, len(request.body.topic_names)) == (MAX_REQUEST_ELEMENTS, MAX_REQUEST_ELEMENTS)
    with pytest.raises(TooManyElements):
        decode_request(empty_names(MAX_REQUEST_ELEMENTS + 1)[4:])


def test_a_small_request_is_not_counted() -> None:
    assert decode_request(empty_names(900)[4:]).elements == 0


def test_elements_of_elements_are_counted_together() -> None:
    topic = MetadataRequestTopic(name="t")
    data = encode(MetadataRequest(topics=(topic,) * 600), 12)
    header = struct.pack(">hhih", 3, 12, 1, -1) + b"\0"
    with pytest.raises(TooManyElements, match="599 in all"):
        decode_request(header + data, 599)
    assert decode_request(header + data, 600).elements == 600


def test_a_claim_that_the_bytes_cannot_hold_allocates_nothing() -> None:
    frame = claimed_names(2_000_000)[4:]
    with pytest.raises(MalformedMessage):
        decode_request(frame)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage, match="2000000 elements are claimed"):
            decode_request(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024


def test_inside_an_envelope_the_same_is_allowed() -> None:
    principal = b"\0\0" + encode(DefaultPrincipalData(type="User", name="a"), 0)

    def wrapped(frame: bytes) -> EnvelopeRequest:
        return EnvelopeRequest(request_data=frame[4:], request_principal=principal, client_host_address=bytes(4))

    refused = unwrap(wrapped(create_topics(MAX_REQUEST_ELEMENTS + 1)))
    assert isinstance(refused, EnvelopeResponse)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert not isinstance(unwrap(wrapped(create_topics(1000))), EnvelopeResponse)


def test_the_place_of_a_flaw_is_looked_for_among_the_first_elements_only() -> None:
    whole = encode(DeleteTopicsRequest(topic_names=("t",) * 100_000), 5)
    with pytest.raises(MalformedMessage, match="behind 12000 elements"):
        decode(DeleteTopicsRequest, whole[:-1], 5)
    few = encode(DeleteTopicsRequest(topic_names=("t",) * 10_000), 5)
    with pytest.raises(MalformedMessage, match="tagged fields"):
        decode(DeleteTopicsRequest, few[:-1], 5)


def test_a_string_of_more_than_32767_bytes_is_refused_in_either_form() -> None:
    """Apache Kafka's readers say «string field name had invalid length»; a compact length could tell any."""
    longest = encode(TopicRecord(name="x" * 32767), 0)
    assert decode(TopicRecord, longest, 0).name == "x" * 32767
    longer = b"\x81\x80\x02" + b"x" * 32768 + bytes(17)
    with pytest.raises(MalformedMessage, match=r"name at byte .*: a string has at most 32767 bytes, 32768 are claimed"):
        decode(TopicRecord, longer, 0)
