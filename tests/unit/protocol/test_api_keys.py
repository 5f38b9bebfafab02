"""API keys, what our roles serve, error codes and exceptions; and how little is loaded before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from controller_runtime.parts.api_table import TABLES, Status, advertised, served
from controller_runtime.protocol.api_errors import (
    ApiError,
    NotController,
    NotLeaderOrFollower,
    UnknownServerError,
    error_for,
)
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api, find_api, request_class, response_class
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.schema import Versions

pytestmark = pytest.mark.unit


def test_a_key_leads_to_its_classes() -> None:
    assert request_class(ApiKey.FETCH) is FetchRequest
    assert response_class(1) is FetchResponse
    assert find_api(999) is None
    assert find_api(ApiKey.LEADER_AND_ISR) is None


@pytest.mark.parametrize("role", ListenerType)
def test_a_role_serves_only_what_kafka_serves_there_and_within_its_versions(role: ListenerType) -> None:
    assert served(role)
    assert list(served(role)) == sorted(served(role))
    for key, versions in served(role).items():
        assert api(key).served_by(role), key.name
        assert api(key).lowest <= versions.lowest <= versions.highest <= api(key).highest_stable, key.name
        assert TABLES[role][key].status in (Status.SUPPORTED, Status.PARTIAL)


def test_only_the_broker_advertises_produce_and_from_version_0() -> None:
    assert served(ListenerType.BROKER)[ApiKey.PRODUCE] == Versions(3, 13)
    assert advertised(ListenerType.BROKER)[ApiKey.PRODUCE] == Versions(0, 13)
    assert ApiKey.PRODUCE not in advertised(ListenerType.CONTROLLER)
    assert advertised(ListenerType.CONTROLLER) == served(ListenerType.CONTROLLER)


def test_every_role_answers_api_versions() -> None:
    assert all(served(role)[ApiKey.API_VERSIONS] == Versions(0, 4) for role in ListenerType)


def test_an_error_code_becomes_its_exception() -> None:
    error = error_for(6)
    assert isinstance(error, NotLeaderOrFollower)
    assert (error.code, error.RETRIABLE) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, True)
    assert str(error) == (
        "NOT_LEADER_OR_FOLLOWER (6): This node is not the leader, or not a replica, of the partition."
    )
    assert error_for(0) is None


def test_the_message_of_a_reply_goes_before_our_text() -> None:
    assert str(error_for(41, "the leader is 2")) == "NOT_CONTROLLER (41): the leader is 2"
    assert isinstance(error_for(41), NotController)


def test_a_code_from_the_future_is_named() -> None:
    error = error_for(999, "new trouble")
    assert isinstance(error, UnknownServerError)
    assert error.message == "unknown error code 999: new trouble"


def test_every_code_has_one_exception_with_a_text() -> None:
    classes = ApiError.__subclasses__()
    assert sorted(int(cls.CODE) for cls in classes) == sorted(int(code) for code in ErrorCode if code)
    assert all(len(cls.TEXT) > 10 and cls.TEXT.endswith(".") for cls in classes)


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def messages_in(modules: set[str]) -> set[str]:
    prefix = "controller_runtime.protocol.messages."
    return {name.removeprefix(prefix) for name in modules if name.startswith(prefix)}


def test_importing_the_protocol_defines_no_message() -> None:
    assert messages_in(loaded_by("import controller_runtime.protocol")) == set()
    assert messages_in(loaded_by("from controller_runtime.protocol import api_keys, codec, errors, schema")) == set()


def test_framing_loads_the_two_headers_only_until_a_request_comes() -> None:
    framing = "from controller_runtime.parts import api_table\nfrom controller_runtime.protocol import framing"
    assert messages_in(loaded_by(framing)) == {"request_header", "response_header"}
    one = framing + "\nframing.decode_request(bytes.fromhex('0012000000000001ffff'))"
    assert messages_in(loaded_by(one)) == {"request_header", "response_header", "api_versions_request"}


def test_compression_libraries_are_imported_on_first_use() -> None:
    modules = loaded_by("from controller_runtime.protocol import compression, record_batch")
    assert modules.isdisjoint({"lz4", "lz4.frame", "zstandard", "cramjam"})
