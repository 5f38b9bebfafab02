"""A broker that follows partitions of the one under test, as far as a test says: its fetches, its place in the image.

It keeps no log. What a follower of production does is in `controller_runtime.broker.replication`.
"""

from __future__ import annotations

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import fetch_request
from controller_runtime.protocol.messages.fetch_request import FetchRequest, ReplicaState
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from support.nodes.broker_world import BROKER, BrokerWorld
from support.nodes.controller_world import directory_of

FOLLOWER = 12


def ask_as_follower(
    topic_id: Uuid,
    index: int,
    offset: int,
    *,
    epoch: int = -1,
    last_epoch: int = -1,
    start: int = 0,
    broker: int = FOLLOWER,
    broker_epoch: int = -1,
    wait_ms: int = 0,
) -> FetchRequest:
    """A follower's request, as Java's are (version 17)."""
    one = fetch_request.FetchPartition(
        partition=index,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        log_start_offset=start,
        partition_max_bytes=1 << 20,
    )
    return FetchRequest(
        replica_state=ReplicaState(replica_id=broker, replica_epoch=broker_epoch),
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=10 << 20,
        topics=(fetch_request.FetchTopic(topic_id=topic_id, partitions=(one,)),),
    )


def fetched(answer: FetchResponse) -> PartitionData:
    return answer.responses[0].partitions[0]


def follow_from(world: BrokerWorld, topic: str, index: int, offset: int) -> None:
    """The follower is in sync, by the image, and has what is below `offset`."""
    topic_id = world.controller.image.topics.ids[topic]
    partition = world.controller.image.topics.partition(topic_id, index)
    assert partition is not None
    if FOLLOWER not in partition.replicas:
        change = PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=index,
            replicas=(BROKER, FOLLOWER),
            isr=(BROKER, FOLLOWER),
            leader=BROKER,
            directories=(partition.directory(BROKER), directory_of(FOLLOWER)),
        )
        world.controller.append([(change, change.VERSIONS.highest)])
        world.see_metadata()
    world.send(ask_as_follower(topic_id, index, offset), 17, connection=99)
