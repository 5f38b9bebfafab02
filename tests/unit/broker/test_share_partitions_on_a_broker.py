"""Share partitions on a broker: what waits, what a closed connection leaves, who leads no more, where it begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.broker.share_facts import ShareFacts
from controller_runtime.identifiers import Uuid
from controller_runtime.parts import pieces
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import initialize_share_group_state_request as initializes
from controller_runtime.protocol.messages import share_acknowledge_request as acknowledges
from controller_runtime.protocol.messages import share_fetch_request as fetches
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.initialize_share_group_state_response import (
    InitializeShareGroupStateResponse,
)
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.share_acknowledge_response import ShareAcknowledgeResponse
from controller_runtime.protocol.messages.share_fetch_response import ShareFetchResponse
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.nodes.broker_world import BrokerWorld

pytestmark = pytest.mark.unit

SETTINGS = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
GROUP, TOPIC = "g", "work"


def topic_id(world: BrokerWorld) -> Uuid:
    topic = world.controller.image.topics.named(TOPIC)
    assert topic is not None
    return topic.id


def serving(*places: int, start: int = 0, configs: tuple[tuple[str, str], ...] = ()) -> BrokerWorld:
    """With ten records in each of two partitions, and states of `places`."""
    world = BrokerWorld(node_configs=SETTINGS)
    world.start()
    topics = (CreatableTopic(name=TOPIC, num_partitions=2, replication_factor=1),)
    world.controller.decide(CreateTopicsRequest(topics=topics))
    for name, value in configs:
        record = ConfigRecord(resource_type=32, resource_name=GROUP, name=name, value=value)
        world.controller.append([(record, 0)])
    world.settle()
    records = [Record(offset=n, timestamp=world.wall, key=None, value=b"v") for n in range(10)]
    data = encode_batch(records, base_offset=0, partition_leader_epoch=-1)
    parts = tuple(PartitionProduceData(index=index, records=data) for index in range(2))
    world.send(
        ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(TopicProduceData(name=TOPIC, partition_data=parts),)), 9
    )
    world.settle()
    world.send(fetch(world, "nobody", 0, 0))  # Its state is looked for, so there is a topic of states.
    world.wait(1.0)
    for index in places:
        part = initializes.PartitionData(partition=index, state_epoch=1, start_offset=start)
        state = initializes.InitializeStateData(topic_id=topic_id(world), partitions=(part,))
        asked = initializes.InitializeShareGroupStateRequest(group_id=GROUP, topics=(state,))
        answer = world.ask(asked, InitializeShareGroupStateResponse)
        assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
    return world


def fetch(world: BrokerWorld, member: str, epoch: int, *places: int, wait_ms: int = 500) -> fetches.ShareFetchRequest:
    parts = tuple(fetches.FetchPartition(partition_index=index) for index in places)
    return fetches.ShareFetchRequest(
        group_id=GROUP,
        member_id=member,
        share_session_epoch=epoch,
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_records=100,
        batch_size=100,
        topics=(fetches.FetchTopic(topic_id=topic_id(world), partitions=parts),) if places else (),
    )


def acknowledged(
    world: BrokerWorld, epoch: int, *said: tuple[int, int, int, tuple[int, ...]], member: str = "m"
) -> list[tuple[int, int]]:
    """Of each partition the first offset, the last, and the words: the code of each."""
    parts = tuple(
        acknowledges.AcknowledgePartition(
            partition_index=place,
            acknowledgement_batches=(
                acknowledges.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=words),
            ),
        )
        for place, first, last, words in said
    )
    topic = acknowledges.AcknowledgeTopic(topic_id=topic_id(world), partitions=parts)
    request = acknowledges.ShareAcknowledgeRequest(
        group_id=GROUP, member_id=member, share_session_epoch=epoch, topics=(topic,)
    )
    answer = world.ask(request, ShareAcknowledgeResponse)
    assert answer.error_code == ErrorCode.NONE
    return sorted((one.partition_index, one.error_code) for each in answer.responses for one in each.partitions)


def sessions(world: BrokerWorld) -> tuple[int, int, int]:
    """And their partitions, and how many ended with their connection."""
    facts = world.service.share_facts
    return facts.sessions, facts.partitions, facts.evictions


def told(world: BrokerWorld, request: int) -> list[tuple[int, int, list[tuple[int, int, int]]]]:
    """By partition: the code, and what was acquired."""
    answer = world.answers[request]  # type: ignore[index]
    assert isinstance(answer, ShareFetchResponse)
    assert answer.error_code == ErrorCode.NONE
    return sorted(
        (
            one.partition_index,
            one.error_code,
            [(each.first_offset, each.last_offset, each.delivery_count) for each in one.acquired_records],
        )
        for topic in answer.responses
        for one in topic.partitions
    )


def test_one_partition_without_a_state_and_one_that_begins_at_a_time_are_each_answered_once() -> None:
    world = serving(0, start=-1, configs=(("share.auto.offset.reset", "by_duration:PT1H"),))
    request = world.send(fetch(world, "m", 0, 0, 1))
    world.settle()
    assert told(world, request) == [(1, ErrorCode.UNKNOWN_SERVER_ERROR, [])]
    again = world.send(fetch(world, "m", 1))
    world.settle()
    assert told(world, again)[0] == (0, ErrorCode.NONE, [(0, 9, 1)])


def test_who_waits_gets_what_a_closed_connection_leaves() -> None:
    world = serving(0)
    first = world.send(fetch(world, "first", 0, 0), connection=2)
    world.settle()
    assert told(world, first) == [(0, ErrorCode.NONE, [(0, 9, 1)])]
    second = world.send(fetch(world, "second", 0, 0, wait_ms=20_000), connection=3)
    world.settle()
    assert second not in world.answers
    assert sessions(world) == (3, 3, 0)
    world.hang_up(2)
    world.settle()
    assert sessions(world) == (2, 2, 1)
    assert told(world, second) == [(0, ErrorCode.NONE, [(0, 9, 2)])]


def test_a_lock_ends_by_itself() -> None:
    world = serving(0)
    world.send(fetch(world, "first", 0, 0), connection=2)
    world.settle()
    second = world.send(fetch(world, "second", 0, 0, wait_ms=60_000), connection=3)
    world.wait(29.0)
    assert second not in world.answers
    world.wait(2.0)
    assert told(world, second) == [(0, ErrorCode.NONE, [(0, 9, 2)])]


def test_who_waits_for_a_partition_that_is_led_elsewhere_is_told() -> None:
    world = serving(0)
    world.send(fetch(world, "first", 0, 0), connection=2)
    world.settle()
    second = world.send(fetch(world, "second", 0, 0, wait_ms=20_000), connection=3)
    world.settle()
    change = PartitionChangeRecord(topic_id=topic_id(world), partition_id=0, leader=-1)
    world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()
    world.settle()
    assert told(world, second) == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, [])]


def test_requests_are_counted_by_topics_and_what_is_said_by_records() -> None:
    """As Kafka's BrokerTopicMetrics and ShareGroupMetrics: two partitions of a topic are one; a gap is nothing; what is
    refused is no record; who fetches nothing has not fetched.
    """
    world = serving(0, 1)
    assert world.service.share_facts == ShareFacts(
        sessions=1, partitions=1, fetches=1, failed_fetches=1, records=dict.fromkeys((1, 2, 3, 4), 0), loads=1,
        last_loads_s=world.service.share_facts.last_loads_s,
    )  # fmt: skip
    world.send(fetch(world, "m", 0, 0, 1))
    world.settle()
    said = ((0, 0, 5, (1,)), (1, 0, 4, (0, 2, 3, 3, 1)))
    assert acknowledged(world, 1, *said) == [(0, ErrorCode.NONE), (1, ErrorCode.NONE)]
    assert acknowledged(world, 2, (1, 2, 2, (1,))) == [(1, ErrorCode.INVALID_RECORD_STATE)]
    facts = world.service.share_facts
    assert (facts.fetches, facts.failed_fetches) == (2, 1)
    assert (facts.acknowledgements, facts.failed_acknowledgements) == (2, 1)
    assert facts.records == {1: 7, 2: 1, 3: 2, 4: 0}
    assert (facts.loads, len(facts.last_loads_s)) == (3, 3)
    world.send(fetch(world, "m", -1))
    world.settle()
    assert sessions(world) == (1, 1, 0), "who says farewell is not put out"
    assert world.service.share_facts.fetches == 2


def test_who_acknowledges_while_fetching_is_counted_as_if_it_had_only_acknowledged() -> None:
    world = serving(0)
    world.send(fetch(world, "m", 0, 0))
    world.settle()
    batch = fetches.AcknowledgementBatch(first_offset=0, last_offset=3, acknowledge_types=(2,))
    part = fetches.FetchPartition(partition_index=0, acknowledgement_batches=(batch,))
    topic = fetches.FetchTopic(topic_id=topic_id(world), partitions=(part,))
    world.send(replace(fetch(world, "m", 1), topics=(topic,)))
    world.settle()
    facts = world.service.share_facts
    assert (facts.acknowledgements, facts.failed_acknowledgements, facts.records[2]) == (1, 0, 4)
    assert facts.fetches == 3


def test_nothing_is_acquired_for_whose_connection_ends_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its answer is begun and after every number of pieces: what it had, and what it was about to get, goes to
    others at once.
    """
    moments = set()
    for steps in range(-1, 12):
        world = serving(0, 1)
        with monkeypatch.context() as patch:
            patch.setattr(pieces, "PIECE_UNITS", 1)
            first = world.send(fetch(world, "first", 0, 0, 1), connection=2)
            while not world.data:
                world.see_metadata()
            patch.setattr(pieces, "PIECE_UNITS", min(1, steps + 1))
            world.see_metadata()
            world.perform_data()
            for _ in range(steps):
                world.see_metadata()
            world.hang_up(2)
            patch.setattr(pieces, "PIECE_UNITS", 1)
            world.settle()
            second = world.send(fetch(world, "second", 0, 0, 1), connection=3)
            world.settle()
        counts = [count for _, _, acquired in told(world, second) for *_, count in acquired]
        moments.add((first in world.answers, *counts))
    assert moments == {(False, 1, 1), (False, 2, 1), (True, 2, 2)}, "before the partitions, between, and after them"
