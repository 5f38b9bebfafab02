"""AlterPartition, ElectLeaders and reassignments rule by rule, in the order of Kafka's checks. The same answers are
compared with Apache Kafka's in `tests/interop/test_differential_partitions.py`, by random stories.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages import alter_partition_request as isr_q
from controller_runtime.protocol.messages import elect_leaders_request as elect_q
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from controller_runtime.protocol.messages.alter_partition_response import AlterPartitionResponse
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.elect_leaders_response import ElectLeadersResponse
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from support.nodes.controller_world import World, directory_of, uuid

pytestmark = pytest.mark.unit

MAIL = uuid("topic", 9)


def holding(isr: tuple[int, ...] = (1, 2), leader: int = 1, *, unclean: bool = False, **others: Any) -> World:
    """Brokers 1 to 5: 4 is fenced, 5 on its way out. Partition 0 of `mail` is in this state, in epochs 3 and 7."""
    world = World()
    for broker in range(1, 6):
        world.start_broker(broker)
    world.heartbeat(4, want_fence=True)
    leaving = BrokerRegistrationChangeRecord(broker_id=5, broker_epoch=world.epoch(5), in_controlled_shutdown=1)
    replicas = others.pop("replicas", (1, 2, 3, 4, 5))
    partition = PartitionRecord(
        topic_id=MAIL, partition_id=0, replicas=replicas, isr=isr, leader=leader, leader_epoch=3, partition_epoch=7,
        directories=tuple(map(directory_of, replicas)), **others,
    )  # fmt: skip
    name = "unclean.leader.election.enable"
    config = ConfigRecord(resource_type=2, resource_name="mail", name=name, value=str(unclean).lower())
    world.append([(leaving, 1), (TopicRecord(name="mail", topic_id=MAIL), 0), (config, 0), (partition, 2)])
    return world


def state(world: World) -> tuple[Any, ...]:
    """Replicas, ISR, leader, adding, removing."""
    found = world.image.topics.partition(MAIL, 0)
    assert found is not None
    return found.replicas, found.isr, found.leader, found.adding_replicas, found.removing_replicas


def propose(world: World, isr: tuple[int, ...], sender: int = 1, **changes: Any) -> int:
    epochs = {broker: world.epoch(broker) for broker in world.image.cluster.brokers} | changes.pop("epochs", {})
    said = {"leader_epoch": 3, "partition_epoch": 7, **changes}
    states = tuple(isr_q.BrokerState(broker_id=each, broker_epoch=epochs.get(each, -1)) for each in isr)
    proposal = isr_q.PartitionData(partition_index=0, new_isr_with_epochs=states, **said)
    topic = isr_q.TopicData(topic_id=MAIL, partitions=(proposal,))
    request = isr_q.AlterPartitionRequest(broker_id=sender, broker_epoch=world.epoch(sender), topics=(topic,))
    return world.ask(request, AlterPartitionResponse).topics[0].partitions[0].error_code


@pytest.mark.parametrize(
    ("code", "isr", "sender", "said"),
    [
        (41, (9,), 2, {"leader_epoch": 4, "partition_epoch": 6}),
        (41, (9,), 2, {"leader_epoch": 2, "partition_epoch": 8}),
        (74, (9,), 2, {"leader_epoch": 2, "partition_epoch": 6}),
        (42, (9,), 2, {"partition_epoch": 6}),
        (95, (9,), 1, {"partition_epoch": 6}),
        (42, (1, 9), 1, {}),
        (42, (1, 1), 1, {}),
        (42, (2, 4), 1, {}),
        (42, (1, 4), 1, {"leader_recovery_state": 1}),
        (42, (1,), 1, {"leader_recovery_state": 1}),
        (107, (1, 4), 1, {}),
        (107, (1, 5), 1, {}),
        (107, (1, 3), 1, {"epochs": {3: 1}}),
        (0, (1, 3), 1, {"epochs": {3: -1}}),
        (0, (1, 2, 3), 1, {}),
    ],
)
def test_an_isr_is_judged_in_kafkas_order(code: int, isr: tuple[int, ...], sender: int, said: dict[str, Any]) -> None:
    """REP-07: later epochs, earlier ones, the sender, the set, its recovery, its brokers."""
    world = holding()
    assert propose(world, isr, sender, **said) == code
    assert state(world)[1] == (isr if code == 0 else (1, 2))


def test_a_leader_that_completes_a_reassignment_away_from_itself_learns_that_another_leads() -> None:
    """REP-07, REP-12, REP-13: the record is written all the same."""
    world = holding(replicas=(2, 3, 1), removing_replicas=(1,), adding_replicas=(3,))
    assert propose(world, (1, 2, 3)) == 108
    assert state(world) == ((2, 3), (2, 3), 2, (), ())


def elect(world: World, kind: int) -> int:
    named = (elect_q.TopicPartitions(topic="mail", partitions=(0,)),)
    request = elect_q.ElectLeadersRequest(election_type=kind, topic_partitions=named)
    found = world.ask(request, ElectLeadersResponse).replica_election_results
    return found[0].partition_result[0].error_code


@pytest.mark.parametrize(
    ("kind", "isr", "leader", "code", "after"),
    [
        (0, (1, 2), 1, 84, 1),
        (0, (1, 2), 2, 0, 1),
        (0, (2, 3), 2, 80, 2),
        (1, (2, 3), 2, 84, 2),
        (1, (), -1, 0, 1),
    ],
)
def test_an_election_is_needed_and_possible_or_refused(
    kind: int, isr: tuple[int, ...], leader: int, code: int, after: int
) -> None:
    """REP-09, REP-10, REP-11: 0 the preferred leader, 1 anybody, where nobody leads."""
    world = holding(isr, leader)
    assert elect(world, kind) == code
    assert state(world)[2] == after


def test_where_nobody_lives_there_is_nobody_to_elect() -> None:
    """REP-11."""
    world = holding((), -1, replicas=(4, 5))
    assert elect(world, 1) == 83


def reassign(world: World, replicas: tuple[int, ...] | None, *, may_change_factor: bool = True) -> int:
    wanted = reassign_q.ReassignablePartition(partition_index=0, replicas=replicas)
    topic = reassign_q.ReassignableTopic(name="mail", partitions=(wanted,))
    request = reassign_q.AlterPartitionReassignmentsRequest(
        topics=(topic,), allow_replication_factor_change=may_change_factor
    )
    found = world.ask(request, AlterPartitionReassignmentsResponse)
    return found.error_code or found.responses[0].partitions[0].error_code


@pytest.mark.parametrize(("target", "code"), [((3,), 0), ((1, 3), 38), ((1,), 0)])
def test_the_guarded_factor_is_that_of_the_complete_reassignment(target: tuple[int, ...], code: int) -> None:
    """REP-12: 1 goes, 2 comes; then there is one replica."""
    world = holding((1,), 1, replicas=(2, 1), adding_replicas=(2,), removing_replicas=(1,))
    assert reassign(world, target, may_change_factor=False) == code


def test_another_target_supersedes_the_first() -> None:
    """REP-12: what was being added stays so where the new target adds nobody."""
    world = holding((1,), 1, replicas=(1, 2))
    assert reassign(world, (1, 2, 3)) == 0
    assert state(world) == ((1, 2, 3), (1,), 1, (3,), ())
    assert reassign(world, (1, 2, 3, 4)) == 0
    assert state(world) == ((1, 2, 3, 4), (1,), 1, (4,), ())
    assert reassign(world, (1, 2, 3, 4)) == 0
    assert state(world) == ((1, 2, 3, 4), (1,), 1, (4,), ())


@pytest.mark.parametrize(
    ("unclean", "isr", "leader", "code", "after"),
    [
        (False, (1, 3), 1, 0, ((1, 2), (1,), 1, (), ())),
        (False, (3,), 3, 39, ((1, 2, 3), (3,), 3, (3,), ())),
        (True, (3,), 3, 0, ((1, 2), (1,), 1, (), ())),
    ],
)
def test_a_reassignment_is_cancelled_unless_that_needs_an_unclean_election(
    unclean: bool, isr: tuple[int, ...], leader: int, code: int, after: tuple[Any, ...]
) -> None:
    """REP-12, REP-13: who is taken away leads no more."""
    world = holding(isr, leader, unclean=unclean, replicas=(1, 2, 3), adding_replicas=(3,))
    assert reassign(world, None) == code
    assert state(world) == after
    assert code or reassign(world, None) == 85
