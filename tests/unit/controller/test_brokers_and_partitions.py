"""What becomes of partitions when brokers register, leave, are unregistered, or say where replicas live: sets of
replicas that brokers of a story beside Apache Kafka came to (`tests/support/apache_kafka/stories.py`).
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages import alter_partition_request as isr_q
from controller_runtime.protocol.messages import assign_replicas_to_dirs_request as assign_q
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from controller_runtime.protocol.messages.alter_partition_response import AlterPartitionResponse
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from support.nodes.controller_world import World, directory_of, uuid

pytestmark = pytest.mark.unit

MAIL = uuid("topic", 9)


def holding(isr: tuple[int, ...], leader: int, *, unclean: bool = False, least: int = 2, **others: Any) -> World:
    """Brokers 1, 2 and 3 are unfenced; a partition of `mail` is theirs, in this state."""
    world = World()
    for broker in (1, 2, 3):
        world.start_broker(broker, log_dirs=(directory_of(broker), directory_of(broker, 2)))
    replicas = others.pop("replicas", (1, 2, 3))
    partition = PartitionRecord(
        topic_id=MAIL, partition_id=0, replicas=replicas, isr=isr, leader=leader, leader_epoch=0, partition_epoch=0,
        directories=tuple(directory_of(broker) for broker in replicas), **others,
    )  # fmt: skip
    values = {"min.insync.replicas": str(least), "unclean.leader.election.enable": str(unclean).lower()}
    configs = [(ConfigRecord(resource_type=2, resource_name="mail", name=n, value=v), 0) for n, v in values.items()]
    world.append([(TopicRecord(name="mail", topic_id=MAIL), 0), *configs, (partition, 2)])
    return world


def mail(world: World) -> Partition:
    found = world.image.topics.partition(MAIL, 0)
    assert found is not None
    return found


def unregister(world: World, broker: int) -> int:
    return world.ask(UnregisterBrokerRequest(broker_id=broker), UnregisterBrokerResponse).error_code


# Brokers that are taken away.


def test_who_is_unregistered_leaves_the_isr_and_another_leads() -> None:
    """CLU-12: running or not."""
    world = holding((1, 2, 3), 1)
    assert unregister(world, 1) == 0
    assert (mail(world).isr, mail(world).leader, mail(world).elr) == ((2, 3), 2, ())
    assert 1 not in world.image.cluster.brokers
    assert unregister(world, 1) == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_who_is_unregistered_leaves_the_elr_unless_its_min_insync_replicas_keep_it() -> None:
    """CLU-12, ELR-06: a broker of the ELR that goes is forgotten with it where the ISR is large enough for the
    partition; else it stays eligible, as in Kafka: its disk may come back under the same id.
    """
    world = holding((2,), 2, least=1, eligible_leader_replicas=(1,))
    assert unregister(world, 1) == 0
    assert (mail(world).isr, mail(world).elr) == ((2,), ())
    world = holding((2,), 2, least=2, eligible_leader_replicas=(1,))
    assert unregister(world, 1) == 0
    assert (mail(world).isr, mail(world).elr) == ((2,), (1,))


def test_an_elr_may_name_a_replica_that_was_reassigned_and_its_broker_still_finds_the_partition() -> None:
    """CLU-12: a reassignment to fewer replicas leaves its ELR behind."""
    world = holding((2,), 2, least=3, replicas=(2,), eligible_leader_replicas=(1, 3))
    assert [index for index, _ in world.image.topics.by_id[MAIL].partitions_naming(3)] == [0]
    assert unregister(world, 3) == 0
    assert mail(world).elr == ()


# Brokers that come back.


@pytest.mark.parametrize(("clean", "elr"), [(True, (1,)), (False, ())])
def test_who_ended_cleanly_stays_eligible(clean: bool, elr: tuple[int, ...]) -> None:
    """ELR-04, CLU-05: who may have lost its unsynced tail does not lead what it could have lost."""
    world = holding((2,), 2, eligible_leader_replicas=(1,))
    epoch = world.epoch(1)
    world.heartbeat(1, want_fence=True)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down
    assert world.register(1, incarnation=2, previous_broker_epoch=epoch if clean else -1).error_code == 0
    assert mail(world).elr == elr


@pytest.mark.parametrize(("clean", "elr"), [(True, (1,)), (False, ())])
def test_who_crashed_leaves_the_isr_and_is_eligible_only_if_it_lost_nothing(clean: bool, elr: tuple[int, ...]) -> None:
    """ELR-04: the only one in sync; a broker that ended cleanly is eligible, one that did not is in no set."""
    world = holding((1,), 1)
    epoch = world.epoch(1)
    for _ in range(3):
        world.wait(4.0)
        world.heartbeat(2)
        world.heartbeat(3)
    assert world.register(1, incarnation=2, previous_broker_epoch=epoch if clean else epoch - 1).error_code == 0
    assert (mail(world).isr, mail(world).elr, mail(world).leader) == ((), elr, -1)


@pytest.mark.parametrize("unclean", [True, False])
def test_who_comes_back_lets_whatever_nobody_leads_be_led_where_anybody_may(unclean: bool) -> None:
    """REP-08, REP-10: Kafka looks at every partition without a leader then, be the broker its replica or not."""
    world = holding((), -1, unclean=unclean, replicas=(1, 2), last_known_elr=(9,))
    world.heartbeat(3, want_fence=True)
    assert not world.heartbeat(3).is_fenced
    assert (mail(world).leader, mail(world).isr) == ((1, (1,)) if unclean else (-1, ()))


def test_who_leads_while_it_leaves_does_not_end_because_it_does_not_repeat_its_wish() -> None:
    """CLU-08."""
    world = holding((1,), 1, replicas=(1,), least=1)
    world.heartbeat(1, want_shut_down=True)
    partition = PartitionRecord(
        topic_id=MAIL, partition_id=1, replicas=(1,), isr=(1,), leader=1, directories=(directory_of(1),)
    )
    world.append([(partition, 2)])
    for broker in (2, 3):
        world.heartbeat(broker)
    assert not world.heartbeat(1).should_shut_down


def test_a_process_that_registers_again_is_what_it_was() -> None:
    """CLU-02: its epoch, and that it leaves; a new process is fenced, under another epoch, and leaves nothing."""
    world = holding((1,), 1, replicas=(1,), least=1)
    partition = PartitionRecord(
        topic_id=MAIL, partition_id=1, replicas=(1,), isr=(1,), leader=1, directories=(directory_of(1),)
    )
    world.append([(partition, 2)])
    world.heartbeat(2, current_metadata_offset=0)
    world.heartbeat(1, want_shut_down=True)
    before = world.image.cluster.brokers[NodeId(1)]
    assert (before.fenced, before.in_controlled_shutdown) == (False, True)
    again = world.register(1, log_dirs=before.directories)
    assert (again.error_code, again.broker_epoch) == (0, before.epoch)
    assert world.image.cluster.brokers[NodeId(1)] == before
    world.wait(10.0)
    new = world.register(1, incarnation=2, log_dirs=before.directories)
    after = world.image.cluster.brokers[NodeId(1)]
    assert (new.broker_epoch, after.fenced, after.in_controlled_shutdown) == (after.epoch, True, False)
    assert after.epoch > before.epoch


def test_a_shutdown_is_waited_for_from_its_beginning_however_long_it_moves_leaders() -> None:
    """CLU-08: what it changes later need not have been replayed by the others."""
    world = holding((1, 2), 1)
    world.heartbeat(1, want_shut_down=True)
    begun = world.offset - 1
    late = PartitionRecord(
        topic_id=MAIL, partition_id=1, replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=0, partition_epoch=0,
        directories=(directory_of(1), directory_of(2)),
    )  # fmt: skip
    world.append([(late, 2)])
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    for broker in (2, 3):
        world.heartbeat(broker, current_metadata_offset=begun)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


# Directories.


def assign(world: World, *directories: Any) -> None:
    """Broker 1 says in turn that partition 0 of `mail` lives there."""
    world.decide(
        assign_q.AssignReplicasToDirsRequest(
            broker_id=1,
            broker_epoch=world.epoch(1),
            directories=tuple(
                assign_q.DirectoryData(
                    id=each,
                    topics=(
                        assign_q.TopicData(topic_id=MAIL, partitions=(assign_q.PartitionData(partition_index=0),)),
                    ),
                )
                for each in directories
            ),
        )
    )


def test_a_replica_that_is_put_into_lost_directories_twice_leaves_its_isr_once() -> None:
    """REP-16."""
    world = holding((1, 2, 3), 1)
    before = mail(world)
    assign(world, directory_of(9), directory_of(9, 2))
    after = mail(world)
    assert (after.isr, after.leader, after.directories[0]) == ((2, 3), 2, directory_of(9, 2))
    assert (after.leader_epoch - before.leader_epoch, after.partition_epoch - before.partition_epoch) == (1, 3)


def test_an_assignment_elects_nobody_uncleanly() -> None:
    """REP-16, REP-10: elections of topics that allow it follow brokers and time, not assignments."""
    world = holding((), -1, unclean=True, last_known_elr=(8, 9))
    assign(world, directory_of(1, 2))
    assert (mail(world).leader, mail(world).directories[0]) == (-1, directory_of(1, 2))


# What leaders propose, and people.


@pytest.mark.parametrize("state", [7, 2, -1, -128])
def test_a_recovery_state_that_there_is_not_is_refused_for_its_partition(state: int) -> None:
    """REP-07, REP-15."""
    world = holding((1, 2), 1)
    wrong, right = (
        isr_q.PartitionData(
            partition_index=0,
            new_isr_with_epochs=(isr_q.BrokerState(broker_id=1), isr_q.BrokerState(broker_id=3)),
            leader_recovery_state=each,
        )
        for each in (state, 0)
    )
    topic = isr_q.TopicData(topic_id=MAIL, partitions=(wrong, right))
    request = isr_q.AlterPartitionRequest(broker_id=1, broker_epoch=world.epoch(1), topics=(topic,))
    answer = world.ask(request, AlterPartitionResponse)
    assert [each.error_code for each in answer.topics[0].partitions] == [ErrorCode.INVALID_REQUEST, 0]
    assert mail(world).isr == (1, 3)


def test_a_replica_whose_broker_is_unregistered_can_be_reassigned_away() -> None:
    """REP-12, CLU-12: that is how a lost broker is replaced."""
    world = holding((1, 2, 3), 1)
    unregister(world, 3)
    world.start_broker(4)
    wanted = reassign_q.ReassignablePartition(partition_index=0, replicas=(1, 2, 4))
    topic = reassign_q.ReassignableTopic(name="mail", partitions=(wanted,))
    answer = world.ask(
        reassign_q.AlterPartitionReassignmentsRequest(topics=(topic,)), AlterPartitionReassignmentsResponse
    )
    assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)
    assert (mail(world).replicas, mail(world).adding_replicas, mail(world).removing_replicas) == (
        (1, 2, 4, 3),
        (4,),
        (3,),
    )
