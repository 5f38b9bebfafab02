"""What registrations and heartbeats change, at the levels where that changes: directories, features, controlled
shutdown, fencing.
"""

from __future__ import annotations

import pytest

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.activation import activation_records
from controller_runtime.controller.brokers import check_features
from controller_runtime.controller.decision import RequestContext
from controller_runtime.controller.heartbeats import BrokerState, Heartbeats, Wish, next_state
from controller_runtime.identifiers import Instant, NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.cluster import VersionRange
from controller_runtime.metadata.features import VersionedRecord, bootstrap_records, metadata_version
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from controller_runtime.protocol.messages.broker_registration_request import Feature
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from support.nodes.controller_world import ALL_FEATURES, World, directory_of, uuid

pytestmark = pytest.mark.unit


def on_broker(world: World, broker: int, name: str = "stock") -> Uuid:
    """A topic with one partition, on this broker alone."""
    there = CreatableReplicaAssignment(partition_index=0, broker_ids=(broker,))
    found = world.create(name, -1, -1, assignments=(there,))
    assert found.error_code == 0
    return found.topic_id


# A new leadership.


@pytest.mark.parametrize(("level", "transaction"), [(12, False), (13, True), (30, True)])
def test_the_bootstrap_records_are_a_transaction_from_3_6_on(level: int, transaction: bool) -> None:
    """QC-08: metadata.version 3.6-IV2 knows transactions; below, the one atomic batch is all there is."""
    names = [type(record).__name__ for record, _ in World(level=level).log]
    assert ("BeginTransactionRecord" in names, "EndTransactionRecord" in names) == (transaction, transaction)
    assert names[0] == ("BeginTransactionRecord" if transaction else "FeatureLevelRecord")


def test_the_first_level_with_transactions_can_abort_one() -> None:
    """QC-08."""
    torn = MetadataImage.empty().builder()
    replay(torn, BeginTransactionRecord(name="Bootstrap records"))
    replay(torn, FeatureLevelRecord(name="metadata.version", feature_level=13))
    names = [
        type(record).__name__
        for record, _ in activation_records(torn.freeze(), bootstrap_records(metadata_version(13).name))
    ]
    assert names[:2] == ["AbortTransactionRecord", "BeginTransactionRecord"]
    with pytest.raises(Refused, match="does not support transactions"):
        activation_records(torn.freeze(), bootstrap_records(metadata_version(12).name))


# Registrations.


@pytest.mark.parametrize(("level", "code"), [(16, 0), (17, 119)])
def test_directories_are_asked_for_from_3_7_iv2_on(level: int, code: int) -> None:
    """CLU-04."""
    assert World(level=level).register(1, log_dirs=()).error_code == code


def test_one_reserved_directory_among_others_is_refused() -> None:
    """CLU-04."""
    assert World().register(1, log_dirs=(directory_of(1), Uuid.of(0, 5))).error_code == 119


@pytest.mark.parametrize(("lowest", "highest", "code"), [(0, 3, 0), (0, 0, 0), (1, 3, 35)])
def test_a_feature_that_is_not_finalized_has_level_0(lowest: int, highest: int, code: int) -> None:
    """CLU-03."""
    future = Feature(name="future.version", min_supported_version=lowest, max_supported_version=highest)
    assert World().register(1, features=(*ALL_FEATURES, future)).error_code == code


def test_a_node_that_does_not_name_kraft_version_supports_its_level_0_only() -> None:
    """CLU-03."""
    image, supported = World().image, {"metadata.version": VersionRange(7, 30)}
    supported |= {
        name: VersionRange(0, level) for name, level in image.features.levels.items() if name not in supported
    }
    check_features(image, supported, 0)
    with pytest.raises(Refused, match=r"finalized version 1 of kraft.version. .* between 0 and 0, inclusive"):
        check_features(image, supported, 1)


# Controlled shutdown.


def shutting_down() -> World:
    """Broker 1 leads a partition and is on its way out; broker 2 has not said that it replayed that."""
    world = World()
    world.start_broker(1, log_dirs=(directory_of(1), directory_of(1, 2)))
    world.start_broker(2)
    on_broker(world, 1)
    world.heartbeat(1, want_shut_down=True)
    return world


@pytest.mark.parametrize(("behind", "done"), [(2, False), (1, True), (0, True)])
def test_a_broker_may_go_when_the_others_have_replayed_the_last_record_of_its_shutdown(behind: int, done: bool) -> None:
    """CLU-08: `behind` the end of the log; 1 is the last record."""
    world = shutting_down()
    end = world.offset
    world.heartbeat(2, current_metadata_offset=end - behind)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down is done


def test_the_records_of_a_failed_directory_are_part_of_the_shutdown_that_reports_it() -> None:
    """CLU-08: Kafka notes the end of all that one heartbeat led to."""
    world = World()
    world.start_broker(1, log_dirs=(directory_of(1), directory_of(1, 2)))
    world.start_broker(2)
    on_broker(world, 1)
    world.heartbeat(1, want_shut_down=True, offline_log_dirs=(directory_of(1, 2),))
    assert isinstance(world.log[-1][0], BrokerRegistrationChangeRecord)
    world.heartbeat(2, current_metadata_offset=world.offset - 2)
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down
    world.heartbeat(2, current_metadata_offset=world.offset - 1)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


def test_brokers_that_are_fenced_or_leave_themselves_hold_nobody_back() -> None:
    """CLU-08."""
    world = shutting_down()
    world.start_broker(3)
    world.heartbeat(3, want_fence=True, current_metadata_offset=0)
    on_broker(world, 2, "mail")
    world.heartbeat(2, want_shut_down=True, current_metadata_offset=0)
    assert world.heartbeat(1, want_shut_down=True).should_shut_down
    assert world.heartbeat(2, want_shut_down=True, current_metadata_offset=0).should_shut_down


def test_the_next_process_of_a_broker_waits_for_its_own_shutdown_and_not_for_that_of_the_one_before() -> None:
    """CLU-08, CLU-02: the first one crashed on its way out."""
    world = shutting_down()
    world.now = Instant(world.now + 9.1)
    world.heartbeat(2)
    assert world.register(1, incarnation=2).error_code == 0
    assert not world.heartbeat(1).is_fenced
    world.heartbeat(2)
    seen = world.offset
    on_broker(world, 1, "mail")
    world.heartbeat(1, want_shut_down=True)
    world.heartbeat(2, current_metadata_offset=seen)
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down


def test_a_broker_that_was_fenced_on_its_way_out_waits_for_its_next_shutdown() -> None:
    """CLU-08: fenced for its silence; then the same process comes back."""
    world = shutting_down()
    for _ in range(3):
        world.wait(4.0)
        world.heartbeat(2)
    assert world.image.cluster.brokers[NodeId(1)].fenced
    assert world.register(1, incarnation=2).error_code == 0
    world.heartbeat(1)
    world.heartbeat(2)
    seen = world.offset
    on_broker(world, 1, "mail")
    world.heartbeat(1, want_shut_down=True)
    world.heartbeat(2, current_metadata_offset=seen)
    assert not world.heartbeat(1, want_shut_down=True).should_shut_down


def test_nothing_is_waited_for_before_a_shutdown_began() -> None:
    """A new leader does not know when it began, nor what the others have replayed: Kafka's lets the broker go."""
    world = shutting_down()
    assert Heartbeats(9.0).others_caught_up(world.image, NodeId(1))
    world.activate()
    assert world.heartbeat(1, want_shut_down=True).should_shut_down


# Fencing and unfencing.


def test_who_has_been_silent_longest_is_fenced_first() -> None:
    """CLU-09."""
    world = World()
    for broker in (1, 2, 3):
        world.start_broker(broker)
    for broker in (2, 3, 1):
        world.now = Instant(world.now + 0.5)
        world.heartbeat(broker)
    world.now = Instant(world.now + 20.0)
    fenced: list[int] = []
    while len(fenced) < 3:
        world.now = Instant(world.now + 0.01)
        records = world.periodic()
        fenced += [record.broker_id for record, _ in records if isinstance(record, BrokerRegistrationChangeRecord)]
    assert fenced == [2, 3, 1]


def test_a_broker_that_this_registration_was_not_heard_of_is_the_first_to_be_fenced() -> None:
    """CLU-09."""
    world = World()
    for broker in (1, 2):
        world.start_broker(broker)
    brokers = world.image.cluster.brokers
    heartbeats = Heartbeats(9.0)
    heartbeats.touch(brokers[NodeId(1)], Instant(5.0), 0)
    assert heartbeats.stale_broker(world.image, Instant(100.0)) == brokers[NodeId(2)]
    before = brokers[NodeId(2)]
    world.wait(20.0)
    world.start_broker(1)
    world.start_broker(2, incarnation=2)
    brokers = world.image.cluster.brokers
    heartbeats.touch(brokers[NodeId(1)], Instant(5.0), 0)
    heartbeats.touch(before, Instant(6.0), 0)
    assert heartbeats.stale_broker(world.image, Instant(100.0)) == brokers[NodeId(2)]


def test_a_silence_is_told_in_seconds_until_the_broker_is_fenced_or_gone() -> None:
    world = World()
    for broker in (1, 2):
        world.start_broker(broker)
    world.now = Instant(world.now + 0.25)
    world.heartbeat(2)
    assert world.service.silences(world.now) == {1: 0.25, 2: 0.0}
    world.decide(UnregisterBrokerRequest(broker_id=2))
    assert world.service.silences(world.now) == {1: 0.25}
    world.wait(20.0)
    assert world.service.silences(world.now) == {}
    world.start_broker(1)
    world.service.deactivate()
    assert world.service.silences(world.now) == {}


def test_a_new_process_was_not_heard_of_by_its_registration() -> None:
    world = World()
    world.start_broker(1)
    world.now = Instant(world.now + 9.1)
    world.register(1, incarnation=2)
    assert world.service.silences(world.now) == {}


def test_a_process_that_may_end_is_recorded_as_fenced() -> None:
    with pytest.raises(AssertionError, match="recorded as fenced"):
        next_state(BrokerState.SHUTDOWN_NOW, Wish(False, False, True), leads=False, others_caught_up=True)


def test_a_broker_that_comes_back_changes_only_partitions_that_nobody_leads() -> None:
    """REP-08: one that broker 0 leads is left alone, even where a record would say more (the ELR was switched off
    since).
    """
    world = World(level=25)
    world.start_broker(0)
    world.register(1)
    topic = uuid("topic", 9)
    partition = PartitionRecord(
        topic_id=topic, partition_id=0, replicas=(0, 1), isr=(0,), leader=0, eligible_leader_replicas=(1,),
        directories=(directory_of(0), directory_of(1)),
    )  # fmt: skip
    world.append([(TopicRecord(name="mail", topic_id=topic), 0), (partition, 2)])
    before = len(world.log)
    assert not world.heartbeat(1).is_fenced
    assert [type(record).__name__ for record, _ in world.log[before:]] == ["BrokerRegistrationChangeRecord"]


# Log directories.


@pytest.mark.parametrize("level", [17, 30])
def test_the_first_level_that_knows_directories_hears_of_failed_ones(level: int) -> None:
    """REP-16."""
    world = World(level=level)
    world.start_broker(1, log_dirs=(directory_of(1), directory_of(1, 2)))
    world.heartbeat(1, offline_log_dirs=(directory_of(1),))
    assert world.image.cluster.brokers[NodeId(1)].directories == (directory_of(1, 2),)


def test_a_level_that_knows_no_directories_hears_of_no_failed_ones() -> None:
    """REP-16: below 3.7-IV2 there is no record for it."""
    world = World(level=16)
    world.start_broker(1)
    on_broker(world, 1)
    before = len(world.log)
    world.heartbeat(1, offline_log_dirs=(directory_of(1),))
    assert world.log[before:] == []


def cordon(world: World, directories: tuple[Uuid, ...] | None) -> list[VersionedRecord]:
    before = len(world.log)
    world.heartbeat(1, cordoned_log_dirs=directories)
    return world.log[before:]


def test_cordoned_directories_are_recorded_when_they_change() -> None:
    """KIP-1066."""
    world = World()
    world.start_broker(1, log_dirs=(directory_of(1), directory_of(1, 2)))
    for directories in ((directory_of(1),), (directory_of(1), directory_of(1, 2)), ()):
        change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=world.epoch(1), cordoned_log_dirs=directories)
        assert cordon(world, directories) == [(change, 3)]
        assert cordon(world, directories) == []
        assert cordon(world, None) == []


def test_cordoned_directories_are_not_known_below_4_3() -> None:
    """KIP-1066."""
    world = World(level=29)
    world.start_broker(1)
    assert cordon(world, (directory_of(1),)) == []


# Batches.


def test_only_what_cleans_up_after_brokers_may_be_split() -> None:
    """QC-06: their records have no bound, and each makes sense without those after it."""
    world = World()
    for _ in range(2):
        assert not world.decide(world.registration(1)).atomic
    unfencing = BrokerHeartbeatRequest(broker_id=1, broker_epoch=world.epoch(1), current_metadata_offset=world.offset)
    assert not world.decide(unfencing).atomic
    context = RequestContext(1, Offset(world.offset), WallClock(0), kraft_version=1)
    unregistration = UnregisterBrokerRequest(broker_id=1)
    assert not world.service.handle(world.image, unregistration, context, world.now).atomic
