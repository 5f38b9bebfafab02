"""A request waits for what it asked for, and no longer than its `timeout_ms` and its connection allow."""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import BrokerEffect, PartitionFailed
from controller_runtime.broker.leader import Leader
from controller_runtime.identifiers import Instant, PartitionId
from controller_runtime.parts.events import RequestId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.produce_request import ProduceRequest, TopicProduceData
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from support.clients.client_requests import fetch, produce, values
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.scripted_follower import follow_from

pytestmark = pytest.mark.unit

OK, LATE, LOST = ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER


def serving(topic: str = "orders", partitions: int = 2) -> BrokerWorld:
    world = BrokerWorld()
    world.start()
    assert world.controller.create(topic, partitions=partitions).error_code == 0
    world.settle()
    world.wait(0.6)  # the homes of all partitions are reported
    return world


def led(world: BrokerWorld, index: int = 0) -> Leader:
    found = world.service.partitions.led(led_key(world, index))
    assert found is not None
    return found


def follow(world: BrokerWorld, index: int, end: int = 0) -> None:
    """Another replica in sync, which has what is below `end`."""
    follow_from(world, "orders", index, end)


def led_key(world: BrokerWorld, index: int) -> PartitionId:
    key = world.service.partitions.key("orders", world.controller.image.topics.ids["orders"], index)
    assert key is not None
    return key


def two(first: bytes, second: bytes, *, acks: int = -1, timeout_ms: int = 1000) -> ProduceRequest:
    """One record for partition 0 and one for partition 1."""
    parts = [produce("orders", value, index=index) for index, value in enumerate((first, second))]
    data = tuple(part.topic_data[0].partition_data[0] for part in parts)
    topics = (TopicProduceData(name="orders", partition_data=data),)
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=topics)


def answered(world: BrokerWorld, request_id: RequestId) -> list[tuple[ErrorCode, int]] | None:
    """The error and base offset of each partition; None as long as there is no answer."""
    answer = world.answers.get(request_id)
    if answer is None:
        return None
    assert isinstance(answer, ProduceResponse)
    return [(ErrorCode(each.error_code), each.base_offset) for each in answer.responses[0].partition_responses]


def lose(world: BrokerWorld, index: int = 0) -> None:
    topic_id = world.controller.image.topics.ids["orders"]
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=index, leader=-1)
    world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()


# For other replicas.


def test_acks_of_all_wait_for_the_replicas_in_sync_as_long_as_timeout_ms_says() -> None:
    """PRD-15: 7 when time is up, beside the offset that the batch has; what others wrote is no failure (PRD-27)."""
    world = serving()
    follow(world, 0)
    request_id = world.send(two(b"lags", b"does not"), version=9)
    world.settle()
    assert world.service.next_deadline() == world.now + 1.0, "nobody else has to wake it"
    world.wait(0.99)
    assert answered(world, request_id) is None
    world.wait(0.02)
    assert answered(world, request_id) == [(LATE, 0), (OK, 0)]


def test_who_does_not_ask_for_all_does_not_wait_for_other_replicas() -> None:
    world = serving()
    follow(world, 0)
    request_id = world.send(two(b"lags", b"does not", acks=1), version=9)
    assert answered(world, request_id) is None, "the disk does not have it yet"
    world.settle()
    assert answered(world, request_id) == [(OK, 0), (OK, 0)]
    assert values(world.ask(fetch("orders", 0), FetchResponse, version=12)) == [], "only below the high watermark"


def test_an_acknowledgement_comes_with_the_high_watermark() -> None:
    world = serving()
    follow(world, 0)
    first = world.send(produce("orders", b"one", timeout_ms=5000), version=9)
    reading = world.send(fetch("orders", 0, wait_ms=5000), version=12)
    world.wait(1.0)
    assert (answered(world, first), reading in world.answers) == (None, False)
    follow(world, 0, 1)
    second = world.send(produce("orders", b"two", timeout_ms=5000), version=9)
    world.settle()
    assert (answered(world, first), answered(world, second)) == ([(OK, 0)], None)
    answer = world.answers[reading]
    assert isinstance(answer, FetchResponse)
    assert values(answer) == [b"one"]


def test_with_one_replica_no_time_is_needed_at_all() -> None:
    """As in Kafka the client's time begins when the leader has written: a slow disk times nobody out."""
    world = serving()
    request_id = world.send(two(b"a", b"b", timeout_ms=0), version=9)
    world.now = Instant(world.now + 60)
    assert answered(world, request_id) is None
    world.settle()
    assert answered(world, request_id) == [(OK, 0), (OK, 0)]


@pytest.mark.parametrize("when", ["before it is written", "while another replica lags"])
def test_a_leader_that_is_none_any_more_says_so_and_the_offset_stays_in_the_answer(when: str) -> None:
    """PRD-15: 6 on leader loss; the other partition is waited for. ISR-21."""
    world = serving()
    for index in (0, 1):
        follow(world, index)
    request_id = world.send(two(b"a", b"b", timeout_ms=9000), version=9)
    if when == "while another replica lags":
        world.settle()
    lose(world)
    assert answered(world, request_id) is None, "one partition does not end the wait for the other"
    follow(world, 1, 1)
    world.send(produce("orders", b"c", index=1), version=9)
    world.settle()
    assert answered(world, request_id) == [(LOST, 0), (OK, 0)]


def test_nobody_is_answered_whose_connection_ended_and_what_it_wrote_stays() -> None:
    world = serving()
    writing = world.send(produce("orders", b"one"), version=9, connection=7)
    world.hang_up(7)
    world.settle()
    follow(world, 0, 1)
    replicating = world.send(produce("orders", b"two"), version=9, connection=8)
    world.settle()
    world.hang_up(8)
    world.wait(2.0)
    assert not {writing, replicating} & set(world.answers)
    assert led(world).log.written_offset == 2


# For a log that is being opened.


def half_open() -> tuple[BrokerWorld, BrokerEffect]:
    """Partition 1 is led, the log of partition 0 is being opened."""
    world = BrokerWorld()
    world.start()
    assert world.controller.create("orders", partitions=2).error_code == 0
    world.see_metadata()
    first = world.data.popleft()
    world.settle()
    return world, first


def test_a_log_that_takes_long_to_open_is_waited_for_as_long_as_timeout_ms_says() -> None:
    world, opens = half_open()
    request_id = world.send(two(b"a", b"b"), version=9)
    assert world.service.next_deadline() == world.now + 1.0
    world.wait(0.99)
    assert answered(world, request_id) is None
    world.wait(0.02)
    assert answered(world, request_id) == [(LATE, -1), (LATE, -1)]
    world.data.append(opens)
    world.settle()
    assert (led(world).log.end_offset, led(world, 1).log.end_offset) == (0, 0), "what is refused is not written"


def test_who_wants_no_answer_learns_of_the_time_by_losing_its_connection() -> None:
    """PRD-14."""
    world, _ = half_open()
    request_id = world.send(produce("orders", b"a", acks=0), version=9, connection=7)
    world.wait(1.01)
    assert (world.closed, request_id in world.answers) == ([7], False)


@pytest.mark.parametrize(("acks", "written"), [(1, 0), (0, 1)])
def test_who_hung_up_before_the_log_was_open_writes_only_if_it_wanted_no_answer(acks: int, written: int) -> None:
    """Hanging up when all is sent is how a producer with acks=0 ends."""
    world, opens = half_open()
    world.send(produce("orders", b"a", acks=acks), version=9, connection=7)
    world.hang_up(7)
    world.data.append(opens)
    world.settle()
    assert led(world).log.end_offset == written


def test_no_later_request_overtakes_one_that_waits_for_another_partition() -> None:
    world, opens = half_open()
    first = world.send(two(b"1", b"1", timeout_ms=9000), version=9)
    second = world.send(produce("orders", b"2", index=1, timeout_ms=9000), version=9)
    third = world.send(two(b"3", b"3", timeout_ms=9000), version=9)
    world.settle()
    assert not {first, second, third} & set(world.answers)
    world.data.append(opens)
    world.settle()
    assert (answered(world, first), answered(world, second)) == ([(OK, 0), (OK, 0)], [(OK, 1)])
    assert answered(world, third) == [(OK, 1), (OK, 2)]


@pytest.mark.parametrize("how", ["time is up", "it hung up", "its log is bad"])
def test_who_waited_behind_another_goes_on_when_that_one_ends(how: str) -> None:
    world, _ = half_open()
    world.send(two(b"1", b"1", timeout_ms=500), version=9, connection=7)
    behind = world.send(produce("orders", b"2", index=1, timeout_ms=9000), version=9, connection=8)
    world.settle()
    assert answered(world, behind) is None
    if how == "time is up":
        world.wait(0.51)
    elif how == "it hung up":
        world.hang_up(7)
    else:
        fail(world)
    world.settle()
    offset = 1 if how == "its log is bad" else 0
    assert answered(world, behind) == [(OK, offset)]


def fail(world: BrokerWorld) -> None:
    event = PartitionFailed(led_key(world, 0), "bad sector", fatal=False)
    world.happen(event)


# For records.


def test_a_fetch_that_waits_ends_when_its_partition_changes_hands() -> None:
    """FCH-14: leader change. The client learns where to go now, not when its wait is over; unless it is one that may
    read from followers, too, and knows no epoch (FCH-16).
    """
    world = serving()
    waiting = world.send(fetch("orders", 0, wait_ms=30_000), version=10)
    patient = world.send(fetch("orders", 0, wait_ms=30_000), version=12)
    lose(world)
    assert patient not in world.answers
    answer = world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert answer.responses[0].partitions[0].error_code == LOST


def test_a_fetch_of_an_epoch_that_is_over_is_told_so_at_once() -> None:
    """FCH-14: the epoch changes though the leader stays."""
    world = serving()
    waiting = world.send(fetch("orders", 0, wait_ms=30_000, epoch=0), version=12)
    careless = world.send(fetch("orders", 0, wait_ms=30_000), version=12)
    topic_id = world.controller.image.topics.ids["orders"]
    change = PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=BROKER)
    world.controller.append([(change, change.VERSIONS.highest)])
    world.see_metadata()
    answer = world.answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert careless not in world.answers, "it did not say which epoch it knows, and waits on"
    world.ask(produce("orders", b"one"), ProduceResponse, version=9)
    assert careless in world.answers


def test_of_many_that_wait_only_those_concerned_are_looked_at() -> None:
    world = serving(partitions=50)
    waiting = [
        world.send(fetch("orders", 0, wait_ms=30_000, index=index), version=12, connection=index) for index in range(50)
    ]
    world.ask(produce("orders", b"one", index=7), ProduceResponse, version=9)
    assert [number for number, request_id in enumerate(waiting) if request_id in world.answers] == [7]


def test_one_partition_that_is_refused_ends_the_connection_of_who_wants_no_answer() -> None:
    """PRD-14: any error, though the other partition takes its batch (PRD-27)."""
    world = serving(partitions=1)
    world.send(two(b"good", b"nowhere", acks=0), version=9, connection=7)
    world.settle()
    assert (world.closed, led(world).log.written_offset) == ([7], 1)
