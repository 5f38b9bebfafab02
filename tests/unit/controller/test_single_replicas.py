"""REP-01, REP-06: brokers that say they cannot replicate are given partitions of one replica, and no others."""

from __future__ import annotations

import pytest

from controller_runtime.metadata.features import SINGLE_REPLICA
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from controller_runtime.protocol.messages.broker_registration_request import Feature
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from support.nodes.controller_world import ALL_FEATURES, World

pytestmark = pytest.mark.unit

SINGLE = (*ALL_FEATURES, Feature(name=SINGLE_REPLICA, min_supported_version=0, max_supported_version=1))


def world(*, single: tuple[int, ...], replicating: tuple[int, ...] = ()) -> World:
    made = World()
    for broker in single:
        made.start_broker(broker, features=SINGLE)
    for broker in replicating:
        made.start_broker(broker)
    return made


def placed(*replicas: int) -> tuple[CreatableReplicaAssignment, ...]:
    return (CreatableReplicaAssignment(partition_index=0, broker_ids=replicas),)


def test_two_replicas_are_refused_where_only_such_brokers_are() -> None:
    found = world(single=(1, 2)).create("stock", 1, 2)
    assert (found.error_code, found.error_message) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        (
            "Unable to replicate the partition 2 time(s): the brokers 1, 2 run a version that does not replicate yet. "
            "Choose others, or a replication factor of 1."
        ),
    )


def test_one_replica_may_lie_on_any_broker() -> None:
    made = world(single=(1,), replicating=(2,))
    assert made.create("stock", 8, 1).error_code == 0
    topic = made.image.topics.named("stock")
    assert topic is not None
    assert {partition.leader for _, partition in topic.partitions()} == {1, 2}


def test_several_replicas_lie_on_brokers_that_replicate() -> None:
    made = world(single=(1,), replicating=(2, 3))
    assert made.create("stock", 8, 2).error_code == 0
    topic = made.image.topics.named("stock")
    assert topic is not None
    assert all(set(partition.replicas) == {2, 3} for _, partition in topic.partitions())
    for factor, words in ((3, "the brokers 1 run"), (4, "only 3 broker(s) are registered")):
        refused = made.create("bigger", 1, factor)
        assert refused.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        assert words in str(refused.error_message)


def test_nor_are_they_placed_there_by_hand() -> None:
    made = world(single=(1,), replicating=(2, 3))
    assert made.create("a", -1, -1, assignments=placed(1, 2)).error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert made.create("b", -1, -1, assignments=placed(2, 3)).error_code == 0
    assert made.create("c", -1, -1, assignments=placed(1)).error_code == 0


@pytest.mark.parametrize("target", [(2,), (1, 2), (2, 3)])
def test_nothing_is_moved_off_such_a_broker_because_nobody_could_copy_it(target: tuple[int, ...]) -> None:
    made = world(single=(1,), replicating=(2, 3))
    assert made.create("stock", -1, -1, assignments=placed(1)).error_code == 0
    wanted = ReassignableTopic(name="stock", partitions=(ReassignablePartition(partition_index=0, replicas=target),))
    answer = made.ask(AlterPartitionReassignmentsRequest(topics=(wanted,)), AlterPartitionReassignmentsResponse)
    (result,) = answer.responses[0].partitions
    assert result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR
