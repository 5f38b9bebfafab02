"""Requests about controllers and producer ids at their edges, and what the service is never asked."""

from __future__ import annotations

import pytest

from controller_runtime.controller.decision import RequestContext
from controller_runtime.identifiers import Offset, WallClock
from controller_runtime.protocol.error_responses import not_controller_message
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import DescribeClusterResponse
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.vote_request import VoteRequest
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit


# Controllers.


@pytest.mark.parametrize(("version", "code"), [(0, 42), (1, 114), (2, 114)])
def test_brokers_asked_of_a_controller_are_a_mismatch_to_who_knows_the_code(version: int, code: int) -> None:
    """API-05, as by Apache Kafka."""
    answer = World().ask(DescribeClusterRequest(endpoint_type=1), DescribeClusterResponse, version)
    assert (answer.error_code, answer.error_message) == (
        code,
        "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
    )


@pytest.mark.parametrize(("asked", "told"), [(True, 8096), (False, -(2**31))])
def test_authorized_operations_are_told_when_they_are_asked_for(asked: bool, told: int) -> None:
    """API-05, as by Apache Kafka."""
    request = DescribeClusterRequest(endpoint_type=2, include_cluster_authorized_operations=asked)
    assert World().ask(request, DescribeClusterResponse).cluster_authorized_operations == told


@pytest.mark.parametrize(
    ("leader", "words"),
    [
        (-1, "No controller appears to be active."),
        (0, "The active controller appears to be node 0."),
        (1, "The active controller appears to be node 1."),
    ],
)
def test_who_leads_is_told_in_kafka_s_words(leader: int, words: str) -> None:
    assert not_controller_message(leader) == words


# Producer ids.


@pytest.mark.parametrize(("used_up_to", "code"), [(2**63 - 1 - 1000, 0), (2**63 - 1000, -1)])
def test_producer_ids_end_with_the_numbers(used_up_to: int, code: int) -> None:
    """CLU-15."""
    world = World()
    world.start_broker(1)
    world.append([(ProducerIdsRecord(broker_id=1, broker_epoch=world.epoch(1), next_producer_id=used_up_to), 0)])
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=world.epoch(1))
    answer = world.ask(request, AllocateProducerIdsResponse)
    assert (answer.error_code, answer.producer_id_start) == (code, used_up_to if code == 0 else 0)


def test_producer_ids_are_for_the_present_process_of_a_broker() -> None:
    """CLU-15."""
    world = World()
    world.start_broker(1)
    for broker, epoch, code in ((1, world.epoch(1), 0), (1, world.epoch(1) - 1, 77), (2, 1, 77)):
        request = AllocateProducerIdsRequest(broker_id=broker, broker_epoch=epoch)
        assert world.ask(request, AllocateProducerIdsResponse).error_code == code


# The service.


def test_only_heartbeats_are_signs_of_life_and_only_to_who_leads() -> None:
    """CLU-10."""
    world = World()
    world.start_broker(1)
    beat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=world.epoch(1))
    world.service.hear(world.image, CreateTopicsRequest(), world.now)
    world.service.deactivate()
    world.service.hear(world.image, beat, world.now)
    assert world.service.silences(world.now) == {}


def test_a_request_that_is_not_served_is_a_fault_of_the_caller() -> None:
    world = World()
    context = RequestContext(0, Offset(world.offset), WallClock(0))
    with pytest.raises(AssertionError, match="VoteRequest is not served"):
        world.service.handle(world.image, VoteRequest(), context, world.now)
