"""KIP-951: who is sent away is told where to. `tests/interop/test_replicas_of_ours.py` asks Apache Kafka the same."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import fetch_response, produce_response
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.values import replace
from support.clients.client_requests import fetch, produce
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.scripted_follower import FOLLOWER

pytestmark = pytest.mark.unit

HOST = f"broker-{FOLLOWER}"


def serving(leader: int = FOLLOWER) -> tuple[BrokerWorld, Uuid]:
    """`stock`, which another broker leads, and has a replica of alone."""
    world = BrokerWorld()
    world.start()
    world.controller.start_broker(FOLLOWER, rack="r")
    placed = (CreatableReplicaAssignment(partition_index=0, broker_ids=(leader,)),)
    assert world.controller.create("stock", partitions=-1, factor=-1, assignments=placed).error_code == 0
    world.settle()
    return world, world.controller.image.topics.ids["stock"]


@pytest.mark.parametrize("version", [9, 10, 12, 13])
def test_who_produces_elsewhere_is_told_who_leads(version: int) -> None:
    """PRD-26."""
    world, topic_id = serving()
    request = produce("stock", b"one")
    topic = replace(request.topic_data[0], topic_id=topic_id if version >= 13 else ZERO_UUID)
    answer = world.ask(replace(request, topic_data=(topic,)), ProduceResponse, version)
    (found,) = answer.responses[0].partition_responses
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version < 10:
        assert (found.current_leader.leader_id, answer.node_endpoints) == (-1, ())
        return
    assert found.current_leader == produce_response.LeaderIdAndEpoch(leader_id=FOLLOWER, leader_epoch=0)
    assert answer.node_endpoints == (produce_response.NodeEndpoint(node_id=FOLLOWER, host=HOST, port=9092, rack="r"),)


@pytest.mark.parametrize("version", [15, 16, 18])
def test_who_fetches_elsewhere_is_told_who_leads(version: int) -> None:
    world, topic_id = serving()
    request = fetch("stock", 0)
    answer = world.ask(
        replace(request, topics=(replace(request.topics[0], topic_id=topic_id),)), FetchResponse, version
    )
    (found,) = answer.responses[0].partitions
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    if version < 16:
        assert (found.current_leader.leader_id, answer.node_endpoints) == (-1, ())
        return
    assert found.current_leader == fetch_response.LeaderIdAndEpoch(leader_id=FOLLOWER, leader_epoch=0)
    assert answer.node_endpoints == (fetch_response.NodeEndpoint(node_id=FOLLOWER, host=HOST, port=9092, rack="r"),)


def test_where_nobody_leads_nobody_is_named() -> None:
    world, _ = serving()
    world.controller.wait(20.0)  # without a heartbeat of either
    world.wait(5.0)
    answer = world.ask(produce("stock", b"one"), ProduceResponse, 12)
    found = answer.responses[0].partition_responses[0]
    wanted = produce_response.LeaderIdAndEpoch(leader_id=-1, leader_epoch=1)
    assert (found.error_code, found.current_leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, wanted)
    assert answer.node_endpoints == ()


def test_an_epoch_that_is_over_is_answered_with_the_one_that_is() -> None:
    """Of Fetch, where this broker was fenced for a while and leads again."""
    world, topic_id = serving(BROKER)
    world.controller.wait(20.0)
    world.controller.periodic()
    world.wait(5.0)
    registered = world.controller.image.topics.partition(topic_id, 0)
    assert registered is not None
    assert registered.leader_epoch > 0
    request = fetch("stock", 0)
    one = replace(request.topics[0].partitions[0], current_leader_epoch=0)
    topic = replace(request.topics[0], topic_id=topic_id, partitions=(one,))
    answer = world.ask(replace(request, topics=(topic,)), FetchResponse, 16)
    (found,) = answer.responses[0].partitions
    assert found.error_code == ErrorCode.FENCED_LEADER_EPOCH
    wanted = fetch_response.LeaderIdAndEpoch(leader_id=BROKER, leader_epoch=registered.leader_epoch)
    assert found.current_leader == wanted
    assert [each.node_id for each in answer.node_endpoints] == [BROKER]
