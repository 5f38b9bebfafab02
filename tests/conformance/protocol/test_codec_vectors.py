"""Bytes written by Apache Kafka 4.3.1's own classes: 272 messages, 728 layouts, seven samples each."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.json_form import from_json, to_json
from controller_runtime.protocol.messages import MODULES, message_class
from controller_runtime.protocol.schema import Message
from support.golden import json_lines

pytestmark = pytest.mark.conformance

VECTORS: Final = json_lines("codec/vectors.jsonl.gz")
SHORT_NAMES: Final = {"DefaultPrincipal": "DefaultPrincipalData", "QuorumState": "QuorumStateData"}


def name_of(vector: dict[str, Any]) -> str:
    name: str = vector["message"]
    return SHORT_NAMES.get(name, name)


def class_of(vector: dict[str, Any]) -> type[Message]:
    return message_class(name_of(vector))


def place(vector: dict[str, Any]) -> str:
    return f"{vector['message']} v{vector['version']} sample {vector['seed']}"


def without_records(shown: Any) -> Any:
    """The vectors show records as "", we show their size, as Kafka's tools do."""
    if isinstance(shown, dict):
        return {
            key.removesuffix("SizeInBytes") if key in ("recordsSizeInBytes", "unalignedRecordsSizeInBytes") else key: (
                "" if key in ("recordsSizeInBytes", "unalignedRecordsSizeInBytes") else without_records(value)
            )
            for key, value in shown.items()
        }
    return [without_records(each) for each in shown] if isinstance(shown, list) else shown


def test_the_vectors_cover_every_message_and_version() -> None:
    layouts = {(name_of(vector), vector["version"]) for vector in VECTORS}
    ours = {(name, version) for name in MODULES for version in message_class(name).VERSIONS}
    assert (len(VECTORS), len(MODULES), len(layouts)) == (5096, 272, 728)
    assert layouts == ours


def test_every_vector_decodes_and_encodes_to_the_same_bytes() -> None:
    for vector in VECTORS:
        data = bytes.fromhex(vector["hex"])
        message = decode(class_of(vector), data, vector["version"])
        assert encode(message, vector["version"]) == data, place(vector)


def test_our_defaults_are_kafkas_defaults() -> None:
    for vector in VECTORS:
        if vector["seed"] == 0:
            cls = class_of(vector)
            assert decode(cls, bytes.fromhex(vector["hex"]), vector["version"]) == cls(), place(vector)


def test_every_vector_renders_as_kafkas_json() -> None:
    for vector in VECTORS:
        message = decode(class_of(vector), bytes.fromhex(vector["hex"]), vector["version"])
        shown = without_records(to_json(message, vector["version"]))
        assert shown == vector["json"], place(vector)
        assert list(shown) == list(vector["json"]), place(vector)


def test_kafkas_json_reads_back_to_the_same_bytes() -> None:
    read = 0
    for vector in VECTORS:
        if vector.get("unknown_tag") or '"records": ' in str(vector["json"]).replace("'", '"'):
            continue
        if any(spec.kind == "records" for spec in all_fields(class_of(vector))):
            continue
        message = from_json(class_of(vector), vector["json"], vector["version"])
        assert encode(message, vector["version"]).hex() == vector["hex"], place(vector)
        read += 1
    assert read > 4000


def all_fields(cls: type[Any]) -> list[Any]:
    return [each for spec in cls.FIELDS for each in ([spec] if spec.struct is None else all_fields(spec.struct))]


def test_an_unknown_tagged_field_is_kept() -> None:
    kept = [vector for vector in VECTORS if vector.get("unknown_tag")]
    assert len(kept) > 400
    for vector in kept:
        message = decode(class_of(vector), bytes.fromhex(vector["hex"]), vector["version"])
        assert message.unknown_tagged_fields, place(vector)
