"""A log directory whose disk fails, on a broker that has another one: its partitions are offline, the controller is
told at once, the rest goes on. Without another one, or with the metadata log in it, the node ends.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.broker.effects import DirectoryFailed
from controller_runtime.broker.lifecycle import State
from controller_runtime.identifiers import DirectoryId, Instant
from controller_runtime.parts.events import RequestId, TimePassed
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.clients.client_requests import produce
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.controller_world import World, directory_of

pytestmark = pytest.mark.unit

FIRST, SECOND = directory_of(BROKER, 1), directory_of(BROKER, 2)
OFFLINE_LEADER = -1


def started(**config: Any) -> BrokerWorld:
    """One partition in each of two directories."""
    world = BrokerWorld(directories=2, **config)
    world.start()
    for topic in ("a", "b"):
        assert world.controller.create(topic).error_code == 0
        world.settle()
    world.wait(2.0)
    assert [home(world, topic) for topic in ("a", "b")] == [FIRST, SECOND], "the cluster knows where they lie"
    return world


def home(world: BrokerWorld, topic: str) -> DirectoryId:
    partition = world.controller.image.topics.named(topic)
    assert partition is not None
    found = partition.partition(0)
    assert found is not None
    return found.directory(BROKER)


def leader(world: BrokerWorld, topic: str) -> int:
    found = world.controller.image.topics.named(topic)
    assert found is not None
    partition = found.partition(0)
    assert partition is not None
    return partition.leader


def lose(world: BrokerWorld, directory: DirectoryId) -> None:
    event = DirectoryFailed(directory, "cannot write to /data/a-0: Input/output error")
    world.happen(event)


def code(world: BrokerWorld, topic: str) -> int:
    answer = world.ask(produce(topic, b"v"), ProduceResponse, version=9)
    return answer.responses[0].partition_responses[0].error_code


def test_its_partitions_are_offline_the_others_are_served_and_the_controller_knows() -> None:
    """CLU-14."""
    world = started()
    lose(world, FIRST)
    assert (code(world, "a"), code(world, "b")) == (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE)
    world.wait(0.1)
    assert (leader(world, "a"), leader(world, "b")) == (OFFLINE_LEADER, BROKER)
    assert world.stopped is None
    assert code(world, "a") == ErrorCode.KAFKA_STORAGE_ERROR
    world.wait(60.0)
    assert (world.stopped, code(world, "b")) == (None, ErrorCode.NONE)


def test_a_produce_that_waited_for_the_disk_is_answered() -> None:
    world = started()
    asked = world.send(produce("a", b"v"), version=9)
    assert world.data
    world.data.clear()  # the disk took it and does not come back
    lose(world, FIRST)
    world.settle()
    answer = answered(world, asked)
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def answered(world: BrokerWorld, asked: RequestId) -> ProduceResponse:
    found = world.answers[asked]
    assert isinstance(found, ProduceResponse)
    return found


@pytest.mark.parametrize("metadata", [FIRST, SECOND])
def test_the_metadata_logs_directory_takes_the_node_with_it(metadata: DirectoryId) -> None:
    """DIR-10."""
    world = started(metadata_directory=metadata)
    lose(world, SECOND)
    assert (world.stopped is not None) == (metadata == SECOND)


def test_the_last_directory_takes_the_node_with_it() -> None:
    """DIR-10."""
    world = started()
    lose(world, FIRST)
    assert world.stopped is None
    lose(world, SECOND)
    assert world.stopped is not None
    assert world.stopped.fault
    assert "Input/output error" in world.stopped.reason


def test_a_node_that_cannot_tell_the_controller_ends() -> None:
    """Kafka's `log.dir.failure.timeout.ms`: nobody would lead what lies there."""
    world = started()
    world.reachable = False
    lose(world, FIRST)
    world.wait(29.0)
    assert world.stopped is None
    world.wait(2.0)
    assert world.stopped is not None
    assert str(FIRST) in world.stopped.reason


def test_what_fails_while_a_heartbeat_is_on_its_way_is_in_the_next_one() -> None:
    world = started()
    assert world.service.lifecycle.state is State.RUNNING
    while not world.calls:
        world.now = Instant(world.now + 0.5)
        world.happen(TimePassed())
    lose(world, FIRST)
    world.wait(0.1)
    assert leader(world, "a") == OFFLINE_LEADER


# Clusters that did not know directories.


def test_a_broker_registers_its_directories_once_the_cluster_can_know_them() -> None:
    """CLU-14, CLU-02: metadata.version 3.7-IV2; the same process, so the same epoch, and it goes on serving."""
    world = BrokerWorld(directories=2, controller=World(level=16))
    world.start()
    before = world.controller.image.cluster.brokers[BROKER]
    assert before.directories == ()
    world.controller.append([(FeatureLevelRecord(name="metadata.version", feature_level=17), 0)])
    world.wait(3.0)
    after = world.controller.image.cluster.brokers[BROKER]
    assert (after.directories, after.epoch, after.fenced) == ((FIRST, SECOND), before.epoch, False)
    world.wait(10.0)
    registrations = [record for record, _ in world.controller.log if isinstance(record, RegisterBrokerRecord)]
    assert len(registrations) == 2, "the first, and one with directories"
    assert world.service.is_serving


def test_a_repeated_registration_that_is_refused_costs_no_running_broker_its_life() -> None:
    """CLU-14: it asks again, and its heartbeats go on."""
    world = BrokerWorld(directories=2, controller=World(level=16))
    world.start()
    world.controller.start_broker(7, log_dirs=(SECOND,))
    world.controller.append([(FeatureLevelRecord(name="metadata.version", feature_level=17), 0)])
    world.controller.start_broker(7, log_dirs=(SECOND,))
    for _ in range(2):  # the controller's clock moves in between
        world.wait(3.0)
    assert world.controller.image.cluster.brokers[BROKER].directories == ()
    assert world.controller.service.silences(world.now)[BROKER] <= 3.0
    assert (world.service.is_serving, world.stopped) == (True, None)
    world.controller.decide(UnregisterBrokerRequest(broker_id=7))
    world.wait(3.0)
    assert world.controller.image.cluster.brokers[BROKER].directories == (FIRST, SECOND)
