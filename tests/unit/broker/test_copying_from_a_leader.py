"""A broker that follows two partitions of a leader: what it asks next after each answer. The leader is the test; the
disk is written by the code of production.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import AppendRecords, PartitionFailed
from controller_runtime.broker.offsets import EARLIEST, LATEST
from controller_runtime.identifiers import PartitionId
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import ResponseReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import list_offsets_response
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest
from controller_runtime.protocol.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsRequest
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from support.nodes.broker_world import BROKER, BrokerWorld

pytestmark = pytest.mark.unit

LEADER = 12
BACKOFF = 1.0


class Story:
    """`stock` has the partitions 0 and 1, both led by another broker; `answers` are that one's."""

    def __init__(self) -> None:
        self.world = world = BrokerWorld()
        world.start()
        world.controller.start_broker(LEADER)
        placed = tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=(LEADER, BROKER)) for index in (0, 1)
        )
        assert world.controller.create("stock", partitions=-1, factor=-1, assignments=placed).error_code == 0
        self.topic = world.controller.image.topics.ids["stock"]
        world.settle()
        while len(self.fetches()) < 2:  # the logs are opened one after the other
            self.answer()

    @property
    def call(self) -> Call:
        """What the leader is asked now."""
        (call,) = self.world.peer_calls
        return call

    def fetches(self) -> dict[int, FetchPartition]:
        """Of the partitions that the request names."""
        body = self.call.body
        assert isinstance(body, FetchRequest), body
        return {one.partition: one for topic in body.topics for one in topic.partitions}

    def answer(self, *partitions: PartitionData, session: int = 0) -> None:
        body = FetchResponse(
            session_id=session,
            responses=(FetchableTopicResponse(topic_id=self.topic, partitions=partitions),) if partitions else (),
        )
        self.reply(body, 17)

    def reply(self, body: Message, version: int) -> None:
        call = self.world.peer_calls.popleft()
        self.world.happen(ResponseReceived(call.call_id, version, body))
        self.world.settle()

    def located(self, which: int, offset: int) -> None:
        """The leader is asked for this end of partition 0, and tells it."""
        body = self.call.body
        assert isinstance(body, ListOffsetsRequest), body
        assert [one.timestamp for topic in body.topics for one in topic.partitions] == [which]
        one = list_offsets_response.ListOffsetsPartitionResponse(partition_index=0, offset=offset)
        topics = (list_offsets_response.ListOffsetsTopicResponse(name="stock", partitions=(one,)),)
        self.reply(list_offsets_response.ListOffsetsResponse(topics=topics), 10)

    def elect_again(self) -> None:
        """The same leader, in the next epoch."""
        for index in (0, 1):
            change = PartitionChangeRecord(topic_id=self.topic, partition_id=index, leader=LEADER)
            self.world.controller.append([(change, change.VERSIONS.highest)])
        self.world.settle()


def records(index: int, offset: int, count: int = 1) -> PartitionData:
    """Each in a batch of its own."""
    found = b"".join(
        encode_batch([Record(each, 1000, None, b"v")], base_offset=each, partition_leader_epoch=0)
        for each in range(offset, offset + count)
    )
    return PartitionData(partition_index=index, records=found, high_watermark=offset)


def refused(index: int, code: int) -> PartitionData:
    return PartitionData(partition_index=index, error_code=code, high_watermark=-1)


def out_of_range(story: Story) -> None:
    """Partition 0 has five records, and the leader says that it has nothing at 5."""
    story.answer(records(0, 0, 5), records(1, 0))
    assert {index: one.fetch_offset for index, one in story.fetches().items()} == {0: 5, 1: 1}
    story.answer(refused(0, ErrorCode.OFFSET_OUT_OF_RANGE))


def test_a_log_that_is_longer_than_its_leaders_is_cut_to_its_end() -> None:
    """FLW-04."""
    story = Story()
    out_of_range(story)
    story.located(LATEST, 3)
    story.answer()  # to what was asked for the other partition while this one was cut
    assert (story.fetches()[0].fetch_offset, story.world.cuts) == (3, 1)


def test_a_log_that_ends_before_its_leaders_begins_is_begun_anew_there() -> None:
    """FLW-04."""
    story = Story()
    out_of_range(story)
    story.located(LATEST, 90)
    story.located(EARLIEST, 70)
    found = story.fetches()[0]
    assert (found.fetch_offset, found.log_start_offset, found.last_fetched_epoch) == (70, 70, -1)


def test_a_log_that_lies_within_its_leaders_goes_on_at_its_end() -> None:
    """FLW-04: the leader's answer was of an earlier moment."""
    story = Story()
    out_of_range(story)
    story.located(LATEST, 90)
    story.located(EARLIEST, 2)
    assert (story.fetches()[0].fetch_offset, story.world.cuts) == (5, 0)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE,
        4711,
    ],
)
def test_what_is_refused_for_one_partition_delays_that_one_alone(code: int) -> None:
    """FLW-06, and FLW-05, FLW-17 as deviations.md says."""
    story = Story()
    story.answer(refused(0, code), records(1, 0))
    assert {index: one.fetch_offset for index, one in story.fetches().items()} == {1: 1}
    story.world.wait(BACKOFF * 0.8)
    story.answer(records(1, 1))
    assert set(story.fetches()) == {1}, "not asked for within the back-off"
    story.world.wait(BACKOFF * 0.4)
    story.answer(records(1, 2))
    assert set(story.fetches()) == {0, 1}
    assert (story.fetches()[0].fetch_offset, story.world.cuts) == (0, 0)


def test_a_newer_epoch_is_asked_with_at_once() -> None:
    """FLW-05."""
    story = Story()
    before = story.fetches()[0].current_leader_epoch
    story.answer(refused(0, ErrorCode.FENCED_LEADER_EPOCH), records(1, 0))
    assert set(story.fetches()) == {1}
    story.elect_again()
    story.answer()
    assert {one.current_leader_epoch for one in story.fetches().values()} == {before + 1}
    assert set(story.fetches()) == {0, 1}


def test_a_log_that_fails_is_asked_for_no_more_and_keeps_no_other_one_waiting() -> None:
    """FLW-10, as deviations.md says: nothing but a new start opens a log again that failed."""
    story = Story()
    call = story.world.peer_calls.popleft()
    both = FetchableTopicResponse(topic_id=story.topic, partitions=(records(0, 0), records(1, 0)))
    story.world.happen(ResponseReceived(call.call_id, 17, FetchResponse(responses=(both,))))
    assert [type(effect) for effect in story.world.data] == [AppendRecords, AppendRecords]
    story.world.data.popleft()
    story.world.happen(PartitionFailed(PartitionId(story.topic, 0), "bad sector", fatal=False))
    story.world.settle()
    assert {index: one.fetch_offset for index, one in story.fetches().items()} == {1: 1}
    story.elect_again()
    story.answer(records(1, 1))
    story.world.wait(BACKOFF * 2)
    assert set(story.fetches()) == {1}


def test_all_that_one_broker_leads_is_asked_for_in_one_conversation() -> None:
    """FLW-14, as deviations.md says: there is one fetcher for each leader."""
    story = Story()
    assert (set(story.fetches()), story.call.channel) == ({0, 1}, f"replica-{LEADER}")
