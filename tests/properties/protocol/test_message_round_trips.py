"""Every message, with any values its layout allows, survives the way to bytes and back.

API-04.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import (
    APIS,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
)
from controller_runtime.protocol.codec import decode, decode_prefix, encode
from controller_runtime.protocol.framing import encode_request, encode_response
from controller_runtime.protocol.json_form import from_json, to_json
from controller_runtime.protocol.messages import MODULES, message_class
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.response_header import ResponseHeader
from controller_runtime.protocol.schema import FieldSpec, Struct

pytestmark = pytest.mark.properties

FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


@cache
def element(kind: str) -> st.SearchStrategy[Any]:
    match kind:
        case "bool":
            return st.booleans()
        case "uint16" | "uint32":
            return st.integers(0, (1 << int(kind[4:])) - 1)
        case "float64":
            return st.floats(allow_nan=False)
        case "uuid":
            return st.binary(min_size=16, max_size=16).map(Uuid)
        case "string":
            return st.text(max_size=12) | st.text("x", min_size=120, max_size=140)
        case "bytes" | "records":
            return st.binary(max_size=20) | st.binary(min_size=126, max_size=130)
        case _:
            half = 1 << (BITS[kind] - 1)
            return st.integers(-half, half - 1)


def values(spec: FieldSpec, version: int, flexible: bool) -> st.SearchStrategy[Any]:
    one = instances(spec.struct, version, flexible) if spec.struct else element(spec.kind)
    several = st.lists(one, max_size=2).map(tuple) if spec.array else one
    if spec.array and (spec.kind == "uuid" or spec.kind.startswith("int")):
        several = st.lists(one, max_size=12).map(tuple)
    return st.none() | several if version in spec.nullable else several


@cache
def instances(cls: type[Struct], version: int, flexible: bool) -> st.SearchStrategy[Any]:
    fields = {spec.name: values(spec, version, flexible) for spec in cls.FIELDS if version in spec.versions}
    if flexible:
        tags = st.dictionaries(st.integers(100, 1 << 20), st.binary(max_size=5), max_size=2)
        fields["unknown_tagged_fields"] = st.just(()) | tags.map(lambda found: tuple(sorted(found.items())))
    return st.builds(cls, **fields)


@pytest.mark.parametrize("name", sorted(MODULES))
@FEW
@given(data=st.data())
def test_a_message_survives_the_round_trip(name: str, data: st.DataObject) -> None:
    cls = message_class(name)
    version = data.draw(st.integers(cls.VERSIONS.lowest, cls.VERSIONS.highest), label="version")
    message = data.draw(instances(cls, version, version in cls.FLEXIBLE), label="message")
    written = encode(message, version)
    assert decode(cls, written, version) == message
    assert decode_prefix(cls, b"--" + written + b"more", version, 2) == (message, len(written) + 2)
    assert encode(decode(cls, written, version), version) == written


@FEW
@given(data=st.data())
def test_a_message_survives_kafkas_json(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(MODULES)))
    cls = message_class(name)
    version = data.draw(st.integers(cls.VERSIONS.lowest, cls.VERSIONS.highest), label="version")
    message = data.draw(instances(cls, version, flexible=False), label="message")
    shown = to_json(message, version)
    if "SizeInBytes" not in repr(shown):
        assert from_json(cls, shown, version) == message


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([(each.key, version) for each in APIS for version in (each.lowest, each.highest)]),
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.none() | st.text(max_size=20),
)
def test_headers_that_are_spelled_out_are_those_of_the_codec(
    api: tuple[int, int], correlation: int, client_id: str | None
) -> None:
    key, version = api
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=correlation, client_id=client_id
    )
    asked, answered = request_class(key)(), response_class(key)()
    body = encode(asked, version)
    head = encode(header, request_header_version(key, version))
    assert encode_request(asked, version, correlation, client_id, with_length=False) == head + body
    told = encode(ResponseHeader(correlation_id=correlation), response_header_version(key, version))
    assert encode_response(answered, header, with_length=False) == told + encode(answered, version)
