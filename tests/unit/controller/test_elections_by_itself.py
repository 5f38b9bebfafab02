"""REP-09, REP-10: what the active controller does about leaders when nobody asks."""

from __future__ import annotations

import pytest

from controller_runtime.controller.elections import MAX_BY_ITSELF
from controller_runtime.protocol.messages import alter_partition_request as q
from controller_runtime.protocol.messages import incremental_alter_configs_request as configs_q
from controller_runtime.protocol.messages.alter_partition_response import AlterPartitionResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit


def world(**config: object) -> World:
    made = World(broker_session_timeout_s=100_000.0, **config)  # type: ignore[arg-type]
    for broker in (1, 2, 3):
        made.start_broker(broker)
    return made


def create(made: World, name: str, *replicas: int, partitions: int = 1) -> None:
    assignments = tuple(
        CreatableReplicaAssignment(partition_index=index, broker_ids=replicas) for index in range(partitions)
    )
    assert made.create(name, -1, -1, assignments=assignments).error_code == 0


def leaders(made: World, name: str) -> set[int]:
    topic = made.image.topics.named(name)
    assert topic is not None
    return {partition.leader for _, partition in topic.partitions()}


def restart(made: World, broker: int) -> None:
    """Fenced, and back: others lead meanwhile."""
    assert made.heartbeat(broker, want_fence=True).is_fenced
    assert not made.heartbeat(broker).is_fenced


def in_sync(made: World, name: str, *isr: int) -> None:
    """As its leader would report."""
    topic = made.image.topics.named(name)
    assert topic is not None
    proposals = tuple(
        q.PartitionData(
            partition_index=index,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=tuple(q.BrokerState(broker_id=it, broker_epoch=made.epoch(it)) for it in isr),
        )
        for index, partition in topic.partitions()
    )
    sender = next(iter(leaders(made, name)))
    request = q.AlterPartitionRequest(
        broker_id=sender,
        broker_epoch=made.epoch(sender),
        topics=(q.TopicData(topic_id=topic.id, partitions=proposals),),
    )
    answer = made.ask(request, AlterPartitionResponse)
    assert {it.error_code for it in answer.topics[0].partitions} == {0}


def allow_unclean(made: World, name: str) -> None:
    change = configs_q.AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value="true")
    resource = configs_q.AlterConfigsResource(resource_type=2, resource_name=name, configs=(change,))
    answer = made.ask(configs_q.IncrementalAlterConfigsRequest(resources=(resource,)), IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == 0


def test_a_broker_that_came_back_leads_again_after_the_interval() -> None:
    """QC-12: and it is looked for again after each."""
    made = world()
    create(made, "stock", 1, 2)
    restart(made, 1)
    assert leaders(made, "stock") == {2}
    in_sync(made, "stock", 2, 1)
    made.wait(299)
    assert leaders(made, "stock") == {2}
    made.wait(2)
    assert leaders(made, "stock") == {1}
    restart(made, 1)
    in_sync(made, "stock", 2, 1)
    made.wait(297)
    assert leaders(made, "stock") == {2}
    made.wait(3)
    assert leaders(made, "stock") == {1}


def test_it_does_not_lead_again_while_it_is_out_of_sync() -> None:
    made = world()
    create(made, "stock", 1, 2)
    restart(made, 1)
    assert made.wait(700) == []
    assert leaders(made, "stock") == {2}


def test_nothing_moves_by_itself_where_that_is_switched_off() -> None:
    made = world(rebalance_interval_s=None)
    create(made, "stock", 1, 2)
    restart(made, 1)
    in_sync(made, "stock", 2, 1)
    made.wait(1000)
    assert leaders(made, "stock") == {2}


def test_more_than_a_thousand_leaders_move_in_several_goes_one_right_after_the_other() -> None:
    """QC-12."""
    made = world()
    create(made, "stock", 1, 2, partitions=MAX_BY_ITSELF + 200)
    restart(made, 1)
    in_sync(made, "stock", 2, 1)
    made.wait(300.001)
    written = made.wait(0.5)
    assert leaders(made, "stock") == {1}
    assert len(written) == 200


def test_an_unclean_election_that_became_allowed_happens_by_itself() -> None:
    made = world()
    create(made, "kept", 1, 2)
    create(made, "given-up", 1, 2)
    for name in ("kept", "given-up"):
        in_sync(made, name, 1)
    assert made.heartbeat(1, want_fence=True).is_fenced
    assert leaders(made, "kept") == leaders(made, "given-up") == {-1}
    allow_unclean(made, "given-up")
    made.wait(301)
    assert leaders(made, "kept") == {-1}
    assert leaders(made, "given-up") == {2}
