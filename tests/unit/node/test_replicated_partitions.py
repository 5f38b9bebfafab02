"""The leader of a partition with other replicas: what followers are told, who is in sync, what is acknowledged. By
requests of a follower that keeps no log, and of clients; the controller is the real one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_runtime.broker.leader import Leader
from controller_runtime.broker.replication.led_replicas import Surroundings
from controller_runtime.broker.replication.remote_replica import RemoteReplica
from controller_runtime.identifiers import ZERO_UUID, BrokerEpoch, Instant, NodeId, PartitionId
from controller_runtime.metadata.cluster import BrokerRegistration, ClusterImage
from controller_runtime.metadata.partitions import Partition
from controller_runtime.parts.events import RequestId, ResponseReceived
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_response as answered
from controller_runtime.protocol.messages import delete_records_request, list_offsets_request
from controller_runtime.protocol.messages.alter_partition_request import AlterPartitionRequest
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopicConfig
from controller_runtime.protocol.messages.delete_records_response import DeleteRecordsResponse
from controller_runtime.protocol.messages.fetch_response import EpochEndOffset, FetchResponse, PartitionData
from controller_runtime.protocol.messages.list_offsets_response import ListOffsetsResponse
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.schema import Message
from support.clients.client_requests import fetch, produce, values
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.scripted_follower import FOLLOWER, ask_as_follower, fetched

pytestmark = pytest.mark.unit

TOPIC_CONFIG = 2
ALONE: tuple[int, ...] = (BROKER,)
BOTH: tuple[int, ...] = (BROKER, FOLLOWER)
LAG = 30.0


class Story:
    """`stock`, one partition on the broker under test, which leads it, and on a follower that says what it has."""

    def __init__(self, least: int = 1, isr: tuple[int, ...] = BOTH) -> None:
        self.world = world = BrokerWorld()
        world.start()
        world.controller.start_broker(FOLLOWER)
        created = world.controller.create(
            "stock", partitions=-1, factor=-1, assignments=_placed(*BOTH), configs=_least(least)
        )
        assert created.error_code == 0, created
        self.topic = world.controller.image.topics.ids["stock"]
        self.key = PartitionId(self.topic, 0)
        world.settle()
        if FOLLOWER not in isr:
            self.wait_beyond_lag()

    def wait(self, seconds: float) -> None:
        """The follower stays alive meanwhile."""
        while seconds > 0:
            self.world.controller.heartbeat(FOLLOWER)
            self.world.wait(min(1.0, seconds))
            seconds -= 1.0

    def wait_beyond_lag(self) -> None:
        self.wait(LAG * 1.6)

    @property
    def led(self) -> Leader:
        found = self.world.service.partitions.led(self.key)
        assert found is not None
        return found

    def is_pending(self) -> bool:
        return self.led.replicas.pending is not None

    @property
    def registered(self) -> Partition:
        found = self.world.controller.image.topics.partition(self.topic, 0)
        assert found is not None
        return found

    @property
    def epoch(self) -> int:
        return self.world.controller.epoch(FOLLOWER)

    def follow(self, offset: int, **more: int) -> PartitionData:
        return fetched(self.world.ask(self.asked(offset, **more), FetchResponse, 17))

    def asked(self, offset: int, **more: int) -> Message:
        more.setdefault("broker_epoch", self.epoch)
        return ask_as_follower(self.topic, 0, offset, **more)

    def write(self, *values: bytes, acks: int = -1, timeout_ms: int = 60_000) -> RequestId:
        sent = self.world.send(produce("stock", *values, acks=acks, timeout_ms=timeout_ms), 9)
        self.world.settle()
        return sent

    def outcome(self, request: RequestId) -> ErrorCode | None:
        answer = self.world.answers.get(request)
        if answer is None:
            return None
        assert isinstance(answer, ProduceResponse)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def consume(self, offset: int = 0) -> list[bytes | None]:
        return values(self.world.ask(fetch("stock", offset), FetchResponse, 12))

    def latest(self, replica_id: int = -1, version: int = 7) -> tuple[ErrorCode, int]:
        one = list_offsets_request.ListOffsetsPartition(partition_index=0, timestamp=-1)
        topics = (list_offsets_request.ListOffsetsTopic(name="stock", partitions=(one,)),)
        request = list_offsets_request.ListOffsetsRequest(replica_id=replica_id, topics=topics)
        found = self.world.ask(request, ListOffsetsResponse, version).topics[0].partitions[0]
        return ErrorCode(found.error_code), found.offset


def _placed(*replicas: int) -> object:
    return (CreatableReplicaAssignment(partition_index=0, broker_ids=replicas),)


def _least(count: int) -> object:
    return (CreatableTopicConfig(name="min.insync.replicas", value=str(count)),)


def test_what_a_follower_does_not_have_yet_is_neither_acknowledged_nor_shown() -> None:
    story = Story()
    sent = story.write(b"one", b"two")
    assert (story.outcome(sent), story.consume(), story.latest()) == (None, [], (ErrorCode.NONE, 0))
    found = story.follow(0)
    assert (len(found.records or b"") > 0, found.high_watermark) == (True, 0), "a follower reads to the end"
    assert story.outcome(sent) is None
    assert story.follow(2).high_watermark == 2
    assert (story.outcome(sent), story.consume(), story.latest()) == (
        ErrorCode.NONE,
        [b"one", b"two"],
        (ErrorCode.NONE, 2),
    )


def test_a_follower_that_waits_is_told_what_is_written_and_a_consumer_what_it_has() -> None:
    story = Story()
    following = story.world.send(story.asked(0, wait_ms=500), 17, connection=7)
    consuming = story.world.send(fetch("stock", 0, wait_ms=60_000), 12, connection=8)
    story.world.settle()
    assert not {following, consuming} & set(story.world.answers)
    story.write(b"one")
    assert following in story.world.answers
    assert consuming not in story.world.answers
    story.follow(1)
    assert consuming in story.world.answers


def test_who_lags_leaves_the_isr_and_what_waited_for_it_is_acknowledged() -> None:
    """ISR-12: after `replica.lag.time.max.ms` without a fetch, if something was written."""
    story = Story()
    story.follow(0)
    sent = story.write(b"one")
    story.wait(LAG - 1)
    assert (story.registered.isr, story.outcome(sent)) == (BOTH, None)
    story.wait(LAG)
    assert (story.registered.isr, story.led.replicas.isr, story.outcome(sent)) == (ALONE, ALONE, ErrorCode.NONE)


def test_who_has_everything_stays_however_long_it_is_silent() -> None:
    story = Story()
    story.follow(0)
    story.wait(3 * LAG)
    assert story.registered.isr == BOTH


def test_a_follower_joins_when_it_has_what_consumers_see_and_the_beginning_of_the_epoch() -> None:
    """ISR-04, KAFKA-7128: not before; by an AlterPartition that names its incarnation (KIP-903)."""
    story = Story(isr=ALONE)
    story.write(b"one", b"two")
    assert story.registered.isr == ALONE
    story.follow(1)
    assert story.registered.isr == ALONE
    story.follow(2)
    assert (story.registered.isr, story.led.replicas.isr) == (BOTH, BOTH)


def test_a_follower_below_the_beginning_of_the_epoch_does_not_join() -> None:
    """ISR-04: the high watermark alone may be lower than what the last leader let consumers see."""
    story = Story(isr=ALONE)
    led = story.led
    led.log.high_watermark, led.replicas.epoch_start = 0, 2
    story.write(b"one", b"two", b"three", acks=1)
    led.log.high_watermark = 1
    story.follow(1)
    assert (story.registered.isr, led.replicas.pending) == (ALONE, None)
    story.follow(3)
    assert story.registered.isr == BOTH


@pytest.mark.parametrize("why", ["fenced", "leaving", "an earlier incarnation"])
def test_who_may_not_be_in_the_isr_is_not_asked_for(why: str) -> None:
    """ISR-05, ISR-10, KIP-841: nor does the high watermark wait for it."""
    story = Story(isr=ALONE)
    epoch = story.epoch
    if why != "leaving":
        story.world.wait(20.0)  # without a heartbeat of the follower
        story.world.controller.periodic()
        story.world.settle()
    if why == "an earlier incarnation":
        story.world.controller.start_broker(FOLLOWER, 2)
        story.world.settle()
    elif why == "leaving":
        story.world.controller.heartbeat(FOLLOWER, want_shut_down=True)
        story.world.settle()
    found = story.follow(0, broker_epoch=epoch)
    assert found.error_code == (ErrorCode.NOT_LEADER_OR_FOLLOWER if why == "an earlier incarnation" else 0), "ISR-06"
    assert (story.registered.isr, story.led.replicas.pending) == (ALONE, None)
    assert story.outcome(story.write(b"one")) == ErrorCode.NONE


def test_until_the_controller_has_answered_the_high_watermark_waits_for_who_was_asked_for() -> None:
    """ISR-07, ISR-08: the maximal ISR."""
    story = Story(isr=ALONE)
    story.world.send(story.asked(0), 17, connection=9)
    (call,) = [one for one in story.world.calls if isinstance(one.body, AlterPartitionRequest)]
    story.world.calls.clear()
    sent = story.world.send(produce("stock", b"one", timeout_ms=60_000), 9)
    story.world.perform_data()
    assert (story.outcome(sent), story.led.replicas.pending is not None, story.led.log.high_watermark) == (
        None,
        True,
        0,
    )
    story.world.calls.append(call)
    story.world.settle()
    assert (story.registered.isr, story.outcome(sent)) == (BOTH, None)


def test_who_was_asked_for_is_waited_for_however_long_the_controller_is_silent() -> None:
    """ISR-07: it may be in the ISR by now, though it does not fetch any more."""
    story = Story(isr=ALONE)
    story.world.reachable = False
    story.follow(0)
    story.wait(LAG + 2)
    sent = story.write(b"one")
    assert (story.led.replicas.isr, story.outcome(sent), story.led.log.high_watermark) == (ALONE, None, 0)


@pytest.mark.parametrize(
    ("fetched", "fenced", "leaving", "may"),
    [
        (7, False, False, True),
        (-1, False, False, True),
        (None, False, False, False),
        (6, False, False, False),
        (7, True, False, False),
        (7, False, True, False),
    ],
)
def test_only_who_is_registered_unfenced_and_stays_may_join(
    fetched: int | None, fenced: bool, leaving: bool, may: bool
) -> None:
    """ISR-05, ISR-10."""
    broker, epoch = NodeId(FOLLOWER), BrokerEpoch(7)
    known = BrokerRegistration(
        broker, epoch, ZERO_UUID, listeners={}, features={}, fenced=fenced, in_controlled_shutdown=leaving
    )
    cluster = ClusterImage({broker: known})
    around = Surroundings(Instant(0.0), cluster, LAG, 1)
    assert around.may_join(FOLLOWER, RemoteReplica(broker_epoch=fetched)) == may
    assert not around.may_join(FOLLOWER + 1, RemoteReplica(broker_epoch=fetched))


def test_a_change_that_nobody_answers_is_asked_again() -> None:
    """ISR-13, ISR-14."""
    story = Story(isr=ALONE)
    story.world.reachable = False
    story.follow(0)
    story.wait(1.0)
    assert (story.registered.isr, story.is_pending()) == (ALONE, True)
    story.world.reachable = True
    story.wait(1.0)
    assert (story.registered.isr, story.is_pending()) == (BOTH, False)


def test_fewer_in_sync_than_asked_for_are_not_enough_before_the_append() -> None:
    """PRD-15: 19, nothing is appended; who does not ask for all is served, and nobody sees it (ISR-11, KIP-966)."""
    story = Story(least=2, isr=ALONE)
    assert story.outcome(story.write(b"one")) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert story.led.log.end_offset == 0
    assert story.outcome(story.write(b"two", acks=1)) == ErrorCode.NONE
    assert (story.consume(), story.led.log.high_watermark) == ([], 0)
    story.follow(1)
    assert story.registered.isr == BOTH
    assert story.consume() == [b"two"]


def test_fewer_in_sync_than_asked_for_by_then_are_said_after_the_append() -> None:
    """PRD-15: 20, beside the offset that the batch has, when the rule changed while its disk was slow."""
    story = Story(isr=ALONE)
    sent = story.world.send(produce("stock", b"one", timeout_ms=60_000), 9)
    story.world.perform_data()
    assert story.outcome(sent) == ErrorCode.NONE
    sent = story.world.send(produce("stock", b"two", timeout_ms=60_000), 9)
    led = story.led
    led.log.written(2)
    led.raise_high_watermark(2)  # before the rule came
    tell = ConfigRecord(resource_type=TOPIC_CONFIG, resource_name="stock", name="min.insync.replicas", value="2")
    story.world.controller.append([(tell, tell.VERSIONS.highest)])
    story.world.settle()
    assert story.outcome(sent) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


@pytest.mark.parametrize(
    ("asks", "error"),
    [
        ({"epoch": 5}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"broker": 77, "epoch": 0}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"broker": 77}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ({"offset": 9}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"offset": -1}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"last_epoch": 4}, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_who_asks_what_no_follower_may_is_told_so_and_moves_nothing(asks: dict[str, int], error: ErrorCode) -> None:
    """FCH-20, ISR-20: 75 for a stranger that knows the epoch, 6 for one that does not."""
    story = Story()
    story.write(b"one")
    before = story.led.replicas.remotes[FOLLOWER].end_offset
    found = story.follow(asks.pop("offset", 0), **asks)
    assert (found.error_code, found.high_watermark, found.records) == (error, -1, b"")
    assert (story.led.replicas.remotes[FOLLOWER].end_offset, story.led.log.high_watermark) == (before, 0)


def test_a_follower_whose_history_parts_from_the_leaders_is_told_where() -> None:
    """FCH-19: and counts for nothing yet."""
    story = Story()
    story.write(b"one", acks=1)
    story.led.log.epoch_starts[:] = [(0, 0), (3, 1)]
    story.led.epoch = 3
    found = story.follow(5, last_epoch=2)
    assert (found.error_code, found.diverging_epoch) == (0, EpochEndOffset(epoch=0, end_offset=1))
    assert story.led.replicas.remotes[FOLLOWER].end_offset == -1


def test_a_new_leader_says_that_it_does_not_know_the_latest_offset_yet() -> None:
    """QRY-02: 78, and 5 for who does not know that; a broker is told the end of the log (QRY-01)."""
    story = Story()
    story.write(b"one", acks=1)
    story.led.replicas.epoch_start = 1
    assert story.latest() == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert story.latest(version=4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert story.latest(replica_id=FOLLOWER) == (ErrorCode.NONE, 1)
    story.follow(1)
    assert story.latest() == (ErrorCode.NONE, 1)


def test_partitions_that_are_short_of_replicas_are_counted_as_kafka_counts_them() -> None:
    """ISR-17."""
    story = Story(least=2)
    counts = story.world.service.partitions.in_sync_counts()
    assert (counts.under_replicated, counts.under_min, counts.at_min) == (0, 0, 1)
    story.write(b"one", acks=1)
    story.wait_beyond_lag()
    counts = story.world.service.partitions.in_sync_counts()
    assert (counts.under_replicated, counts.under_min, counts.at_min) == (1, 1, 0)


def test_a_change_of_the_isr_within_an_epoch_keeps_what_is_known_of_the_followers() -> None:
    """ISR-02: so does an image of the same partition epoch, which applies."""
    story = Story()
    story.write(b"one", acks=1)
    story.follow(1)
    led, before = story.led, story.led.replicas.epoch_start
    for number in range(2):
        led.replicas.see(NodeId(BROKER), replace(story.registered, isr=ALONE))
        assert (led.replicas.isr, led.replicas.epoch_start, led.epoch) == (ALONE, before, 0), number
        assert led.replicas.remotes[FOLLOWER].end_offset == 1
        led.replicas.see(NodeId(BROKER), story.registered)
        assert led.replicas.isr == BOTH


def test_the_high_watermark_waits_for_who_is_about_to_join() -> None:
    """ISR-09: it is caught up and may join, but the last change of the ISR is not answered yet."""
    story = Story(isr=ALONE)
    replicas, led = story.led.replicas, story.led
    around = story.world.service.partitions.around(led)
    replicas.remotes[FOLLOWER].fetched(0, 0, story.epoch, 0, around.now)
    assert replicas.high_watermark(1, around) == 0
    later = replace(around, now=Instant(around.now + LAG + 1))
    assert replicas.high_watermark(1, later) == 1, "not for ever"


@pytest.mark.parametrize(
    ("code", "pending", "asked"),
    [
        (ErrorCode.OPERATION_NOT_ATTEMPTED, False, False),
        (ErrorCode.INELIGIBLE_REPLICA, False, False),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True, False),
        (ErrorCode.UNKNOWN_TOPIC_ID, True, False),
        (ErrorCode.FENCED_LEADER_EPOCH, True, False),
        (ErrorCode.INVALID_UPDATE_VERSION, True, False),
        (ErrorCode.INVALID_REQUEST, True, False),
        (ErrorCode.NEW_LEADER_ELECTED, True, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, True, True),
        (ErrorCode.NOT_CONTROLLER, True, True),
    ],
)
def test_what_a_refused_change_of_the_isr_means(code: ErrorCode, pending: bool, asked: bool) -> None:
    """ISR-15: taken back, open until the image says what is true, or asked again."""
    story = Story(isr=ALONE)
    story.world.send(story.asked(0), 17, connection=9)
    call = story.world.calls.popleft()
    refused = answered.PartitionData(partition_index=0, error_code=code)
    topics = (answered.TopicData(topic_id=story.topic, partitions=(refused,)),)
    story.world.reachable = False
    story.world.happen(ResponseReceived(call.call_id, 3, answered.AlterPartitionResponse(topics=topics)))
    story.world.reachable = True
    story.world.see_metadata()
    assert (story.is_pending(), story.led.replicas.isr) == (pending, ALONE)
    story.world.wait(0.2, moves=False)
    assert bool([one for one in story.world.calls if isinstance(one.body, AlterPartitionRequest)]) == asked


def test_an_answer_to_a_change_that_the_image_overtook_says_nothing() -> None:
    """ISR-16."""
    story = Story(isr=ALONE)
    story.world.send(story.asked(0), 17, connection=9)
    call = story.world.calls.popleft()
    newer = replace(story.registered, partition_epoch=story.registered.partition_epoch + 2)
    story.led.replicas.see(NodeId(BROKER), newer)
    told = answered.PartitionData(
        partition_index=0, isr=BOTH, leader_epoch=0, partition_epoch=newer.partition_epoch + 5, leader_id=BROKER
    )
    topics = (answered.TopicData(topic_id=story.topic, partitions=(told,)),)
    story.world.happen(ResponseReceived(call.call_id, 3, answered.AlterPartitionResponse(topics=topics)))
    replicas = story.led.replicas
    assert (replicas.isr, replicas.partition_epoch, replicas.pending) == (ALONE, newer.partition_epoch, None)


def _delete(story: Story, offset: int, timeout_ms: int = 5_000, connection: int = 5) -> RequestId:
    one = delete_records_request.DeleteRecordsPartition(partition_index=0, offset=offset)
    topics = (delete_records_request.DeleteRecordsTopic(name="stock", partitions=(one,)),)
    request = delete_records_request.DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)
    sent = story.world.send(request, 2, connection)
    story.world.settle()
    return sent


def _deleted(story: Story, request: RequestId) -> tuple[ErrorCode, int] | None:
    answer = story.world.answers.get(request)
    if answer is None:
        return None
    assert isinstance(answer, DeleteRecordsResponse)
    found = answer.topics[0].partitions[0]
    return ErrorCode(found.error_code), found.low_watermark


def _three_records() -> Story:
    story = Story()
    story.write(b"one", acks=1)
    story.write(b"two", acks=1)
    story.write(b"three", acks=1)
    story.follow(3)
    return story


def test_records_are_deleted_when_every_replica_has_deleted_them() -> None:
    """QRY-09: readers are refused at once; the answer waits until the follower says that it begins there."""
    story = _three_records()
    two, one = _delete(story, 2), _delete(story, 1)
    assert (story.led.log.start_offset, _deleted(story, two)) == (2, None)
    story.follow(3, start=1)
    story.world.settle()
    assert (_deleted(story, one), _deleted(story, two)) == ((ErrorCode.NONE, 1), None)
    story.follow(3, start=2)
    story.world.settle()
    assert _deleted(story, two) == (ErrorCode.NONE, 2)
    assert _deleted(story, _delete(story, 2)) == (ErrorCode.NONE, 2), "nobody is left to wait for"


def test_who_does_not_delete_in_time_is_told_of() -> None:
    """QRY-09: 7, beside how far it has come; what was deleted stays deleted."""
    story = _three_records()
    late = _delete(story, 2, timeout_ms=100)
    assert _deleted(story, late) is None
    story.world.wait(0.2)
    assert _deleted(story, late) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert _deleted(story, _delete(story, -1, timeout_ms=-1)) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert story.led.log.start_offset == 3


def test_a_replica_that_is_not_alive_is_not_waited_for() -> None:
    """As in Kafka: it deletes when it comes back."""
    story = _three_records()
    fenced = BrokerRegistrationChangeRecord(broker_id=FOLLOWER, broker_epoch=story.epoch, fenced=1)
    story.world.controller.append([(fenced, fenced.VERSIONS.highest)])
    story.world.settle()
    assert _deleted(story, _delete(story, 2)) == (ErrorCode.NONE, 2)


def test_who_waits_for_deletions_of_a_partition_that_is_led_elsewhere_by_then_is_told_so() -> None:
    story = _three_records()
    waiting, gone = _delete(story, 2), _delete(story, 3, connection=6)
    story.world.hang_up(6)
    change = PartitionChangeRecord(topic_id=story.topic, partition_id=0, leader=FOLLOWER)
    story.world.controller.append([(change, change.VERSIONS.highest)])
    story.world.settle()
    assert _deleted(story, waiting) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert gone not in story.world.answers
