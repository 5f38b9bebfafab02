"""QC-05: what waits for its decision longer than its client does, is told so, changes nothing and is counted."""

from __future__ import annotations

import pytest

from controller_runtime.controller.patience import patience_s
from controller_runtime.identifiers import Instant, NodeId
from controller_runtime.node.quorum import effects
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, TimePassed
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignableTopic,
)
from controller_runtime.protocol.messages.alter_partition_request import AlterPartitionRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.elect_leaders_request import ElectLeadersRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import World
from support.nodes.lone_controller import CLUSTER_ID, LoneController

pytestmark = pytest.mark.unit

BROKER = 101
MANY = 3000
"""So many partitions are created in pieces."""


class Clients:
    """Of a lone controller with one broker."""

    def __init__(self) -> None:
        self.controller = LoneController()
        self.controller.run(1)
        self._number = 0
        registered = self.wait_for(
            self.send(World().registration(BROKER, cluster_id=CLUSTER_ID), ApiKey.BROKER_REGISTRATION, 4)
        )
        assert isinstance(registered, BrokerRegistrationResponse)
        self.epoch = registered.broker_epoch
        self.wait_for(self.beat())

    def send(self, body: Message, key: ApiKey, version: int) -> RequestId:
        self._number += 1
        connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
        self.controller.feed(RequestReceived(RequestId(self._number), connection, key, version, "client", body))
        return RequestId(self._number)

    def beat(self, *, want_fence: bool = False) -> RequestId:
        said = BrokerHeartbeatRequest(
            broker_id=BROKER, broker_epoch=self.epoch, current_metadata_offset=1 << 40, want_fence=want_fence
        )
        return self.send(said, ApiKey.BROKER_HEARTBEAT, 1)

    def create(self, name: str, partitions: int = 1, timeout_ms: int = 60_000) -> RequestId:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        return self.send(CreateTopicsRequest(topics=(topic,), timeout_ms=timeout_ms), ApiKey.CREATE_TOPICS, 7)

    def wait_for(self, number: RequestId, pause_s: float = 0.0) -> Message:
        """`pause_s`: how long each piece takes."""
        for _ in range(1000):
            seen = self.controller.seen
            found = [e.body for e in seen if isinstance(e, effects.Respond) and e.request_id == number]
            if found:
                return found[0]
            due = self.controller.node.next_deadline() or self.controller.now
            self.controller.now = Instant(max(self.controller.now, due) + pause_s)
            self.controller.feed(TimePassed())
        raise AssertionError("no answer")

    def code(self, number: RequestId) -> int:
        answer = self.wait_for(number)
        assert isinstance(answer, CreateTopicsResponse)
        return answer.topics[0].error_code


@pytest.mark.parametrize(("timeout_ms", "code"), [(1_000, ErrorCode.REQUEST_TIMED_OUT), (600_000, ErrorCode.NONE)])
def test_what_waits_behind_a_long_decision_longer_than_its_client_is_not_done(timeout_ms: int, code: ErrorCode) -> None:
    clients = Clients()
    long = clients.create("big", MANY)
    late = clients.create("small", timeout_ms=timeout_ms)
    clients.wait_for(long, pause_s=0.5)
    counted = clients.controller.controller.counters.refused_operations
    assert clients.code(late) == code
    assert clients.code(long) == ErrorCode.NONE, "what is being decided takes the time that it takes"
    topics = clients.controller.node.image.topics
    assert (topics.named("small") is not None) == (code == ErrorCode.NONE)
    assert counted == (code == ErrorCode.REQUEST_TIMED_OUT)


def test_a_heartbeat_that_waits_too_long_changes_nothing_but_is_a_sign_of_life() -> None:
    """CLU-10: half the interval between two heartbeats is its time, a second."""
    clients = Clients()
    long = clients.create("big", MANY)
    beat = clients.beat(want_fence=True)
    clients.wait_for(long, pause_s=0.5)
    answer = clients.wait_for(beat)
    assert isinstance(answer, BrokerHeartbeatResponse)
    assert (answer.error_code, answer.is_fenced) == (ErrorCode.REQUEST_TIMED_OUT, True)
    assert not clients.controller.node.image.cluster.brokers[NodeId(BROKER)].fenced
    assert clients.controller.controller.counters.refused_heartbeats == 1
    (silence,) = clients.controller.controller.silences(clients.controller.now).values()
    assert silence < 1.0


def test_a_client_says_how_long_a_broker_half_an_interval_and_who_says_nothing_waits() -> None:
    asked: dict[Message, float | None] = {
        CreateTopicsRequest(timeout_ms=1500): 1.5,
        DeleteTopicsRequest(timeout_ms=20): 0.02,
        CreatePartitionsRequest(timeout_ms=0): 0.0,
        ElectLeadersRequest(timeout_ms=-1): -0.001,
        AlterPartitionReassignmentsRequest(): 60.0,
        BrokerHeartbeatRequest(): 1.0,
        AlterPartitionRequest(): None,
        IncrementalAlterConfigsRequest(): None,
        UpdateFeaturesRequest(timeout_ms=5): None,
    }
    assert {each: patience_s(each, 2.0) for each in asked} == asked


def test_how_long_was_waited_is_remembered_until_it_is_shown() -> None:
    """Kafka's EventQueueTimeMs. The long decision itself waited for nothing."""
    clients = Clients()
    long = clients.create("big", MANY)
    clients.create("small")
    clients.wait_for(long, pause_s=0.5)
    (waited,) = clients.controller.controller.counters.waits_s
    assert waited >= 0.5


NOW: tuple[tuple[Message, bool], ...] = (
    (ElectLeadersRequest(topic_partitions=None, timeout_ms=0), True),
    (AlterPartitionReassignmentsRequest(topics=(ReassignableTopic(name="no"),), timeout_ms=-1), True),
    (AlterPartitionReassignmentsRequest(timeout_ms=0), False),
    (CreatePartitionsRequest(topics=(CreatePartitionsTopic(name="no", count=2),), timeout_ms=0), True),
)


@pytest.mark.parametrize(("request_", "is_late"), NOW)
def test_a_request_without_any_time_is_late_unless_it_leaves_nothing_to_decide(
    request_: Message, is_late: bool
) -> None:
    """As by Apache Kafka (`tests/interop/test_differential_partitions.py`)."""
    late = refusal(request_, ErrorCode.REQUEST_TIMED_OUT)
    decision = World().decide(request_)
    assert (decision.response == late, decision.records) == (is_late, ())
