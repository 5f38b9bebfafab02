"""A fault of ours while a coordinator reads a log costs that partition, which says so, and no other."""

from __future__ import annotations

import pytest

from controller_runtime.coordinator.transactions.partition import TransactionPartition
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from support.nodes.broker_world import BROKER, BrokerWorld

pytestmark = pytest.mark.unit

TOPIC = "__transaction_state"
SETTINGS = {"transaction.state.log.replication.factor": "1", "transaction.state.log.num.partitions": "2"}
IDS = ("b", "a")
"""Of partition 0 and 1."""


def serving() -> BrokerWorld:
    world = BrokerWorld(node_configs=SETTINGS)
    world.start()
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=IDS)
    world.ask(find, FindCoordinatorResponse)
    world.settle()
    world.wait(1.0)
    assert {each.node_id for each in world.ask(find, FindCoordinatorResponse).coordinators} == {BROKER}
    begin(world, "a")  # asks for producer ids
    world.settle()
    return world


def begin(world: BrokerWorld, name: str) -> int:
    asked = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    return world.ask(asked, InitProducerIdResponse).error_code


def led_by(world: BrokerWorld, leader: int) -> None:
    topic = world.controller.image.topics.named(TOPIC)
    assert topic is not None
    for index in range(topic.partition_count):
        change = PartitionChangeRecord(topic_id=topic.id, partition_id=index, leader=leader)
        world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()
    world.settle()


def test_one_partition_of_transactions_is_given_up_and_the_other_served(monkeypatch: pytest.MonkeyPatch) -> None:
    world = serving()
    for name in IDS:
        assert begin(world, name) == ErrorCode.NONE
    led_by(world, -1)
    world.may_fail = True
    replayed = TransactionPartition.replay

    def fails(self: TransactionPartition, found: object) -> None:
        if self.index == 0:
            raise ValueError("a fault of ours")
        replayed(self, found)  # type: ignore[arg-type]

    monkeypatch.setattr(TransactionPartition, "replay", fails)
    led_by(world, BROKER)
    assert {name: begin(world, name) for name in IDS} == {"b": ErrorCode.NOT_COORDINATOR, "a": ErrorCode.NONE}
    assert world.service.faults.counts == {("EndTxn", "replayed"): 1}
