"""REP-08, REP-10, REP-14, REP-15: what becomes of a partition when its replicas come and go, rule by rule, with
replicas that we do not make yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller_runtime.controller.partition_changes import PartitionChange, Policy
from controller_runtime.identifiers import DirectoryId
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from support.nodes.controller_world import World, directory_of, uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 9)
ELSEWHERE = DirectoryId(directory_of(1, 7))


def partition(isr: tuple[int, ...], leader: int, **others: Any) -> Partition:
    """Replicas 0, 1, 2, each in its only directory."""
    directories = tuple(DirectoryId(directory_of(broker)) for broker in (0, 1, 2))
    return replace(Partition(replicas=(0, 1, 2), directories=directories, isr=isr, leader=leader), **others)


def changed(
    old: Partition, isr: tuple[int, ...], alive: set[int], *, elr: bool = True, least: int = 2, **others: Any
) -> dict[str, Any] | None:
    """What the record says when the ISR is to be this and these brokers may lead; nothing when there is no record."""
    unclean_shutdown = others.pop("unclean_shutdown", ())
    policy = Policy(
        metadata_version=others.pop("level", 30),
        elr_enabled=elr,
        may_lead=alive.__contains__,
        min_insync_replicas=least,
        unclean_election=others.pop("unclean", False),
    )
    change = PartitionChange.of(old, TOPIC, 4, policy)
    change.isr, change.unclean_shutdown = isr, unclean_shutdown
    for broker, directory in others.pop("moved", {}).items():
        change.set_directory(broker, directory)
    assert not others
    made = change.build()
    if made is None:
        return None
    record, _ = made
    assert isinstance(record, PartitionChangeRecord)
    assert (record.topic_id, record.partition_id) == (TOPIC, 4)
    return {
        spec.name: getattr(record, spec.name)
        for spec in record.FIELDS
        if spec.name not in {"topic_id", "partition_id"} and getattr(record, spec.name) != spec.default
    }


ALL = {0, 1, 2}
CHANGES: dict[str, tuple[Callable[[], dict[str, Any] | None], dict[str, Any] | None]] = {
    # Who leads.
    "nothing changes": (lambda: changed(partition((0, 1, 2), 1), (0, 1, 2), ALL), None),
    "the leader stays, whoever stands before it": (lambda: changed(partition((0, 1, 2), 1), (0, 1), ALL),
        {"isr": (0, 1)}),
    "the first in the order of the replicas follows": (
        lambda: changed(partition((2, 1, 0), 1), (2, 0), {0, 2}),
        {"isr": (2, 0), "leader": 0},
    ),
    "who may not lead is passed over": (lambda: changed(partition((0, 1, 2), 1), (0, 2), {2}),
        {"isr": (0, 2), "leader": 2}),
    "who is not in sync is passed over": (lambda: changed(partition((1, 2), 1), (2,), ALL, least=1),
        {"isr": (2,), "leader": 2}),
    # The ISR becomes empty: who led it last is remembered, and forgotten when somebody leads again.
    "the last of the ISR goes": (
        lambda: changed(partition((0,), 0), (), {1, 2}),
        {"isr": (), "leader": -1, "eligible_leader_replicas": (0,), "last_known_elr": (0,)},
    ),
    "it is remembered once": (
        lambda: changed(partition((0,), 0, elr=(1,), last_known_elr=(0,)), (), set()),
        {"isr": (), "leader": -1, "eligible_leader_replicas": (0, 1)},
    ),
    "broker 0 leads again": (
        lambda: changed(partition((), -1, elr=(0,), last_known_elr=(0,)), (), {0}),
        {"isr": (0,), "leader": 0, "eligible_leader_replicas": (), "last_known_elr": ()},
    ),
    "an eligible one leads, and the others stay eligible": (
        lambda: changed(partition((), -1, elr=(1, 2), last_known_elr=(1,)), (), {2}),
        {"isr": (2,), "leader": 2, "eligible_leader_replicas": (1,), "last_known_elr": ()},
    ),
    "a leader that stays is no news": (
        lambda: changed(partition((1, 2), 1, last_known_elr=(0,)), (1,), ALL, least=1),
        {"isr": (1,)},
    ),
    "nobody is eligible while one is in sync": (
        lambda: changed(partition((0,), 0, elr=(1,)), (0,), {1}),
        {"leader": -1, "last_known_elr": (0,)},
    ),
    # Unclean elections.
    "the last known leader leads when nobody is eligible": (
        lambda: changed(partition((), -1, last_known_elr=(2,)), (), ALL),
        {"isr": (2,), "leader": 2, "leader_recovery_state": 1, "last_known_elr": ()},
    ),
    "one of two last known leaders is no such": (lambda: changed(partition((), -1, last_known_elr=(1, 2)), (), ALL),
        None),
    "a last known leader that may not lead does not": (lambda: changed(partition((), -1, last_known_elr=(2,)), (), {1}),
        None),
    "without leave, nobody out of sync leads": (
        lambda: changed(partition((0,), 0), (), {1, 2}, unclean_shutdown=(0,)),
        {"isr": (), "leader": -1, "last_known_elr": (0,)},
    ),
    "with leave, the first that may does": (
        lambda: changed(partition((0,), 0), (), {1, 2}, unclean=True),
        {"isr": (1,), "leader": 1, "leader_recovery_state": 1},
    ),
    "who recovers already goes on": (
        lambda: changed(partition((0,), 0, leader_recovery_state=1), (), {1, 2}, unclean=True),
        {"isr": (1,), "leader": 1},
    ),
    "with leave, and nobody there": (
        lambda: changed(partition((0,), 0), (), set(), unclean=True),
        {"isr": (), "leader": -1, "eligible_leader_replicas": (0,), "last_known_elr": (0,)},
    ),
    "leave is not needed for one in sync": (
        lambda: changed(partition((0, 1), 0), (1,), {1, 2}, unclean=True, least=1),
        {"isr": (1,), "leader": 1},
    ),
    # Who is eligible.
    "below the least of the ISR, who leaves is eligible": (
        lambda: changed(partition((0, 1, 2), 0), (0,), {0}),
        {"isr": (0,), "eligible_leader_replicas": (1, 2)},
    ),
    "at the least, nobody is": (
        lambda: changed(partition((0,), 0, elr=(1,)), (0, 2), {0, 2}),
        {"isr": (0, 2), "eligible_leader_replicas": ()},
    ),
    "the least is not above the replicas": (
        lambda: changed(partition((0, 1, 2), 0, elr=()), (0, 1, 2), ALL, least=9, moved={1: ELSEWHERE}),
        {"directories": (directory_of(0), ELSEWHERE, directory_of(2))},
    ),
    "who lost its tail is not": (
        lambda: changed(partition((0, 1), 0, elr=(2,)), (0,), {0}, unclean_shutdown=(1, 2)),
        {"isr": (0,), "eligible_leader_replicas": ()},
    ),
    # Without the ELR.
    "the last member stays, and nobody leads": (lambda: changed(partition((0,), 0), (), {1, 2}, elr=False),
        {"leader": -1}),
    "the others leave": (lambda: changed(partition((0, 1), 0), (1,), {1}, elr=False), {"isr": (1,), "leader": 1}),
    "what is left of the ELR goes": (
        lambda: changed(partition((0,), 0, elr=(1,), last_known_elr=(1,)), (0,), {0}, elr=False),
        {"eligible_leader_replicas": ()},
    ),
    "an eligible replica of former times does not lead": (
        lambda: changed(partition((), -1, elr=(1,)), (), {1}, elr=False),
        {"eligible_leader_replicas": ()},
    ),
    # The epoch of the leader: a record that names the present one raises it.
    "a smaller ISR raises it below 3.6-IV0": (
        lambda: changed(partition((0, 1, 2), 0), (0, 1), ALL, elr=False, level=11),
        {"isr": (0, 1), "leader": 0},
    ),
    "but not from there on": (
        lambda: changed(partition((0, 1, 2), 0), (0, 1), ALL, elr=False, level=12),
        {"isr": (0, 1)},
    ),
    "a larger one never does": (lambda: changed(partition((0,), 0), (0, 1), ALL, elr=False, level=11), {"isr": (0, 1)}),
    "nor does an equal one": (
        lambda: changed(partition((0, 1), 0), (0, 1), ALL, elr=False, level=11, moved={1: ELSEWHERE}),
        {"directories": (directory_of(0), ELSEWHERE, directory_of(2))},
    ),
    "another leader does anyway": (
        lambda: changed(partition((0, 1), 0), (1,), {1}, elr=False, level=11),
        {"isr": (1,), "leader": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_the_record_says(case: str) -> None:
    made, expected = CHANGES[case]
    assert made() == expected


# What the rules are asked with.


def world_with(configs: Mapping[str, str], level: int = 25, elr: int = 0, first: tuple[int, ...] = (0, 1, 2)) -> World:
    """Topic `mail` with these configurations: partition 0 on the `first` brokers, partition 1 on 0, 1 and 2, all in
    sync, led by 0.
    """
    world = World(level=level)
    for broker in (0, 1, 2):
        world.start_broker(broker, log_dirs=(directory_of(broker), directory_of(broker, 2)))
    world.append([(TopicRecord(name="mail", topic_id=TOPIC), 0)])
    if elr:
        world.append([(FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=elr), 0)])
    for name, value in configs.items():
        config = ConfigRecord(resource_type=2, resource_name="mail", name=name, value=value)
        world.append([(config, 0)])
    for index, replicas in enumerate((first, (0, 1, 2))):
        record = PartitionRecord(
            topic_id=TOPIC,
            partition_id=index,
            replicas=replicas,
            isr=replicas,
            leader=replicas[0],
            directories=tuple(directory_of(broker) for broker in replicas),
        )
        world.append([(record, 1)])
    return world


def fence(world: World, *brokers: int) -> Partition:
    """Partition 1 after these brokers left, one after the other."""
    for broker in brokers:
        world.heartbeat(broker, want_fence=True)
    found = world.image.topics.partition(TOPIC, 1)
    assert found is not None
    return found


@pytest.mark.parametrize(("level", "feature", "eligible"), [(25, 0, False), (25, 1, True), (23, 1, True)])
def test_replicas_are_eligible_where_the_feature_is_on(level: int, feature: int, eligible: bool) -> None:
    """KIP-966: without it, the last one stays in the ISR."""
    found = fence(world_with({}, level, feature), 0, 1, 2)
    assert (found.isr, found.elr) == (((), (2,)) if eligible else ((2,), ()))


@pytest.mark.parametrize(
    ("least", "first", "elr"),
    [
        (None, (0, 1, 2), ()),
        ("2", (0, 1, 2), (1,)),
        ("3", (0, 1, 2), (0, 1)),
        ("2", (1,), ()),
        ("3", (0, 1), (1,)),
        ("many", (0, 1, 2), ()),
    ],
)
def test_the_least_in_sync_is_what_the_topic_says_and_no_more_than_its_first_partition_has(
    least: str | None, first: tuple[int, ...], elr: tuple[int, ...]
) -> None:
    """KIP-966: those who left while fewer than that were in sync are eligible. What is no number counts as 1."""
    configs = {} if least is None else {"min.insync.replicas": least}
    found = fence(world_with(configs, elr=1, first=first), 0, 1)
    assert (found.isr, found.elr) == ((2,), elr)


@pytest.mark.parametrize(
    ("configs", "leader"),
    [
        ({"unclean.leader.election.enable": "true"}, 1),
        ({"unclean.leader.election.enable": " TRUE "}, 1),
        ({"unclean.leader.election.enable": "false"}, -1),
        ({}, -1),
    ],
)
def test_one_that_is_not_in_sync_leads_where_the_topic_allows_it(configs: dict[str, str], leader: int) -> None:
    """REP-10, REP-15."""
    world = world_with(configs)
    fence(world, 1, 2)
    world.heartbeat(1)
    found = fence(world, 0)
    assert (found.leader, found.leader_recovery_state) == (leader, int(leader == 1))


def test_a_replica_on_a_failed_directory_does_not_lead() -> None:
    """REP-16: not even where anybody may; its broker is there, but for its directory."""
    world = world_with({"unclean.leader.election.enable": "true"})
    world.heartbeat(1, offline_log_dirs=(directory_of(1),))
    assert fence(world, 2, 0).leader == -1
