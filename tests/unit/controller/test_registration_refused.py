"""Every way in which a registration is refused, and that a refusal writes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller_runtime.identifiers import Instant, NodeId, Uuid
from controller_runtime.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from controller_runtime.protocol.messages.controller_registration_request import Feature as ControllerFeature
from controller_runtime.protocol.messages.controller_registration_request import Listener as ControllerListener
from controller_runtime.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopicConfig
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from support.nodes.controller_world import ALL_FEATURES, World, directory_of, uuid

pytestmark = pytest.mark.unit

REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "another cluster": ({"cluster_id": "elsewhere"}, 104),
    "a ZooKeeper broker": ({"is_migrating_zk_broker": True}, 102),
    "no directory": ({"log_dirs": ()}, 119),
    "a directory twice": ({"log_dirs": (directory_of(2), directory_of(2))}, 119),
    "a reserved directory": ({"log_dirs": (Uuid.of(0, 5),)}, 119),
    "the directory of another broker": ({"log_dirs": (directory_of(1),)}, 119),
    "no metadata.version": ({"features": ()}, 119),
    "an old metadata.version": (
        {
            "features": tuple(
                replace(f, max_supported_version=20) if f.name == "metadata.version" else f for f in ALL_FEATURES
            )
        },
        35,
    ),
    "a feature it does not know": ({"features": ALL_FEATURES[:-1]}, 35),
    "no kraft.version 1": (
        {
            "features": tuple(
                replace(f, max_supported_version=0) if f.name == "kraft.version" else f for f in ALL_FEATURES
            )
        },
        35,
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_broker_is_refused(case: str) -> None:
    """CLU-03, CLU-04."""
    world = World()
    world.start_broker(1)
    changes, code = REFUSED[case]
    before = world.image
    assert world.register(2, **changes).error_code == code
    assert world.image == before


def test_another_process_is_refused_while_the_first_is_heard_of() -> None:
    """CLU-01."""
    world = World()
    world.start_broker(1)
    assert world.register(1, incarnation=2).error_code == 101
    world.wait(9.5)
    assert world.register(1, incarnation=2).error_code == 0


def test_a_process_that_never_sent_a_heartbeat_is_replaced_at_once() -> None:
    world = World()
    first = world.register(1)
    second = world.register(1, incarnation=2)
    assert second.error_code == 0
    assert second.broker_epoch > first.broker_epoch


def test_the_epoch_is_the_offset_of_the_registration_record() -> None:
    world = World()
    world.start_broker(1)
    world.create("stock", partitions=3)
    world.wait(12)
    world.register(1, incarnation=2)  # with records before it, for the partitions it may have lost
    record, _ = world.log[-1]
    assert isinstance(record, RegisterBrokerRecord)
    assert record.broker_epoch == world.offset - 1
    assert not world.heartbeat(1, current_metadata_offset=world.offset - 2).is_caught_up
    assert world.heartbeat(1, current_metadata_offset=world.offset - 1).is_caught_up


@pytest.mark.parametrize("unclean", ["false", "true"])
def test_a_crashed_process_leaves_the_isr_even_if_nobody_has_fenced_it_yet(unclean: str) -> None:
    """CLU-05: its session is over, but the fencing check has not come by. It leads nothing meanwhile, wherever unclean
    leaders are allowed.
    """
    world = World()
    world.start_broker(1)
    world.start_broker(2)
    there = CreatableReplicaAssignment(partition_index=0, broker_ids=(1,))
    config = CreatableTopicConfig(name="unclean.leader.election.enable", value=unclean)
    topic = world.create("stock", -1, -1, assignments=(there,), configs=(config,))
    world.now = Instant(world.now + 9.1)
    assert world.register(1, incarnation=2).error_code == 0
    partition = world.image.topics.partition(topic.topic_id, 0)
    assert partition is not None
    assert (partition.isr, partition.elr, partition.leader, partition.last_known_elr) == ((), (), -1, (1,))


def replicas_after_restart(previous: str, *, in_isr: bool) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """ISR, ELR and last known leader of a partition when its broker comes back, saying that its epoch was this one
    before.
    """
    world = World()
    world.start_broker(1)
    world.start_broker(2)
    there = CreatableReplicaAssignment(partition_index=0, broker_ids=(1,))
    topic = world.create("stock", -1, -1, assignments=(there,))
    epoch = world.epoch(1)
    if in_isr:
        world.now = Instant(world.now + 9.1)
    else:
        world.wait(20.0)
    told = {"the present one": epoch, "an earlier one": epoch - 1, "a later one": epoch + 1, "none": -1}[previous]
    assert world.register(1, incarnation=2, previous_broker_epoch=told).error_code == 0
    partition = world.image.topics.partition(topic.topic_id, 0)
    assert partition is not None
    return partition.isr, partition.elr, partition.last_known_elr


@pytest.mark.parametrize("previous", ["the present one", "an earlier one", "a later one", "none"])
@pytest.mark.parametrize("in_isr", [True, False], ids=["in the ISR", "eligible"])
def test_a_clean_shutdown_is_known_by_the_epoch_before_and_by_no_other(previous: str, in_isr: bool) -> None:
    """CLU-05: who names the epoch that is registered has lost nothing and stays eligible to lead; anybody else may have
    lost it.
    """
    isr, elr, last = replicas_after_restart(previous, in_isr=in_isr)
    assert isr == ()
    assert elr == ((1,) if previous == "the present one" else ())
    assert last == (1,)


@pytest.mark.parametrize(
    ("level", "version", "directories"), [(30, 4, 1), (29, 3, 1), (17, 3, 1), (16, 2, 0), (7, 1, 0)]
)
def test_the_record_follows_the_metadata_version(level: int, version: int, directories: int) -> None:
    """CLU-04."""
    world = World(level=level)
    world.register(1)
    record, written = world.log[-1]
    assert isinstance(record, RegisterBrokerRecord)
    assert (written, len(record.log_dirs)) == (version, directories)


def controller(**changes: object) -> ControllerRegistrationRequest:
    request = ControllerRegistrationRequest(
        controller_id=2,
        incarnation_id=uuid("start", 2),
        listeners=(ControllerListener(name="CONTROLLER", host="c2", port=9093),),
        features=tuple(
            ControllerFeature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in ALL_FEATURES
        ),
    )
    return replace(request, **changes)  # type: ignore[arg-type]


def test_a_controller_registers_and_a_new_process_replaces_it() -> None:
    """CLU-13."""
    world = World()
    assert world.ask(controller(), ControllerRegistrationResponse).error_code == 0
    assert world.ask(controller(incarnation_id=uuid("start", 3)), ControllerRegistrationResponse).error_code == 0
    registered = world.image.cluster.controllers[NodeId(2)]
    assert (registered.incarnation_id, registered.listeners["CONTROLLER"].host) == (uuid("start", 3), "c2")


def test_a_controller_is_refused_below_3_7_but_not_for_its_features() -> None:
    assert World(level=14).ask(controller(), ControllerRegistrationResponse).error_code == 35
    assert World(level=15).ask(controller(), ControllerRegistrationResponse).error_code == 0
    assert World().ask(controller(features=()), ControllerRegistrationResponse).error_code == 0
