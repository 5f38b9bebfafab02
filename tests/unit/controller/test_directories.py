"""REP-16: replicas that are put into directories, one answer for each."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.cluster import LOST
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from controller_runtime.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from support.nodes.controller_world import World, directory_of, uuid

pytestmark = pytest.mark.unit

STOCK, MAIL = uuid("topic", 1), uuid("topic", 2)


def two_brokers(level: int = 30) -> World:
    """Broker 1 has two directories; `stock` has a partition on each broker, `mail` one on broker 1."""
    world = World(level=level)
    directories = (directory_of(1), directory_of(1, 2)) if level >= 17 else ()
    world.start_broker(1, log_dirs=directories)
    world.start_broker(2)
    for name, brokers in (("stock", (1, 2)), ("mail", (1,))):
        there = tuple(CreatableReplicaAssignment(partition_index=i, broker_ids=(b,)) for i, b in enumerate(brokers))
        assert world.create(name, -1, -1, assignments=there).error_code == 0
    return world


def assignment(world: World, *asked: tuple[Uuid, Uuid, int], epoch: int | None = None) -> AssignReplicasToDirsRequest:
    """Of broker 1: (directory, topic, partition)."""
    directories = tuple(
        DirectoryData(id=d, topics=(TopicData(topic_id=t, partitions=(PartitionData(partition_index=p),)),))
        for d, t, p in asked
    )
    return AssignReplicasToDirsRequest(
        broker_id=1, broker_epoch=world.epoch(1) if epoch is None else epoch, directories=directories
    )


def stored(world: World, topic: Uuid, index: int) -> Partition:
    found = world.image.topics.partition(topic, index)
    assert found is not None
    return found


def test_each_replica_is_assigned_or_refused_for_itself() -> None:
    world = two_brokers()
    second = directory_of(1, 2)
    request = assignment(
        world, (second, STOCK, 0), (second, uuid("nope", 1), 0), (second, STOCK, 7), (second, STOCK, 1)
    )
    decision = world.decide(request)
    assert not decision.atomic
    assert isinstance(decision.response, AssignReplicasToDirsResponse)
    answered = [
        (d.id, t.topic_id, p.partition_index, p.error_code)
        for d in decision.response.directories
        for t in d.topics
        for p in t.partitions
    ]
    assert answered == [
        (second, STOCK, 0, 0),
        (second, uuid("nope", 1), 0, 100),
        (second, STOCK, 7, 3),
        (second, STOCK, 1, 6),
    ]
    assert stored(world, STOCK, 0).directories == (second,)
    assert stored(world, STOCK, 0).leader == 1
    assert stored(world, STOCK, 1).directories == (directory_of(2),)


@pytest.mark.parametrize("directory", [directory_of(1, 3), LOST])
def test_a_replica_in_a_directory_that_is_not_there_leaves_the_isr(directory: Uuid) -> None:
    world = two_brokers()
    world.decide(assignment(world, (directory, STOCK, 0)))
    found = stored(world, STOCK, 0)
    assert (found.directories, found.leader, found.isr, found.elr) == ((directory,), -1, (), (1,))
    assert stored(world, MAIL, 0).leader == 1


@pytest.mark.parametrize(("level", "epoch", "code"), [(17, None, 0), (16, None, 35), (17, 1, 77)])
def test_directories_are_assigned_from_3_7_iv2_on_by_the_present_process(
    level: int, epoch: int | None, code: int
) -> None:
    world = two_brokers(level)
    request = assignment(world, (directory_of(1, 2), STOCK, 0), epoch=epoch)
    assert world.ask(request, AssignReplicasToDirsResponse).error_code == code
