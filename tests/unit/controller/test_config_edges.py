"""CFG-01 to CFG-04 at their edges: lengths, deletions that count, loggers, cordons, and what a broker says before a
controller is asked.

Unless a test says otherwise, the expected answer is what Apache Kafka 4.3.1 gave to the same request.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.answers.config_changes import MAX_NAME_LENGTH
from controller_runtime.answers.describe_configs import MAX_DOCUMENTED, MAX_OF_NODES
from controller_runtime.broker.forwarded_configs import Judged, judge
from controller_runtime.configuration.settings import RULES
from controller_runtime.controller.configs import MAX_RECORDS
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.identifiers import Offset, WallClock
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.topic_configs import ConfigSource
from controller_runtime.protocol.messages.clear_elr_record import ClearElrRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_configs_response import DescribeConfigsResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from support.configs.questions import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    LOGGER,
    SET,
    SUBTRACT,
    THERE,
    TOPIC,
    alter,
    answer_of,
    one,
    several,
)
from support.configs.world import ConfigWorld

pytestmark = pytest.mark.unit

LEAST = "min.insync.replicas"
CORDONED = "cordoned.log.dirs"


def said(
    world: ConfigWorld, listener: str, *resources: AlterConfigsResource, only: bool = True
) -> list[tuple[int, str | None]]:
    """Code and words for each resource."""
    answer: Any = answer_of(world.ask(alter(listener, *resources, only=only)))
    return [(row[2], row[3]) for row in answer]


def decided(world: ConfigWorld, *resources: AlterConfigsResource, forwarded: bool = False) -> Decision:
    """By the controller, without a broker of ours before it."""
    inner = world.world
    context = RequestContext(1, Offset(inner.offset), WallClock(0), forwarded=forwarded)
    return inner.service.handle(inner.image, IncrementalAlterConfigsRequest(resources=resources), context, inner.now)


def codes(decision: Decision) -> list[int]:
    assert isinstance(decision.response, IncrementalAlterConfigsResponse)
    return [response.error_code for response in decision.response.responses]


# How much, and how long.


@pytest.mark.parametrize(("records", "code"), [(MAX_RECORDS, 0), (MAX_RECORDS + 1, 44)])
def test_a_request_may_lead_to_so_many_records(records: int, code: int) -> None:
    found = decided(ConfigWorld(), several(BROKER, "1", *((f"name-{number}", "1", SET) for number in range(records))))
    assert codes(found) == [code]
    assert len(found.records) == (records if code == 0 else 0)


def test_names_may_be_as_long_as_kafka_can_read_them() -> None:
    """What is longer Kafka cannot even read; here it is refused."""
    longest, longer = "x" * MAX_NAME_LENGTH, "x" * (MAX_NAME_LENGTH + 1)
    world = ConfigWorld()
    for name, code in ((longest, 0), (longer, 40)):
        assert codes(decided(world, one(BROKER, "1", name, "1"))) == [code]
    for name, code in ((longest, 0), (longer, 42)):
        assert codes(decided(world, one(GROUP, name, "consumer.session.timeout.ms", "50000"))) == [code]


# Who.


@pytest.mark.parametrize("listener", ["b", "c"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("1", (0, None)),
        ("2", (42, "Unexpected node id. Expected 1, but received 2")),
        ("x", (42, "Node id must be an integer, but it is: x")),
        ("", (42, "Node id must be an integer, but it is: ")),
    ],
)
def test_loggers_are_those_of_the_node_that_is_asked(
    name: str, expected: tuple[int, str | None], listener: str
) -> None:
    assert said(ConfigWorld(), listener, several(LOGGER, name)) == [expected]


def test_loggers_are_answered_by_the_broker_and_go_no_further() -> None:
    image, own = ConfigWorld().world.image, OwnConfigs(1, {}, RULES)
    request = IncrementalAlterConfigsRequest(resources=(several(LOGGER, "1"), one(TOPIC, THERE, "retention.ms", "7")))
    judged = judge(image, request, own)
    assert judged.rest == IncrementalAlterConfigsRequest(resources=request.resources[1:])
    assert judge(image, IncrementalAlterConfigsRequest(resources=request.resources[:1]), own).rest is None


def test_broker_0_has_configurations_too() -> None:
    world = ConfigWorld()
    world.world.append([(RegisterBrokerRecord(broker_id=0, broker_epoch=99), 4)])
    assert codes(decided(world, one(BROKER, "0", "num.io.threads", "9"), one(BROKER, "-1", "num.io.threads", "9"))) == [
        0,
        42,
    ]


def test_what_a_broker_forwards_for_all_is_its_own_affair() -> None:
    """docs/deviations.md: one of Java's may give key stores to all; asked directly, this node would be meant, too."""
    world = ConfigWorld()
    change = one(BROKER, "", "ssl.keystore.location", "/x.jks")
    assert codes(decided(world, change, forwarded=True)) == [0]
    assert codes(decided(world, change)) == [40]


@pytest.mark.parametrize(
    ("before", "operation", "after", "allowed"),
    [
        (None, SET, "/a", False),
        (None, SET, "", True),
        (None, DELETE, None, True),
        ("/a,/b", SET, "/a,/b", True),
        ("/a,/b", SET, "/b", True),
        ("/a,/b", SET, "/b,/c", False),
        ("/a,/b", SET, "/a,/b,/c", False),
        ("/a,/b", SET, "", True),
        ("/a,/b", DELETE, None, True),
    ],
)
def test_asked_directly_a_controller_only_opens_cordoned_directories(
    before: str | None, operation: int, after: str | None, allowed: bool
) -> None:
    """KIP-1066: it cannot know which directories a broker has."""
    world = ConfigWorld()
    if before is not None:
        world.world.append([(ConfigRecord(resource_type=BROKER, resource_name="1", name=CORDONED, value=before), 0)])
    words = (
        f"When updating {CORDONED} via controllers,  the new value must be a subset of the current configuration value."
    )
    assert said(world, "c", one(BROKER, "1", CORDONED, after, operation)) == [(0, None) if allowed else (40, words)]


# What counts.


def test_what_is_removed_does_not_count_any_more() -> None:
    world = ConfigWorld()
    lags = several(TOPIC, THERE, ("min.compaction.lag.ms", "10", SET), ("max.compaction.lag.ms", "20", SET))
    assert said(world, "c", lags, only=False) == [(0, None)]
    lower = several(TOPIC, THERE, ("min.compaction.lag.ms", None, DELETE), ("max.compaction.lag.ms", "5", SET))
    assert said(world, "c", lower) == [(0, None)]
    assert said(world, "c", one(TOPIC, THERE, "max.compaction.lag.ms", "5"))[0][0] == 40


def test_what_is_removed_does_not_count_for_a_broker_either() -> None:
    world = ConfigWorld()
    assert said(world, "b", one(BROKER, "", "log.retention.ms", "86400000"), only=False) == [(0, None)]
    assert said(world, "b", one(BROKER, "", "log.local.retention.ms", "100000000"))[0][0] == 42
    both = several(BROKER, "", ("log.retention.ms", None, DELETE), ("log.local.retention.ms", "100000000", SET))
    assert said(world, "b", both) == [(0, None)]


def test_another_least_for_all_or_for_a_topic_forgets_who_is_eligible() -> None:
    """CFG-04, also when it is the same for all as before."""
    world = ConfigWorld()
    for _ in range(2):
        found = decided(world, one(BROKER, "", LEAST, "5"))
        config = ConfigRecord(resource_type=BROKER, resource_name="", name=LEAST, value="5")
        assert found.records == ((config, 0), (ClearElrRecord(topic_name=""), 0))
        world.world.append(found.records)
    world.world.append(decided(world, one(TOPIC, THERE, LEAST, "2")).records)
    removed = ConfigRecord(resource_type=TOPIC, resource_name=THERE, name=LEAST, value=None)
    assert decided(world, one(TOPIC, THERE, LEAST, None, DELETE)).records == (
        (removed, 0),
        (ClearElrRecord(topic_name=THERE), 0),
    )


def test_nothing_cannot_be_added_to_a_list() -> None:
    """docs/deviations.md: Kafka's controller resigns."""
    for operation in (APPEND, SUBTRACT):
        assert said(ConfigWorld(), "c", one(TOPIC, THERE, "cleanup.policy", None, operation)) == [
            (42, "Null value not supported for : cleanup.policy")
        ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leader.replication.throttled.rate", "Unknown config name: leader.replication.throttled.rate"),
        ("listener.name.plaintext.ssl.cipher.suites", "Unknown config name: listener.name.plaintext.ssl.cipher.suites"),
        ("log.initial.task.delay.ms", "Config value append is not allowed for config key: log.initial.task.delay.ms"),
        ("num.io.threads", "Config value append is not allowed for config key: num.io.threads"),
    ],
)
def test_a_broker_adds_to_lists_that_it_knows(name: str, words: str) -> None:
    assert said(ConfigWorld(), "b", one(BROKER, "1", name, "1", APPEND)) == [(40, words)]


# One answer of two.


def test_whatever_the_controller_does_not_speak_of_failed() -> None:
    """Ours: Kafka's broker would leave it out."""
    request = IncrementalAlterConfigsRequest(resources=(one(TOPIC, "a", "x", "1"), one(TOPIC, "b", "x", "1")))
    answered = AlterConfigsResourceResponse(error_code=40, error_message="no", resource_type=TOPIC, resource_name="b")
    silent = AlterConfigsResourceResponse(
        error_code=-1,
        error_message="The controller did not answer for this resource.",
        resource_type=TOPIC,
        resource_name="a",
    )
    judged = Judged(request, {1: answered}, {})
    told = AlterConfigsResourceResponse(error_message=None, resource_type=TOPIC, resource_name="a")
    for of_controller, expected in (
        (None, IncrementalAlterConfigsResponse(responses=(silent, answered))),
        (UpdateFeaturesResponse(), IncrementalAlterConfigsResponse(responses=(silent, answered))),
        (
            IncrementalAlterConfigsResponse(throttle_time_ms=7, responses=(told,)),
            IncrementalAlterConfigsResponse(throttle_time_ms=7, responses=(told, answered)),
        ),
    ):
        assert judged.answer(of_controller) == expected


# What is shown of a node.


def test_a_node_s_own_value_goes_before_that_of_all_and_that_before_its_file() -> None:
    """(value, source, read-only, sensitive). A name that nobody knows may be a secret."""
    world = ConfigWorld({"log.cleaner.threads": "3", "node.id": "1", "num.io.threads": "9", "no.such": "1"})

    def set_for(broker: str, name: str, value: str) -> None:
        world.world.append([(ConfigRecord(resource_type=BROKER, resource_name=broker, name=name, value=value), 0)])

    def described(broker: str) -> dict[str, tuple[str | None, int, bool, bool]]:
        resource = DescribeConfigsResource(resource_type=BROKER, resource_name=broker)
        answer = world.world.ask(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse).results[0]
        assert answer.error_code == 0
        told = {it.name: (it.value, it.config_source, it.read_only, it.is_sensitive) for it in answer.configs}
        return {name: row for name, row in told.items() if row[1] != ConfigSource.DEFAULT}

    file = {
        "broker.id": ("1", 4, True, False),
        "min.insync.replicas": ("1", 3, False, False),
        "no.such": (None, 4, True, True),
        "node.id": ("1", 4, True, False),
        "num.io.threads": ("9", 4, False, False),
    }
    assert described("1") == {"log.cleaner.threads": ("3", 4, False, False), **file}
    set_for("", "log.cleaner.threads", "2")
    assert described("1") == {"log.cleaner.threads": ("2", 3, False, False), **file}
    set_for("1", "log.cleaner.threads", "1")
    set_for("1", "listener.name.x.ssl.keystore.location", "/x")
    set_for("1", "listener.name.x.ssl.keystore.password", "pst")
    assert described("1") == {
        "listener.name.x.ssl.keystore.location": ("/x", 2, True, False),
        "listener.name.x.ssl.keystore.password": (None, 2, True, True),
        "log.cleaner.threads": ("1", 2, False, False),
        **file,
    }
    assert described("") == {
        "log.cleaner.threads": ("2", 3, False, False),
        "min.insync.replicas": ("1", 3, False, False),
    }


def test_one_answer_has_no_more_than_fits_the_memory() -> None:
    """Ours: a request of 100,000 resources may name one node in all of them."""
    world = ConfigWorld().world

    def described(kind: int, name: str, times: int) -> DescribeConfigsResponse:
        resources = (DescribeConfigsResource(resource_type=kind, resource_name=name),) * times
        return world.ask(
            DescribeConfigsRequest(resources=resources, include_documentation=True), DescribeConfigsResponse
        )

    for kind in (BROKER, LOGGER):
        found = described(kind, "1", MAX_OF_NODES + 2).results
        assert [each.error_code for each in found] == [0] * MAX_OF_NODES + [42] * 2
    for times in (MAX_DOCUMENTED, MAX_DOCUMENTED + 1):
        last = described(TOPIC, THERE, times).results[-1]
        assert (last.configs[0].documentation is None) is (times > MAX_DOCUMENTED)
