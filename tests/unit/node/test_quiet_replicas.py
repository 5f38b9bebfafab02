"""A follower that has everything asks again and again in its session: what holds while nothing happens, and what ends
it. By requests of a follower that keeps no log; the controller is the real one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.broker.leader import Leader
from controller_runtime.identifiers import PartitionId, Uuid
from controller_runtime.parts.events import ResponseReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_response as answered
from controller_runtime.protocol.messages import delete_records_request as deletes
from controller_runtime.protocol.messages import register_broker_record as registers
from controller_runtime.protocol.messages.alter_partition_request import AlterPartitionRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from support.clients.client_requests import produce
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.scripted_follower import FOLLOWER, ask_as_follower

pytestmark = pytest.mark.unit

ALONE: tuple[int, ...] = (BROKER,)
BOTH: tuple[int, ...] = (BROKER, FOLLOWER)
LAG = 30.0
EVERYTHING = (1 << 63) - 1
"""As the high watermark that a follower says it knows."""


class Story:
    """`stock`, one partition with one record, and a follower that has it and has opened a session."""

    def __init__(self, version: int = 18, high_watermark: int = EVERYTHING) -> None:
        self.version = version
        self.world = world = BrokerWorld()
        world.start()
        world.controller.start_broker(FOLLOWER)
        placed = (CreatableReplicaAssignment(partition_index=0, broker_ids=BOTH),)
        assert world.controller.create("stock", partitions=-1, factor=-1, assignments=placed).error_code == 0
        self.key = PartitionId(world.controller.image.topics.ids["stock"], 0)
        world.settle()
        self.write()
        asked = ask_as_follower(self.key.topic_id, 0, 1, broker_epoch=world.controller.epoch(FOLLOWER))
        (topic,) = asked.topics
        (one,) = topic.partitions
        first = replace(topic, partitions=(replace(one, high_watermark=high_watermark),))
        self.asked = replace(asked, topics=(first,), session_epoch=0)
        self.session, self.epoch = self.ask().session_id, 1
        self.asked = replace(self.asked, topics=(), session_id=self.session)
        self.again()

    def write(self) -> None:
        self.world.send(produce("stock", b"x", acks=1), 9)
        self.world.settle()

    def ask(self) -> FetchResponse:
        return self.world.ask(self.asked, FetchResponse, self.version)

    def again(self) -> list[PartitionData]:
        """What its session tells it."""
        self.asked = replace(self.asked, session_epoch=self.epoch)
        self.epoch += 1
        return [one for topic in self.ask().responses for one in topic.partitions]

    def wait(self, seconds: int, *, fetches: bool) -> None:
        for _ in range(seconds):
            self.world.controller.heartbeat(FOLLOWER)
            self.world.wait(1.0)
            if fetches:
                self.again()

    @property
    def led(self) -> Leader:
        found = self.world.service.partitions.led(self.key)
        assert found is not None
        return found


def test_who_asked_for_the_end_a_moment_ago_is_in_sync_when_the_log_grows() -> None:
    """FLW-13: however long nothing was written before."""
    story = Story()
    story.wait(int(LAG * 2), fetches=True)
    story.write()
    story.wait(int(LAG * 0.8), fetches=False)
    assert story.led.replicas.isr == BOTH
    assert story.led.replicas.pending is None
    story.wait(int(LAG), fetches=False)
    assert story.led.replicas.isr == ALONE, "and no longer than that"


def test_each_of_its_fetches_counts_as_one() -> None:
    """Also where nothing else has happened since the one before."""
    story = Story()
    story.world.wait(5.0, moves=False)
    story.world.send(replace(story.asked, session_epoch=story.epoch), story.version)
    assert story.led.replicas.remotes[FOLLOWER].caught_up_at == story.world.now


def test_who_was_refused_asks_for_its_place_at_the_next_fetch() -> None:
    """ISR-15."""
    story = Story()
    story.write()
    story.wait(int(LAG * 2), fetches=False)
    assert story.led.replicas.isr == ALONE
    story = _caught_up_again(story)
    assert [one for one in story.world.calls if isinstance(one.body, AlterPartitionRequest)], "asked for"
    call = story.world.calls.popleft()
    refused = answered.PartitionData(partition_index=0, error_code=ErrorCode.INELIGIBLE_REPLICA)
    topics = (answered.TopicData(topic_id=story.key.topic_id, partitions=(refused,)),)
    story.world.happen(ResponseReceived(call.call_id, 3, answered.AlterPartitionResponse(topics=topics)))
    assert story.led.replicas.pending is None
    story.again()
    story.world.settle()
    assert story.led.replicas.isr == BOTH


def _caught_up_again(story: Story) -> Story:
    """Its wish is sent, and performed by the test."""
    asked = ask_as_follower(story.key.topic_id, 0, 2, broker_epoch=story.world.controller.epoch(FOLLOWER))
    story.asked = replace(story.asked, topics=asked.topics, session_epoch=story.epoch)
    story.epoch += 1
    story.world.send(story.asked, story.version)
    story.asked = replace(story.asked, topics=())
    return story


def test_a_log_that_begins_later_is_news() -> None:
    story = Story(version=17)
    assert story.again() == []
    request = deletes.DeleteRecordsRequest(
        timeout_ms=60_000,
        topics=(
            deletes.DeleteRecordsTopic(
                name="stock", partitions=(deletes.DeleteRecordsPartition(partition_index=0, offset=1),)
            ),
        ),
    )
    story.world.send(request, 2)
    story.world.settle()
    assert [one.log_start_offset for one in story.again()] == [1]
    assert story.again() == []


def test_a_follower_that_says_that_it_has_not_heard_is_told_again() -> None:
    """KIP-1166."""
    story = Story(high_watermark=0)
    assert [[one.high_watermark for one in story.again()] for _ in range(3)] == [[1], [1], [1]]


def test_an_earlier_incarnation_is_refused_once_the_next_one_is_registered() -> None:
    """KIP-903; it is still in the ISR."""
    story = Story()
    listener = registers.BrokerEndpoint(name="PLAINTEXT", host="127.0.0.1", port=1, security_protocol=0)
    later = registers.RegisterBrokerRecord(
        broker_id=FOLLOWER, broker_epoch=1 << 40, incarnation_id=Uuid.of(7, 7), end_points=(listener,), fenced=False
    )
    story.world.controller.append([(later, later.VERSIONS.highest)])
    story.world.see_metadata()
    assert [one.error_code for one in story.again()] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert story.led.replicas.isr == BOTH
