"""What is counted of each API is a row of the table of its role, whatever others send."""

from __future__ import annotations

import time

import pytest

from controller_runtime.parts.api_table import TABLES, served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.server.telemetry.api_meter import ApiFacts, ApiMeter, ApiRow
from controller_runtime.server.telemetry.facts import Observer
from support.nodes.frame_hosts import BROKER_LISTENER, CONTROLLER_LISTENER, Host, Line, Town, frame

pytestmark = pytest.mark.unit

TAKEN = CreateTopicsRequest(
    topics=tuple(CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("taken", "a b"))
)


def rows(host: Host) -> dict[tuple[str, str], ApiFacts]:
    """By API and role."""
    return {(one.api, one.role): one for one in host.requests.meter.facts()}


def ask(town: Town, host: Host, listener: str, *frames: bytes) -> None:
    line = Line(host, listener)
    for count, one in enumerate(frames, start=1):
        line.send(one)
        town.until("an answer", 60, lambda expected=count: len(line.replies) == expected)


@pytest.fixture
def town() -> Town:
    found = Town("controller", "broker")
    found.until("both serve", 60, lambda: all(host.serves for host in found.hosts))
    return found


@pytest.mark.parametrize("role", ListenerType)
def test_there_is_a_row_for_each_api_that_the_role_serves_and_no_other(role: ListenerType) -> None:
    found = ApiMeter({"A": role, "B": role}).facts()
    assert [one.api for one in found] == [api(key).name for key in served(role)]
    assert {one.role for one in found} == {role.value}
    assert len(found) == len(TABLES[role])
    assert all(list(one.requests.values()) == [0] for one in found), "who watches sees the first one as an increase"


def test_requests_are_counted_by_version_on_the_role_that_they_asked(town: Town) -> None:
    _, broker = town.hosts
    before = rows(broker)["Metadata", "broker"].requests
    ask(
        town,
        broker,
        BROKER_LISTENER,
        frame(MetadataRequest(), 9),
        frame(MetadataRequest(), 9),
        frame(MetadataRequest()),
    )
    after = rows(broker)["Metadata", "broker"].requests
    assert after == {**before, "9": 2, "13": before["13"] + 1}
    assert rows(broker)["DescribeCluster", "controller"].requests == {"2": 0}


def test_a_version_that_nobody_knows_is_one_label_whatever_it_is(town: Town) -> None:
    controller = town.controller
    newer = frame(ApiVersionsRequest(client_software_name="c", client_software_version="1"))
    for version in (99, 100, 30_000):
        asked = newer[:2] + version.to_bytes(2, "big") + newer[4:]
        ask(town, controller, CONTROLLER_LISTENER, asked)
    assert rows(controller)["ApiVersions", "controller"].requests == {"4": 0, "other": 3}
    assert rows(controller)["ApiVersions", "controller"].errors == {"UNSUPPORTED_VERSION": 3}


def test_errors_are_counted_wherever_they_stand_in_an_answer(town: Town) -> None:
    controller, broker = town.hosts
    topics = tuple(MetadataRequestTopic(name=name) for name in ("nowhere", "neither", "a b"))
    asked = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    ask(town, broker, BROKER_LISTENER, frame(asked))
    assert rows(broker)["Metadata", "broker"].errors == {"UNKNOWN_TOPIC_OR_PARTITION": 2, "INVALID_TOPIC_EXCEPTION": 1}
    ask(town, controller, CONTROLLER_LISTENER, frame(TAKEN), frame(TAKEN))
    created = {"INVALID_TOPIC_EXCEPTION": 2, "TOPIC_ALREADY_EXISTS": 1}
    assert rows(controller)["CreateTopics", "controller"].errors == created


def test_what_is_in_an_envelope_is_counted_by_both_and_its_errors_where_it_is_decided(town: Town) -> None:
    controller, broker = town.hosts
    ask(town, broker, BROKER_LISTENER, frame(TAKEN), frame(TAKEN))
    assert rows(controller)["Envelope", "controller"].requests == {"0": 2}
    for host, role in ((controller, "controller"), (broker, "broker")):
        assert rows(host)["CreateTopics", role].requests == {"7": 2}
    created = {"INVALID_TOPIC_EXCEPTION": 2, "TOPIC_ALREADY_EXISTS": 1}
    assert rows(controller)["CreateTopics", "controller"].errors == created
    assert rows(broker)["CreateTopics", "broker"].errors == {}


def test_an_error_of_another_node_that_is_in_no_table_is_one_label() -> None:
    row = ApiRow(ApiKey.FETCH, "Fetch", served(ListenerType.BROKER)[ApiKey.FETCH])
    partitions = tuple(PartitionData(partition_index=n, error_code=code) for n, code in enumerate((0, 3000, 4000, 6)))
    row.answered(FetchResponse(error_code=70, responses=(FetchableTopicResponse(partitions=partitions),)))
    assert row.errors == {"FETCH_SESSION_ID_NOT_FOUND": 1, "other": 2, "NOT_LEADER_OR_FOLLOWER": 1}


def test_processor_time_belongs_to_the_api_that_used_it(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is a second later than the one before: so seconds are steps of work."""
    clock = iter(range(1_000_000))
    monkeypatch.setattr(time, "thread_time", lambda: float(next(clock)))
    broker = town.hosts[1]
    ask(town, broker, BROKER_LISTENER, frame(MetadataRequest()))
    assert {one.seconds for one in rows(broker).values()} == {0.0}, "nobody looks"
    observer = Observer(broker.node, broker.requests.meter)
    observer.node.watch()
    monkeypatch.setattr(broker, "node", observer.node)
    ask(town, broker, BROKER_LISTENER, frame(MetadataRequest()))
    used = {one.api: one.seconds for one in rows(broker).values() if one.seconds}
    assert used == {"Metadata": 3.0}, "it is read, answered and written; what else happens is nobody's"
