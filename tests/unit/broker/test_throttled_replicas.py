"""QUO-05: a throttle of replication holds back who is not in sync, at the pace that it says, and nobody else."""

from __future__ import annotations

import pytest

from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.identifiers import PartitionId
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
)
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from support.clients.client_requests import produce
from support.nodes.broker_fleet import BrokerFleet

pytestmark = pytest.mark.unit

TOPIC, BROKER = 2, 4
LEADER, FOLLOWER, NEW = 11, 12, 13
BATCH = 10_000
COUNT = 60
RATE = 60_000
SECONDS = BATCH * COUNT / RATE
SIDES = ["leader", "follower"]


class Story:
    """`stock` is led by one broker and followed by another; a third one gets it, so much of it already written. Of
    `other` every broker has a replica that is in sync.
    """

    def __init__(self) -> None:
        pace = FetchSettings(partition_bytes=BATCH, answer_bytes=BATCH)
        self.fleet = BrokerFleet(LEADER, FOLLOWER, NEW, replica_fetch=pace)
        for name, brokers in (("stock", (LEADER, FOLLOWER)), ("other", (LEADER, FOLLOWER, NEW))):
            placed = (CreatableReplicaAssignment(partition_index=0, broker_ids=brokers),)
            created = self.fleet.controller.create(name, partitions=-1, factor=-1, assignments=placed)
            assert created.error_code == 0
        self.fleet.wait(0.5)
        for _ in range(COUNT):
            self.write("stock", BATCH)

    def write(self, topic: str, size: int) -> float:
        """How long all in sync need."""
        leader = self.fleet.brokers[LEADER]
        sent = leader.send(produce(topic, b"x" * size, timeout_ms=60_000), 9)
        before = self.now
        while sent not in leader.answers:
            self.fleet.step()
        answer = leader.answers[sent]
        assert isinstance(answer, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        return self.now - before

    @property
    def now(self) -> float:
        return self.fleet.controller.now

    @property
    def registered(self) -> Partition:
        topics = self.fleet.controller.image.topics
        found = topics.partition(topics.ids["stock"], 0)
        assert found is not None
        return found

    def configure(self, kind: int, name: str, **values: str) -> None:
        for key, value in values.items():
            told = ConfigRecord(resource_type=kind, resource_name=name, name=key.replace("_", "."), value=value)
            self.fleet.controller.append([(told, told.VERSIONS.highest)])

    def throttle(self, side: str, replicas: str = "*", rate: int = RATE, brokers: tuple[str, ...] = ("",)) -> None:
        for topic in ("stock", "other"):
            self.configure(TOPIC, topic, **{f"{side}_replication_throttled_replicas": replicas})
        for name in brokers:
            self.configure(BROKER, name, **{f"{side}_replication_throttled_rate": str(rate)})
        self.fleet.wait(0.1)

    def reassign(self) -> None:
        wanted = reassign_q.ReassignablePartition(partition_index=0, replicas=(LEADER, FOLLOWER, NEW))
        topic = reassign_q.ReassignableTopic(name="stock", partitions=(wanted,))
        asked = reassign_q.AlterPartitionReassignmentsRequest(topics=(topic,))
        assert self.fleet.controller.ask(asked, AlterPartitionReassignmentsResponse).error_code == 0

    def seconds_until_in_sync(self, at_most: float) -> float:
        before = self.now
        while NEW not in self.registered.isr and self.now < before + at_most:
            self.fleet.step()
        return self.now - before

    def has(self, broker: int) -> int:
        """So much is written there."""
        key = PartitionId(self.fleet.controller.image.topics.ids["stock"], 0)
        log = self.fleet.brokers[broker].service.partitions.open_log(key)
        return 0 if log is None else log.written_offset


@pytest.mark.parametrize("side", SIDES)
def test_a_reassignment_takes_as_long_as_its_throttle_says_and_in_sync_replicas_never_wait(side: str) -> None:
    """What is acknowledged meanwhile needs followers that are in sync, and are listed, too."""
    story = Story()
    story.throttle(side)
    story.reassign()
    began = story.now
    waited = []
    while NEW not in story.registered.isr and story.now < began + 10 * SECONDS:
        waited.append(max(story.write(topic, 100) for topic in ("stock", "other")))
        story.fleet.wait(0.25)
    assert 0.8 * SECONDS < story.now - began < 2 * SECONDS
    assert max(waited) < 0.5


@pytest.mark.parametrize(
    "replicas",
    ["", f"0:{FOLLOWER}", f"1:{LEADER},1:{NEW}", f"{'9' * 5000}:{LEADER},0:{'9' * 5000}"],
    ids=["none", "others", "elsewhere", "numbers-of-5000-digits"],
)
@pytest.mark.parametrize("side", SIDES)
def test_what_is_not_listed_is_not_throttled(side: str, replicas: str) -> None:
    story = Story()
    story.throttle(side, replicas, rate=1)
    story.reassign()
    assert story.seconds_until_in_sync(SECONDS) < 0.8 * SECONDS


@pytest.mark.parametrize("side", SIDES)
def test_a_throttle_is_lifted_at_once_and_a_brokers_own_counts_before_that_of_all(side: str) -> None:
    story = Story()
    own = str(LEADER if side == "leader" else NEW)
    story.throttle(side, f"0:{own}", rate=1, brokers=(own,))
    story.configure(BROKER, "", **{f"{side}_replication_throttled_rate": "100000000"})
    story.reassign()
    story.fleet.wait(2 * SECONDS)
    assert 0 < story.has(NEW) < COUNT / 4, "a rate is seen to be exceeded after something was copied"
    story.configure(BROKER, own, **{f"{side}_replication_throttled_rate": "100000000"})
    assert story.seconds_until_in_sync(SECONDS) < 0.8 * SECONDS
