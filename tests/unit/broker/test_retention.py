"""Retention as clients of a broker see it: topics say what is kept, at once, and logs begin later."""

from __future__ import annotations

import pytest

from controller_runtime.broker.effects import LogBegins
from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopicConfig
from support.nodes.broker_world import BrokerWorld
from unit.broker.test_changed_segments import BROKER, TOPIC, alter, produce_at
from unit.broker.test_deleted_records import delete, read

pytestmark = pytest.mark.unit


def world_of(**configs: str) -> BrokerWorld:
    """Three segments, of the times 1000, 2000 and 3000 before now."""
    world = BrokerWorld()
    world.start()
    wanted = tuple(
        CreatableTopicConfig(name=name, value=value) for name, value in {"segment.ms": "1", **configs}.items()
    )
    assert world.controller.create("t", configs=wanted).error_code == 0
    world.settle()
    produce_at(world, "t", *(world.wall - ago for ago in (3_000, 2_000, 1_000)))
    return world


def start(world: BrokerWorld) -> int:
    """As readers are told: what lies below is out of range."""
    return next(offset for offset in range(9) if read(world, offset) != ErrorCode.OFFSET_OUT_OF_RANGE)


@pytest.mark.parametrize(
    ("resource_type", "resource", "name", "value", "begins"),
    [
        (TOPIC, "t", "retention.ms", "2500", 1),
        (TOPIC, "t", "retention.bytes", "300", 1),
        (TOPIC, "t", "retention.bytes", "1", 2),
        (TOPIC, "t", "retention.ms", "0", 3),
        (BROKER, "", "log.retention.ms", "1500", 2),
        (BROKER, "11", "log.retention.ms", "1500", 2),
    ],
)
def test_a_changed_rule_holds_at_the_next_look(
    resource_type: int, resource: str, name: str, value: str, begins: int
) -> None:
    """LOG-20."""
    world = world_of()
    world.retain()
    assert start(world) == 0
    alter(world, resource_type, resource, name, value)
    world.retain()
    assert start(world) == begins


def test_a_topic_that_does_not_delete_any_more_keeps_what_is_old() -> None:
    """LOG-23."""
    world = world_of(**{"retention.ms": "1"})
    alter(world, TOPIC, "t", "cleanup.policy", "compact")
    world.retain()
    assert start(world) == 0
    alter(world, TOPIC, "t", "cleanup.policy", "compact,delete")
    world.retain()
    assert start(world) == 3


def test_the_start_survives_a_crash_and_is_written_down_only_where_no_segment_says_it() -> None:
    world = world_of(**{"retention.ms": "1500"})
    world.retain()
    world.manager.checkpoint(world.service.partitions.high_watermarks())
    assert world.disk.open("/data/log-start-offset-checkpoint").read_at(0, 99) == b"0\n0\n"
    again = world.restarted()
    again.start()
    assert start(again) == 2
    assert delete(again, 3) == (ErrorCode.NONE, 3)
    again.manager.checkpoint(again.service.partitions.high_watermarks())
    assert again.disk.open("/data/log-start-offset-checkpoint").read_at(0, 99) == b"0\n1\nt 0 3\n"
    again = again.restarted()
    again.start()
    assert start(again) == 3


@pytest.mark.parametrize(
    ("name", "of_broker"), [("file.delete.delay.ms", False), ("log.segment.delete.delay.ms", True)]
)
def test_a_changed_delay_holds_for_what_is_deleted_next(name: str, of_broker: bool) -> None:
    """LOG-24."""
    world = world_of(**{"retention.bytes": "300"})
    alter(world, *((BROKER, "") if name.startswith("log.") else (TOPIC, "t")), name, "77")
    world.retain()
    (directory,) = world.manager.directories.values()
    assert [grave.delay_ms for grave in directory.graves] == [77]


def test_files_go_when_their_time_has_come() -> None:
    """LOG-24."""
    world = world_of(**{"retention.ms": "1500"})
    world.retain()
    names = world.disk.list_directory("/data/t-0")
    assert sum(name.endswith(".log.deleted") for name in names) == 2
    world.work.bury()
    assert [name for name in world.disk.list_directory("/data/t-0") if ".deleted" in name] == []
    assert start(world) == 2


def test_news_of_a_beginning_that_is_overtaken_change_nothing() -> None:
    world = world_of()
    topic = world.controller.image.topics.named("t")
    assert topic is not None
    key = PartitionId(topic.id, 0)
    assert delete(world, 2) == (ErrorCode.NONE, 2)
    for late in (1, 2, 9):
        world.happen(LogBegins(key, late))
        assert start(world) == 2
    world.happen(LogBegins(PartitionId(topic.id, 5), 1))
    assert start(world) == 2
