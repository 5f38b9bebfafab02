"""Epochs of share partitions (KIP-932): whose reads and writes count. And when a snapshot replaces updates."""

from __future__ import annotations

import pytest

from controller_runtime.coordinator.share_state.decisions import Decide, Decided, initialize, read, write
from controller_runtime.coordinator.share_state.partition import SharePartition
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.coordinator.share_state.values import ShareKey, ShareState, ShareUpdate
from controller_runtime.identifiers import WallClock
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import (
    initialize_share_group_state_request,
    read_share_group_state_request,
    write_share_group_state_request,
)
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

WALL = WallClock(1_000)
PER_SNAPSHOT = 3


class Log:
    """Implements the topic's port: takes everything."""

    def __init__(self) -> None:
        world = World()
        world.start_broker(1)
        assert world.create("orders", 1, 1).error_code == 0
        self.image = world.image
        self.end = 0

    def append(self, _: int, __: bytes, ___: WallClock) -> int | ErrorCode:
        self.end += 1
        return self.end


class Story:
    """One key, initialized with a state epoch."""

    def __init__(self, state_epoch: int = 5) -> None:
        log = Log()
        self.partition = SharePartition(0, ShareStateSettings(updates_per_snapshot=PER_SNAPSHOT), log)
        self.key = ShareKey("g", log.image.topics.ids["orders"], 0)
        assert self.initialize(state_epoch) is ErrorCode.NONE

    def _done(self, decide: Decide, data: object) -> ErrorCode:
        self.decided: Decided = decide(self.partition, self.key, data, WALL)
        if self.decided.record is not None:
            assert self.partition.store([self.decided.record], WALL) is ErrorCode.NONE
        return ErrorCode(self.decided.answer.error_code)

    def initialize(self, state_epoch: int) -> ErrorCode:
        data = initialize_share_group_state_request.PartitionData(partition=0, state_epoch=state_epoch, start_offset=10)
        return self._done(initialize, data)

    def read(self, leader_epoch: int) -> ErrorCode:
        return self._done(read, read_share_group_state_request.PartitionData(partition=0, leader_epoch=leader_epoch))

    def write(self, state_epoch: int, leader_epoch: int, start: int = -1) -> ErrorCode:
        data = write_share_group_state_request.PartitionData(
            partition=0, state_epoch=state_epoch, leader_epoch=leader_epoch, start_offset=start
        )
        return self._done(write, data)

    @property
    def leader_epoch(self) -> int:
        return self.partition.entries[self.key].leader_epoch


def test_a_read_by_a_new_leader_shuts_the_old_one_out() -> None:
    """CGP-22: 74. It is written, so that it holds after a start; the same epoch again writes nothing."""
    story = Story()
    assert (story.read(7), story.leader_epoch) == (ErrorCode.NONE, 7)
    assert isinstance(story.decided.record and story.decided.record.value, ShareUpdate)
    assert (story.read(7), story.decided.record) == (ErrorCode.NONE, None)
    assert story.read(6) is ErrorCode.FENCED_LEADER_EPOCH
    assert story.write(5, 6) is ErrorCode.FENCED_LEADER_EPOCH
    assert (story.read(-1), story.decided.record, story.leader_epoch) == (ErrorCode.NONE, None, 7)


def test_a_write_raises_no_epoch_of_a_leader() -> None:
    """CGP-22: as in Kafka only a read does."""
    story = Story()
    assert (story.write(5, 9), story.leader_epoch) == (ErrorCode.NONE, 0)


def test_what_was_begun_anew_refuses_who_knows_it_as_it_was() -> None:
    """CGP-22: 124."""
    story = Story(5)
    assert story.write(4, 0) is ErrorCode.FENCED_STATE_EPOCH
    assert story.initialize(4) is ErrorCode.FENCED_STATE_EPOCH
    assert story.initialize(6) is ErrorCode.NONE
    assert story.write(5, 0) is ErrorCode.FENCED_STATE_EPOCH
    assert story.write(6, 0) is ErrorCode.NONE


def test_after_so_many_updates_a_snapshot_has_them_all_and_counting_begins_anew() -> None:
    """CGP-22: `share.coordinator.snapshot.update.records.per.snapshot`."""
    story = Story()
    kinds, epochs = [], []
    for number in range(2 * PER_SNAPSHOT + 2):
        assert story.write(5, 0, start=11 + number) is ErrorCode.NONE
        assert story.decided.record is not None
        value = story.decided.record.value
        assert value is not None
        kinds.append(type(value))
        epochs.append(value.snapshot_epoch)
    assert kinds == ([ShareUpdate] * PER_SNAPSHOT + [ShareState]) * 2
    assert epochs == [0] * PER_SNAPSHOT + [1] * (PER_SNAPSHOT + 1) + [2]
    assert story.partition.entries[story.key].state.start_offset == 10 + 2 * PER_SNAPSHOT + 2
