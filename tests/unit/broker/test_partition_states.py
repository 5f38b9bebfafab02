"""A replica goes from state to state as the table says, and clients are told what its state allows."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from controller_runtime.broker.effects import (
    AppendRecords,
    BrokerEffect,
    ClosePartition,
    OpenPartition,
    PartitionFailed,
)
from controller_runtime.broker.leader import Leader
from controller_runtime.broker.partition import OpenLog
from controller_runtime.broker.partition_states import (
    INITIAL,
    TRANSITIONS,
    IllegalTransition,
    Offline,
    Opening,
    PartitionState,
    check_transition,
)
from controller_runtime.broker.replication.follower import Follower
from controller_runtime.identifiers import ZERO_UUID, PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message
from support.clients.client_requests import produce
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.controller_world import uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 1)
KEY = PartitionId(TOPIC, 0)
LOG = OpenLog(KEY, "stock", 0, 0, 0, 0)
STATES: dict[type[PartitionState], PartitionState] = {
    Opening: Opening(),
    Leader: Leader(LOG, 1),
    Follower: Follower(LOG),
    Offline: Offline("bad"),
}
OTHER = 12


class Story:
    """One partition of a broker that serves; what is asked of the disk waits until `disk` is called."""

    def __init__(self) -> None:
        self.world = BrokerWorld()
        self.world.start()
        self.epoch = 0

    def place(self, *replicas: int, leader: int) -> None:
        placed = PartitionRecord(
            partition_id=0,
            topic_id=TOPIC,
            replicas=replicas,
            isr=replicas,
            leader=leader,
            leader_epoch=0,
            partition_epoch=0,
        )
        self.tell(TopicRecord(name="stock", topic_id=TOPIC), placed)

    def change(self, *replicas: int, leader: int) -> None:
        self.tell(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, replicas=replicas, isr=replicas, leader=leader))

    def tell(self, *records: Message) -> None:
        self.world.controller.append((record, record.VERSIONS.highest) for record in records)
        self.world.see_metadata()

    def disk(self) -> None:
        self.world.perform_data()

    def fail(self, reason: str) -> None:
        self.world.happen(PartitionFailed(KEY, reason, fatal=False))

    def state(self) -> type[PartitionState] | None:
        replica = self.world.service.partitions._replicas.get(KEY)
        return None if replica is None else type(replica.state)

    def found(self, epoch: int = -1) -> ErrorCode:
        found = self.world.service.partitions.find("stock", ZERO_UUID, 0, epoch)
        return found if isinstance(found, ErrorCode) else ErrorCode.NONE


def test_the_table_has_every_state_and_each_change_once() -> None:
    assert set(get_args(PartitionState)) == set(STATES)
    rows = [(row.source, row.target) for row in TRANSITIONS]
    assert len(set(rows)) == len(rows)
    assert set(INITIAL) | {target for _, target in rows} == set(STATES), "each can be reached"


@pytest.mark.parametrize(("source", "target"), list(product(STATES, STATES)))
def test_what_the_table_does_not_have_is_refused(source: type[PartitionState], target: type[PartitionState]) -> None:
    if (source, target) in {(row.source, row.target) for row in TRANSITIONS}:
        check_transition(STATES[source], STATES[target])
    else:
        with pytest.raises(IllegalTransition, match=f"{source.__name__} -> {target.__name__}"):
            check_transition(STATES[source], STATES[target])


def test_a_partition_is_opened_led_lost_and_led_again() -> None:
    story = Story()
    story.place(BROKER, leader=BROKER)
    assert (story.state(), story.found()) == (Opening, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    story.disk()
    assert (story.state(), story.found()) == (Leader, ErrorCode.NONE)
    story.change(BROKER, leader=-1)
    assert (story.state(), story.found()) == (Follower, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    story.change(BROKER, leader=BROKER)
    assert (story.state(), story.found()) == (Leader, ErrorCode.NONE)
    led = story.world.service.partitions.led(KEY)
    assert led is not None
    assert led.log.epoch_starts == [(2, 0)], "the epoch that it leads now, and none that wrote nothing (ISR-03)"


def test_the_epoch_of_a_client_is_judged_before_who_leads() -> None:
    """FCH-15: 74 and 75 come before 6."""
    story = Story()
    story.place(BROKER, leader=BROKER)
    story.disk()
    story.change(BROKER, leader=-1)
    assert [story.found(epoch) for epoch in (0, 1, 2)] == [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


def test_replicas_come_and_go_while_it_leads() -> None:
    story = Story()
    story.place(BROKER, OTHER, leader=BROKER)
    story.disk()
    assert (story.state(), story.found(), others(story)) == (Leader, ErrorCode.NONE, [OTHER])
    story.change(BROKER, leader=BROKER)
    assert (story.state(), others(story)) == (Leader, [])
    story.change(BROKER, OTHER, OTHER + 1, leader=BROKER)
    assert others(story) == [OTHER, OTHER + 1]
    story.change(BROKER, OTHER, leader=OTHER)
    assert (story.state(), story.found()) == (Follower, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not story.world.service.partitions.with_followers


def others(story: Story) -> list[int]:
    led = story.world.service.partitions.led(KEY)
    assert led is not None
    assert (KEY in story.world.service.partitions.with_followers) == bool(led.replicas.remotes)
    return list(led.replicas.remotes)


@pytest.mark.parametrize("when", ["opening", "leading", "leading others", "following"])
def test_a_log_that_fails_takes_its_partition_offline_for_good(when: str) -> None:
    """DIR-01: it answers 56."""
    story = Story()
    story.place(BROKER, leader=BROKER)
    if when == "opening":
        story.world.data.clear()
    story.disk()
    if when == "following":
        story.change(BROKER, leader=-1)
    elif when == "leading others":
        story.change(BROKER, OTHER, leader=BROKER)
    story.fail("bad sector")
    assert (story.state(), story.found()) == (Offline, ErrorCode.KAFKA_STORAGE_ERROR)
    story.fail("bad sector")
    story.change(BROKER, leader=BROKER)
    assert (story.state(), story.found()) == (Offline, ErrorCode.KAFKA_STORAGE_ERROR)


def kinds(effects: list[BrokerEffect]) -> list[type]:
    return [type(effect) for effect in effects]


@pytest.mark.parametrize("outcome", ["opened", "failed"])
def test_a_log_that_was_opened_for_a_replica_that_left_says_nothing_of_the_one_that_came_back(outcome: str) -> None:
    story = Story()
    story.place(BROKER, leader=BROKER)
    story.change(OTHER, leader=OTHER)
    story.change(BROKER, leader=BROKER)
    world = story.world
    assert kinds(list(world.data)) == [OpenPartition, ClosePartition, OpenPartition]
    if outcome == "failed":
        world.data.popleft()
        story.fail("the first one")
    else:
        world.perform_data(1)
    assert story.state() is Opening
    world.perform_data(2)
    assert (story.state(), story.found()) == (Leader, ErrorCode.NONE)


def test_what_is_written_after_leadership_was_lost_is_known_when_it_is_led_again() -> None:
    """ISR-01 and its kin: a leader's high watermark begins with what its log holds."""
    story = Story()
    story.place(BROKER, leader=BROKER)
    story.disk()
    story.world.send(produce("stock", b"one"), version=9)
    assert kinds(list(story.world.data)) == [AppendRecords]
    story.change(BROKER, leader=-1)
    story.disk()
    story.change(BROKER, leader=BROKER)
    led = story.world.service.partitions.led(KEY)
    assert led is not None
    assert (led.log.end_offset, led.log.written_offset, led.log.high_watermark) == (1, 1, 1)


def test_a_topic_that_is_deleted_leaves_from_any_state() -> None:
    for leader, replicas in ((BROKER, (BROKER,)), (-1, (BROKER,)), (BROKER, (BROKER, OTHER))):
        story = Story()
        story.place(*replicas, leader=leader)
        story.disk()
        story.tell(RemoveTopicRecord(topic_id=TOPIC))
        assert (story.state(), story.found()) == (None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert kinds(list(story.world.data)) == [ClosePartition]
