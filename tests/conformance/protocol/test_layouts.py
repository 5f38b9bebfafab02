"""Our declarations beside what reflection found in Apache Kafka 4.3.1's compiled classes, field by field."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from typing import Any, Final

import pytest

from controller_runtime.protocol.api_errors import error_for
from controller_runtime.protocol.api_keys import APIS, ApiKey, api, request_header_version, response_header_version
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import MODULES, message_class
from controller_runtime.protocol.schema import FieldSpec, Struct, Versions
from support.golden import GOLDEN

pytestmark = pytest.mark.conformance

KAFKA: Final[dict[str, Any]] = json.loads(gzip.decompress((GOLDEN / "schemas.json.gz").read_bytes()))
SHORT_NAMES: Final = {"DefaultPrincipal": "DefaultPrincipalData", "QuorumState": "QuorumStateData"}
MESSAGES: Final = {SHORT_NAMES.get(each["name"], each["name"]): each for each in KAFKA["messages"]}
NULL: Final = "null"
EMPTY: Final = "empty records"
"""Java's field starts as null, which it never sends: its helpers put empty records there. Ours starts empty."""


def bounded(found: Versions, valid: Versions) -> str:
    """A range within the message's own versions: what compiled classes can show."""
    both = within(found, valid)
    return f"{both.lowest}-{both.highest}" if both else "none"


def within(found: Versions, valid: Versions) -> Versions:
    return Versions(max(found.lowest, valid.lowest), min(found.highest, valid.highest))


def kafka_range(text: str | None, valid: Versions) -> str:
    if text in (None, "none"):
        return "none"
    assert text is not None
    lowest, _, highest = text.rstrip("+").partition("-")
    top = valid.highest if text.endswith("+") else int(highest or lowest)
    return bounded(Versions(int(lowest), top), valid)


def ours(spec: FieldSpec, valid: Versions) -> dict[str, Any]:
    shape = spec.struct.__name__ if spec.struct else spec.kind
    valid = within(spec.versions, valid)
    shown: dict[str, Any] = {
        "name": spec.json_name,
        "type": f"[]{shape}" if spec.array else shape,
        "versions": bounded(spec.versions, valid),
        "nullable": bounded(spec.nullable, valid),
        "tag": spec.tag if spec.tagged else -1,
        "tagged": bounded(spec.tagged, valid),
        "default": EMPTY if spec.kind == "records" else default_text(spec),
    }
    if spec.struct is not None:
        shown["fields"] = sorted_fields(spec.struct, valid)
    return shown


def default_text(spec: FieldSpec) -> Any:
    if spec.default is None:
        return NULL
    return spec.default if isinstance(spec.default, (bool, int)) and spec.default else 0


def sorted_fields(cls: type[Struct], valid: Versions) -> list[dict[str, Any]]:
    found = [ours(spec, valid) for spec in cls.FIELDS]
    return sorted((each for each in found if each["versions"] != "none"), key=lambda each: str(each["name"]))


def theirs(field: dict[str, Any], valid: Versions) -> dict[str, Any]:
    default = field.get("default", 0)
    lowest, _, highest = kafka_range(field["versions"], valid).partition("-")
    valid = Versions(int(lowest), int(highest))
    shown: dict[str, Any] = {
        "name": field["name"][0].lower() + field["name"][1:],
        "type": field["type"],
        "versions": kafka_range(field["versions"], valid),
        "nullable": kafka_range(field.get("nullable"), valid),
        "tag": field.get("tag", -1),
        "tagged": kafka_range(field.get("tagged"), valid),
        "default": EMPTY if field["type"] == "records" else NULL if default is None else default or 0,
    }
    if "fields" in field:
        fields = (theirs(each, valid) for each in field["fields"])
        shown["fields"] = sorted(fields, key=lambda each: str(each["name"]))
    return shown


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_layout_is_kafkas(name: str) -> None:
    cls, facts = message_class(name), MESSAGES[name]
    lowest, _, highest = facts["versions"].partition("-")
    assert (cls.VERSIONS.lowest, cls.VERSIONS.highest) == (int(lowest), int(highest))
    assert bounded(cls.FLEXIBLE, cls.VERSIONS) == kafka_range(facts["flexible"], cls.VERSIONS)
    assert (facts["kind"], facts.get("key")) == (cls.KIND, cls.KEY)
    expected = sorted((theirs(each, cls.VERSIONS) for each in facts["fields"]), key=lambda each: str(each["name"]))
    assert sorted_fields(cls, cls.VERSIONS) == expected


def wire_order(cls: type[Struct], version: int) -> list[str]:
    return [spec.json_name for spec in cls.FIELDS if version in spec.versions and not spec.is_tagged(version)]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_fields_stand_in_wire_order_at_every_version(name: str) -> None:
    cls, facts = message_class(name), MESSAGES[name]
    for version in cls.VERSIONS:
        one = Versions(version, version)
        expected = [
            each["name"][0].lower() + each["name"][1:]
            for each in facts["fields"]
            if kafka_range(each["versions"], one) != "none" and kafka_range(each.get("tagged"), one) == "none"
        ]
        assert wire_order(cls, version) == expected, version


def test_there_is_a_class_for_each_of_kafkas_messages_and_no_other() -> None:
    assert sorted(MODULES) == sorted(MESSAGES)
    assert len(MODULES) == 272


def test_the_api_table_is_kafkas() -> None:
    facts = {each["key"]: each for each in KAFKA["apis"]}
    assert {int(key): key.name for key in ApiKey} == {key: each["enum"] for key, each in facts.items()}
    for row in APIS:
        fact = facts[row.key]
        assert (row.name, row.lowest, row.highest, row.highest_stable) == (
            fact["name"],
            fact["lowest"],
            fact["highest"],
            fact["highestStable"],
        )
        assert sorted(role[0] for role in fact["listeners"]) == list(row.roles), row.name
        assert row.is_forwardable == fact["forwardable"], row.name
        for version, request, response in fact["headers"]:
            assert request_header_version(row.key, version) == request, row.name
            assert response_header_version(row.key, version) == response, row.name


def test_an_api_has_the_versions_of_its_messages() -> None:
    for row in APIS:
        request, response = message_class(f"{row.name}Request"), message_class(f"{row.name}Response")
        assert (row.key, row.key) == (request.KEY, response.KEY)
        assert (request.VERSIONS.lowest, request.VERSIONS.highest) == (row.lowest, row.highest)
        assert (response.VERSIONS.lowest, response.VERSIONS.highest) == (row.lowest, row.highest)
    assert api(ApiKey.INIT_PRODUCER_ID).versions == Versions(0, 5)


def test_error_codes_and_retriability_are_kafkas() -> None:
    assert {int(code): code.name for code in ErrorCode} == {each["code"]: each["name"] for each in KAFKA["errors"]}
    for each in KAFKA["errors"]:
        error = error_for(each["code"])
        if each["code"] == 0:
            assert error is None
            continue
        assert error is not None
        assert (error.code, error.RETRIABLE) == (each["code"], each["retriable"]), each["name"]


def test_the_tree_is_what_the_generator_writes(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[3] / "tools" / "generate_messages.py"
    loaded = importlib.util.spec_from_file_location("generate_messages", path)
    assert loaded is not None
    assert loaded.loader is not None
    module = importlib.util.module_from_spec(loaded)
    import sys

    sys.modules["generate_messages"] = module
    try:
        loaded.loader.exec_module(module)
        assert module.main(["--check"]) == 0, capsys.readouterr().err
    finally:
        del sys.modules["generate_messages"]
