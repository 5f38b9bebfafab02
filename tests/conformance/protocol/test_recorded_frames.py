"""Frames that a proxy saw between unmodified Apache Kafka 4.3.1 nodes and clients, and crafted requests with Kafka's
answers.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import (
    ApiKey,
    ListenerType,
    api,
    request_header_version,
    response_header_version,
)
from controller_runtime.protocol.codec import decode
from controller_runtime.protocol.framing import (
    UnknownApiKey,
    UnsupportedApiVersion,
    decode_request,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.api_versions_response import ApiVersionsResponse
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.record_batch import decode_batches
from support.golden import json_lines

pytestmark = pytest.mark.conformance

PAIRS: Final = [*json_lines("wire/cluster.jsonl.gz"), *json_lines("wire/static-voters.jsonl.gz")]
PROBES: Final = json_lines("wire/probes.jsonl.gz")


def place(pair: dict[str, Any]) -> str:
    return f"{pair['api']} v{pair['version']} correlation {pair.get('correlation')}"


def test_every_recorded_request_reads_and_writes_back() -> None:
    for pair in PAIRS:
        frame = bytes.fromhex(pair["request"]["hex"])
        request = decode_request(frame)
        header = request.header
        assert to_json(header, pair["request"]["header_version"]) == pair["request"]["header"], place(pair)
        assert to_json(request.body, pair["version"]) == pair["request"]["body"], place(pair)
        again = encode_request(request.body, request.version, header.correlation_id, header.client_id)
        assert again == len(frame).to_bytes(4, "big") + frame, place(pair)


def test_every_recorded_response_reads_and_writes_back() -> None:
    for pair in PAIRS:
        frame = bytes.fromhex(pair["response"]["hex"])
        asked = decode_request(bytes.fromhex(pair["request"]["hex"])).header
        response = decode_response(frame, pair["api_key"], pair["version"])
        assert to_json(response.header, pair["response"]["header_version"]) == pair["response"]["header"], place(pair)
        assert to_json(response.body, pair["version"]) == pair["response"]["body"], place(pair)
        assert encode_response(response.body, asked) == len(frame).to_bytes(4, "big") + frame, place(pair)


def test_header_versions_are_those_seen_on_the_wire() -> None:
    for pair in PAIRS:
        key, version = pair["api_key"], pair["version"]
        assert request_header_version(key, version) == pair["request"]["header_version"], place(pair)
        assert response_header_version(key, version) == pair["response"]["header_version"], place(pair)


def test_envelopes_hold_whole_requests_and_responses() -> None:
    opened = 0
    for pair in PAIRS:
        if pair["api_key"] != ApiKey.ENVELOPE:
            continue
        outer = decode_request(bytes.fromhex(pair["request"]["hex"])).body
        answer = decode_response(bytes.fromhex(pair["response"]["hex"]), ApiKey.ENVELOPE, pair["version"]).body
        assert isinstance(outer, EnvelopeRequest)
        assert isinstance(answer, EnvelopeResponse)
        inner = decode_request(outer.request_data)
        assert api(inner.key).is_forwardable, place(pair)
        assert to_json(inner.body, inner.version) == pair["request"]["inner"]["body"], place(pair)
        assert outer.request_principal is not None
        principal = decode(DefaultPrincipalData, outer.request_principal[2:], 0)
        assert (principal.type, outer.request_principal[:2]) == ("User", b"\0\0")
        if answer.response_data is not None:
            reply = decode_response(answer.response_data, inner.key, inner.version)
            assert to_json(reply.body, inner.version) == pair["response"]["inner"]["body"], place(pair)
            opened += 1
    assert opened > 100


def test_recorded_batches_have_good_checksums_and_records() -> None:
    records, codecs = 0, set()
    for pair in PAIRS:
        body = decode_request(bytes.fromhex(pair["request"]["hex"])).body
        if isinstance(body, ProduceRequest):
            raw = [each.records for topic in body.topic_data for each in topic.partition_data]
        elif pair["api_key"] == ApiKey.FETCH:
            answer = decode_response(bytes.fromhex(pair["response"]["hex"]), ApiKey.FETCH, pair["version"]).body
            assert isinstance(answer, FetchResponse)
            raw = [each.records for topic in answer.responses for each in topic.partitions]
        else:
            continue
        for data in raw:
            for batch in decode_batches(data or b"", partial_tail=True):
                codecs.add(batch.header.compression.name)
                assert len(batch.records) == batch.header.record_count
                records += len(batch.records)
    assert records > 600
    assert codecs == {"NONE", "GZIP", "SNAPPY", "ZSTD"}


def test_probes_read_as_kafka_read_them() -> None:
    """What Kafka closed the connection for is an error here, except what it only refuses by role."""
    outcomes: dict[str, str] = {}
    for probe in PROBES:
        frame = bytes.fromhex(probe["request_hex"])
        try:
            decode_request_header(frame)
        except (UnknownApiKey, UnsupportedApiVersion) as error:
            outcomes[probe["name"]] = type(error).__name__
    assert outcomes == {
        "api versions v9": "UnsupportedApiVersion",
        "unknown api key": "UnknownApiKey",
        "vote v9": "UnsupportedApiVersion",
    }


def test_a_controller_does_not_serve_what_kafkas_refuses_there() -> None:
    closed = next(probe for probe in PROBES if probe["name"] == "metadata on a controller")
    header, _ = decode_request_header(bytes.fromhex(closed["request_hex"]))
    assert not api(header.request_api_key).served_by(ListenerType.CONTROLLER)


def test_answers_to_probes_read_and_write_back() -> None:
    read = 0
    for probe in PROBES:
        if "response_hex" not in probe or "undecodable" in probe:
            continue
        request = decode_request(bytes.fromhex(probe["request_hex"]))
        frame = bytes.fromhex(probe["response_hex"])
        response = decode_response(frame, request.key, request.version)
        assert encode_response(response.body, request.header, with_length=False) == frame, probe["name"]
        read += 1
    assert read > 110


def test_the_answer_to_api_versions_9_is_read_at_version_0() -> None:
    probe = next(each for each in PROBES if each["name"] == "api versions v9")
    body = decode_response(bytes.fromhex(probe["response_hex"]), ApiKey.API_VERSIONS, 9).body
    assert isinstance(body, ApiVersionsResponse)
    assert (body.error_code, [(key.api_key, key.min_version, key.max_version) for key in body.api_keys]) == (
        35,
        [(18, 0, 4)],
    )


def test_uuids_print_as_kafka_prints_them() -> None:
    assert str(Uuid.of(0, 1)) == "AAAAAAAAAAAAAAAAAAAAAQ"
