"""Consumers read from a replica in their own rack (KIP-392): leaders send them there, followers serve what they know to
be committed, and wake who waits. Three brokers of production, each in a rack of its own, copy from each other.
"""

from __future__ import annotations

import pytest

from controller_runtime.broker.replication.led_replicas import LedReplicas
from controller_runtime.broker.replication.preferred_replica import Reader, preferred_replica
from controller_runtime.broker.replication.remote_replica import RemoteReplica
from controller_runtime.identifiers import Instant, NodeId, PartitionId
from controller_runtime.metadata.cluster import ClusterImage
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from controller_runtime.protocol.messages.delete_records_response import DeleteRecordsResponse
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.values import replace
from support.clients.client_requests import fetch, produce, values
from support.nodes.broker_fleet import BrokerFleet

pytestmark = pytest.mark.unit

LEADER, NEAR, FAR = 11, 12, 13
RACKS = {LEADER: "a", NEAR: "b", FAR: "c"}
OLDEST_FROM_FOLLOWERS = 11
NEWEST_BY_NAME = 12


def fleet(*, sends_near: bool = True, written: int = 3) -> BrokerFleet:
    made = BrokerFleet(*RACKS, racks=RACKS, sends_near=sends_near)
    placed = (CreatableReplicaAssignment(partition_index=0, broker_ids=tuple(RACKS)),)
    assert made.controller.create("stock", -1, -1, assignments=placed).error_code == ErrorCode.NONE
    made.wait(1.0)
    for number in range(written):
        made.brokers[LEADER].send(produce("stock", b"%d" % number), 9)
        made.wait(0.5)
    made.wait(2.0)
    return made


def from_rack(rack: str, wait_ms: int = 0, min_bytes: int = 1) -> FetchRequest:
    return replace(fetch("stock", 0, wait_ms=wait_ms, min_bytes=min_bytes), rack_id=rack)


def asked(made: BrokerFleet, broker: int, request: FetchRequest, version: int = NEWEST_BY_NAME) -> PartitionData:
    return made.brokers[broker].ask(request, FetchResponse, version).responses[0].partitions[0]


def test_who_is_in_the_rack_of_a_follower_is_sent_there_at_once_and_gets_nothing_here() -> None:
    """FCH-17, FCH-18: also who would wait for more than there is."""
    made = fleet()
    found = asked(made, LEADER, from_rack("b", wait_ms=30_000, min_bytes=1 << 20))
    assert (found.error_code, found.preferred_read_replica, found.records) == (ErrorCode.NONE, NEAR, b"")
    assert (found.high_watermark, found.log_start_offset, found.aborted_transactions) == (3, 0, None)
    with_committed = replace(from_rack("b"), isolation_level=1)
    assert asked(made, LEADER, with_committed).aborted_transactions is None


@pytest.mark.parametrize("rack", ["", "a", "nowhere"])
def test_whoever_is_nearest_to_the_leader_is_served_by_it(rack: str) -> None:
    """FCH-17."""
    found = asked(fleet(), LEADER, from_rack(rack))
    assert (found.preferred_read_replica, bool(found.records)) == (-1, True)


def test_nobody_is_sent_away_unless_the_selector_is_set_nor_who_could_not_follow() -> None:
    """FCH-16: consumers before version 11 know no other replicas."""
    assert asked(fleet(sends_near=False), LEADER, from_rack("b")).preferred_read_replica == -1
    before = asked(fleet(), LEADER, fetch("stock", 0), OLDEST_FROM_FOLLOWERS - 1)
    assert (before.error_code, bool(before.records)) == (ErrorCode.NONE, True)


def test_a_follower_serves_consumers_up_to_the_high_watermark_that_it_has_heard_of() -> None:
    """FCH-16: whether or not the selector is set; an old consumer is told who leads."""
    made = fleet(sends_near=False)
    follower = made.brokers[NEAR]
    answer = follower.ask(fetch("stock", 0), FetchResponse, NEWEST_BY_NAME)
    assert values(answer) == [b"0", b"1", b"2"]
    old = asked(made, NEAR, fetch("stock", 0), OLDEST_FROM_FOLLOWERS - 1)
    assert old.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    made.cut = {FAR}
    made.brokers[LEADER].send(produce("stock", b"not on all", acks=1), 9)
    made.wait(1.0)
    assert made.log_bytes(NEAR, "stock") == made.log_bytes(LEADER, "stock"), "it has it"
    hidden = asked(made, NEAR, fetch("stock", 3))
    assert (hidden.error_code, hidden.records, hidden.high_watermark) == (ErrorCode.NONE, b"", 3)
    assert asked(made, NEAR, fetch("stock", 5)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_follower_judges_epochs_as_a_leader_does() -> None:
    made = fleet()
    epoch = made.controller.image.topics.partition(made.controller.image.topics.ids["stock"], 0)
    assert epoch is not None
    newer, known = epoch.leader_epoch + 1, epoch.leader_epoch
    assert asked(made, NEAR, fetch("stock", 0, epoch=newer)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert asked(made, NEAR, fetch("stock", 0, epoch=known)).error_code == ErrorCode.NONE
    unknown = fetch("stock", 1, epoch=known)
    (topic,) = unknown.topics
    (one,) = topic.partitions
    for last, code in ((known, ErrorCode.NONE), (newer, ErrorCode.OFFSET_OUT_OF_RANGE)):
        with_last = replace(one, last_fetched_epoch=last)
        request = replace(unknown, topics=(replace(topic, partitions=(with_last,)),))
        assert asked(made, NEAR, request).error_code == code


def test_who_waits_at_a_follower_is_woken_as_soon_as_its_high_watermark_moves() -> None:
    """FLW-16, KAFKA-14334: and not before."""
    made = fleet()
    waiting = made.brokers[NEAR].send(fetch("stock", 3, wait_ms=60_000), NEWEST_BY_NAME)
    made.wait(2.0)
    assert waiting not in made.brokers[NEAR].answers
    made.brokers[LEADER].send(produce("stock", b"new"), 9)
    made.wait(1.0)
    answer = made.brokers[NEAR].answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert values(answer) == [b"new"]


def test_who_waits_at_a_follower_that_leads_from_now_on_is_served_as_well() -> None:
    made = fleet()
    waiting = made.brokers[NEAR].send(fetch("stock", 3, wait_ms=60_000), NEWEST_BY_NAME)
    made.kill(LEADER)
    made.wait(20.0)
    leads = made.leader("stock")
    assert leads is not None
    leads.send(produce("stock", b"new"), 9)
    made.wait(60.0)
    answer = made.brokers[NEAR].answers[waiting]
    assert isinstance(answer, FetchResponse)
    assert values(answer) == [b"new"]


# The choice itself.

END = 100


def chosen(
    remotes: dict[int, tuple[int, int, float]], racks: dict[int, str], offset: int = 50, **more: str
) -> int | None:
    """`remotes`: from where, up to where, and when it was caught up."""
    made = BrokerFleet(*racks, racks=racks)
    cluster: ClusterImage = made.controller.image.cluster
    replicas = LedReplicas(
        isr=(LEADER, *(each for each in remotes if each != FAR)),
        remotes={
            broker: RemoteReplica(end_offset=end, start_offset=start, caught_up_at=Instant(at))
            for broker, (start, end, at) in remotes.items()
        },
    )
    reader = Reader(more.get("rack", "b"), more.get("listener", "PLAINTEXT"))
    return preferred_replica(NodeId(LEADER), replicas, offset, reader, cluster)


def test_the_most_complete_replica_of_a_rack_is_chosen_then_who_caught_up_last_then_the_highest_id() -> None:
    """FCH-17."""
    racks = {LEADER: "a", 14: "b", 15: "b"}
    assert chosen({14: (0, 90, 1.0), 15: (0, 80, 9.0)}, racks) == 14
    assert chosen({14: (0, 90, 1.0), 15: (0, 90, 9.0)}, racks) == 15
    assert chosen({14: (0, 90, 9.0), 15: (0, 90, 1.0)}, racks) == 14
    assert chosen({14: (0, 90, 1.0), 15: (0, 90, 1.0)}, racks) == 15


def test_only_who_is_in_sync_has_the_offset_and_is_reached_there_is_chosen() -> None:
    """FCH-17: in sync, from its beginning to its end, with a listener of the reader's."""
    racks = {LEADER: "a", NEAR: "b", FAR: "b"}
    assert chosen({NEAR: (0, END, 1.0), FAR: (0, END, 9.0)}, racks) == NEAR, "the other one is not in sync"
    for start, end, expected in ((50, END, NEAR), (51, END, None), (0, 50, NEAR), (0, 49, None)):
        assert chosen({NEAR: (start, end, 1.0)}, racks) == expected, (start, end)
    assert chosen({NEAR: (0, END, 1.0)}, racks, listener="CLIENTS") is None
    assert chosen({NEAR: (0, END, 1.0)}, {**racks, LEADER: "b"}) is None, "the leader is as near"
    assert preferred_replica(
        NodeId(LEADER), LedReplicas(), 0, Reader("b", "PLAINTEXT"), MetadataImage.empty().cluster
    ) is None  # fmt: skip


def test_records_are_deleted_on_every_replica_before_it_is_said() -> None:
    """QRY-09, with followers of production: they hear of it by an answer, and say so by their next fetch."""
    made = fleet()
    one = DeleteRecordsPartition(partition_index=0, offset=2)
    topics = (DeleteRecordsTopic(name="stock", partitions=(one,)),)
    leader = made.brokers[LEADER]
    request = leader.send(DeleteRecordsRequest(topics=topics, timeout_ms=30_000), 2)
    leader.settle()
    assert request not in leader.answers
    made.wait(3.0)
    answer = leader.answers[request]
    assert isinstance(answer, DeleteRecordsResponse)
    found = answer.topics[0].partitions[0]
    assert (found.error_code, found.low_watermark) == (ErrorCode.NONE, 2)
    key = PartitionId(made.controller.image.topics.ids["stock"], 0)
    logs = [world.service.partitions.open_log(key) for world in made.brokers.values()]
    assert [log.start_offset for log in logs if log is not None] == [2, 2, 2]
