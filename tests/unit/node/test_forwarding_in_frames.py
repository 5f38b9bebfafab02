"""A forwarded request from a client's socket to a controller and back, in frames: what is decoded and encoded on its
way, and who pays for one that nobody can read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from controller_runtime.parts.events import UnreadRequest
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.framing import MAX_REQUEST_ELEMENTS, decode_response
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.schema import Message
from support.nodes.frame_hosts import BROKER_LISTENER, Line, Town, frame

pytestmark = pytest.mark.unit

VERSION = 7


def town(*kinds: str) -> Town:
    made = Town(*kinds)
    broker = made.hosts[-1].node.broker
    assert broker is not None
    made.until("the broker serves", 60, lambda: broker.service.is_serving)
    return made


def line_of(town: Town) -> Line:
    return Line(town.hosts[-1], BROKER_LISTENER)


def topics(*names: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=tuple(CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names),
        timeout_ms=5000,
    )


def asked(town: Town, line: Line, request: bytes, key: ApiKey, version: int) -> Message:
    before = len(line.replies)
    line.send(request)
    town.until("an answer", 10, lambda: len(line.replies) > before or line.closed)
    assert not line.closed
    return decode_response(line.replies[-1], key, version).body


@contextmanager
def counted(*classes: type[Message], version: int) -> Iterator[Counter[str]]:
    """How often the codec makes and reads bytes of these messages, in all nodes together."""
    found: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            found[name] += 1
            return function(*values)

        return call

    kept: list[tuple[Any, Any]] = [
        (codecs, codecs[version]) for cls in classes for codecs in (cls.DECODERS, cls.ENCODERS)
    ]
    for cls in classes:
        cls.DECODERS[version] = counting(f"{cls.__name__} read", cls.DECODERS[version])
        cls.ENCODERS[version] = counting(f"{cls.__name__} written", cls.ENCODERS[version])
    try:
        yield found
    finally:
        for codecs, function in kept:
            codecs[version] = function


@pytest.mark.parametrize("kinds", [("controller", "broker"), ("combined",)], ids="-".join)
def test_a_request_is_decoded_once_and_its_answer_encoded_once(kinds: tuple[str, ...]) -> None:
    """By the controller that decides. The broker, which carries both, reads their headers."""
    made = town(*kinds)
    line = line_of(made)
    asked(made, line, frame(topics("first"), VERSION), ApiKey.CREATE_TOPICS, VERSION)  # the codec is compiled
    request = frame(topics("second", "third"), VERSION)
    with counted(CreateTopicsRequest, CreateTopicsResponse, version=VERSION) as found:
        line.send(request)
        made.until("an answer", 10, lambda: len(line.replies) == 2)
    assert found == {"CreateTopicsRequest read": 1, "CreateTopicsResponse written": 1}
    answer = decode_response(line.replies[-1], ApiKey.CREATE_TOPICS, VERSION)
    assert answer.header.correlation_id == 7
    assert [(topic.name, topic.error_code) for topic in answer.body.topics] == [("second", 0), ("third", 0)]  # type: ignore[attr-defined]


NOT_TEXT = frame(topics("x" * 1200), VERSION).replace(b"xxx", b"\xff\xfe\xfd")


@pytest.mark.parametrize("flawed", [frame(topics("cut"), VERSION)[:-4], NOT_TEXT], ids=["cut", "large, and no text"])
def test_a_body_that_nobody_can_read_ends_the_connection_of_its_sender_and_no_other(flawed: bytes) -> None:
    """The controller says so in the envelope; the channel between broker and controller stays."""
    made = town("controller", "broker")
    others = [line_of(made) for _ in range(3)]
    hostile = line_of(made)
    hostile.send(flawed)
    for number, line in enumerate(others):
        line.send(frame(topics(f"topic-{number}"), VERSION))
    made.until("answers", 10, lambda: all(line.replies for line in others))
    assert (hostile.closed, hostile.replies) == (True, [])
    assert not any(line.closed for line in others)
    for line in others:
        answer = decode_response(line.replies[0], ApiKey.CREATE_TOPICS, VERSION).body
        assert isinstance(answer, CreateTopicsResponse)
        assert answer.topics[0].error_code == 0
    assert [host.failures for host in made.hosts] == [0, 0]


@pytest.mark.parametrize(
    "flawed",
    [
        frame(topics(*(f"t{n}" for n in range(1200))), VERSION)[:-4],
        frame(topics(*("t" for _ in range(MAX_REQUEST_ELEMENTS + 1))), VERSION),
    ],
    ids=["cut", "too many elements"],
)
def test_a_large_body_that_is_none_is_no_work_for_the_controller(flawed: bytes) -> None:
    """A broker stands between strangers and the quorum."""
    made = town("controller", "broker")
    line = line_of(made)
    line.send(flawed)
    assert line.closed
    while taken := made.hosts[-1].pump.take():
        assert not any(isinstance(event, UnreadRequest) for event in taken)


def test_what_is_parked_for_a_controller_counts_as_held_until_it_is_answered() -> None:
    made = town("controller", "broker")
    broker = made.hosts[-1]
    line = line_of(made)
    request = frame(topics("orders"), VERSION)
    line.send(request)
    assert broker.requests.held_bytes == len(request)
    made.until("an answer", 10, lambda: line.replies)
    assert broker.requests.held_bytes == 0


def test_a_request_that_the_broker_judges_in_part_is_answered_as_a_whole() -> None:
    """The broker refuses one resource itself, the controller decides on the other."""
    made = town("controller", "broker")
    line = line_of(made)
    asked(made, line, frame(topics("orders"), VERSION), ApiKey.CREATE_TOPICS, VERSION)
    change = (AlterableConfig(name="retention.ms", config_operation=0, value="1000"),)
    resources = tuple(
        AlterConfigsResource(resource_type=kind, resource_name=name, configs=change)
        for kind, name in ((2, "orders"), (99, "what"))
    )
    for wanted, codes in ((resources[:1], [0]), (resources, [0, 42])):
        request = frame(IncrementalAlterConfigsRequest(resources=wanted), 1)
        answer = asked(made, line, request, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)
        assert isinstance(answer, IncrementalAlterConfigsResponse)
        assert [each.error_code for each in answer.responses] == codes
