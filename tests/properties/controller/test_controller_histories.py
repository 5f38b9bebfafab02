"""Whatever is asked of the controller, in whatever order, the cluster it describes stays sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import NO_LEADER
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.nodes.controller_world import World, directory_of

pytestmark = pytest.mark.properties

Act = Callable[[World], object]
BROKERS = st.integers(1, 4)
TOPICS = st.sampled_from(["stock", "mail", "trace"])


def registered(world: World, broker: int) -> bool:
    return NodeId(broker) in world.image.cluster.brokers


def register(broker: int, incarnation: int, rack: str | None, *, clean: bool) -> Act:
    def act(world: World) -> object:
        before = world.epoch(broker) if clean and registered(world, broker) else -1
        directories = (directory_of(broker), directory_of(broker, 2))[: 1 + broker % 2]
        return world.register(broker, incarnation, rack=rack, log_dirs=directories, previous_broker_epoch=before)

    return act


def heartbeat(broker: int, lag: int, *, fence: bool, shut_down: bool, failed: bool) -> Act:
    def act(world: World) -> object:
        if not registered(world, broker):
            return None
        offline = (directory_of(broker, 2),) if failed else ()
        offset = world.offset - lag
        return world.heartbeat(
            broker, current_metadata_offset=offset, want_fence=fence, want_shut_down=shut_down, offline_log_dirs=offline
        )

    return act


def allocate(broker: int) -> Act:
    def act(world: World) -> object:
        if not registered(world, broker):
            return None
        request = AllocateProducerIdsRequest(broker_id=broker, broker_epoch=world.epoch(broker))
        return world.ask(request, AllocateProducerIdsResponse)

    return act


ACTS = st.one_of(
    st.builds(register, BROKERS, st.integers(1, 2), st.sampled_from([None, "a", "b"]), clean=st.booleans()),
    st.builds(heartbeat, BROKERS, st.sampled_from([0, 0, 0, 5]), fence=st.sampled_from([False, False, True]),
              shut_down=st.sampled_from([False, False, True]), failed=st.sampled_from([False, False, True])),
    st.builds(heartbeat, BROKERS, st.just(0), fence=st.just(False), shut_down=st.just(False), failed=st.just(False)),
    st.builds(lambda name, count: lambda world: world.create(name, count), TOPICS, st.integers(1, 5)),
    TOPICS.map(lambda name: lambda world: world.decide(
        DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=1000))),
    BROKERS.map(lambda broker: lambda world: world.decide(UnregisterBrokerRequest(broker_id=broker))),
    BROKERS.map(allocate),
    st.sampled_from([0.1, 2.0, 5.0, 10.0]).map(lambda seconds: lambda world: world.wait(seconds)),
    st.just(lambda world: world.activate()),
)  # fmt: skip


def check_one(image: MetadataImage) -> None:
    """What holds of every image."""
    for topic in image.topics:
        assert image.topics.ids[topic.name] == topic.id
        indexes = [index for index, _ in topic.partitions()]
        assert indexes == list(range(topic.partition_count))
        for index, partition in topic.partitions():
            where = f"{topic.name}-{index}: {partition}"
            assert len(set(partition.replicas)) == len(partition.replicas) == len(partition.directories), where
            assert set(partition.isr) | set(partition.elr) <= set(partition.replicas), where
            assert not set(partition.isr) & set(partition.elr), where
            if partition.leader != NO_LEADER:
                assert partition.leader in partition.isr, where
                leader = image.cluster.brokers.get(NodeId(partition.leader))
                assert leader is not None, where
                assert not leader.fenced, where
                assert leader.has_online_directory(partition.directory(partition.leader)), where
    owners = [directory for broker in image.cluster.brokers.values() for directory in broker.directories]
    assert len(owners) == len(set(owners)), "two brokers own one directory"


def check_pair(before: MetadataImage, after: MetadataImage) -> None:
    """What holds from one image to the next."""
    assert after.next_producer_id >= before.next_producer_id
    for topic in after.topics:
        for index, now in topic.partitions():
            old = before.topics.partition(topic.id, index)
            if old is None:
                assert (now.leader_epoch, now.partition_epoch) == (0, 0)
                continue
            assert now.partition_epoch >= old.partition_epoch
            assert now.leader_epoch >= old.leader_epoch
            if now != old:
                assert now.partition_epoch > old.partition_epoch
            if now.leader != old.leader:
                assert now.leader_epoch > old.leader_epoch
    for broker in after.cluster.brokers.values():
        earlier = before.cluster.brokers.get(broker.id)
        if earlier is not None and earlier.incarnation_id != broker.incarnation_id:
            assert broker.epoch > earlier.epoch
            assert broker.fenced


@settings(max_examples=150, deadline=None)
@given(st.lists(ACTS, max_size=30), st.sampled_from([30, 25, 16, 7]))
def test_the_cluster_stays_sound(acts: list[Act], level: int) -> None:
    world = World(level=level)
    for act in acts:
        act(world)
    for image in world.history:
        check_one(image)
    for before, after in zip(world.history, world.history[1:], strict=False):
        check_pair(before, after)
    epochs = [r.broker_epoch for r, _ in world.log if type(r).__name__ == "RegisterBrokerRecord" and r.fenced]  # type: ignore[attr-defined]
    given_epochs = list(dict.fromkeys(epochs))  # an amended registration keeps its epoch
    assert given_epochs == sorted(given_epochs)
    ids = [r.topic_id for r, _ in world.log if type(r).__name__ == "TopicRecord"]  # type: ignore[attr-defined]
    assert len(ids) == len(set(ids)), "a topic id was used again"


@settings(max_examples=40, deadline=None)
@given(st.lists(ACTS, max_size=25))
def test_a_snapshot_of_the_history_is_the_history(acts: list[Act]) -> None:
    """QC-13."""
    world = World()
    for act in acts:
        act(world)
    reloaded = World()
    reloaded.image = MetadataImage.empty()
    reloaded.append(snapshot_records(world.image))
    assert reloaded.image == world.image
