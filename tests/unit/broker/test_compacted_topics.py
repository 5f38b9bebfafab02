"""Compaction as clients of a broker see it: what topics say of it holds at the next round, damage stays where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.broker.effects import CutLog
from controller_runtime.configuration.config import load
from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.messages.create_topics_request import CreatableTopicConfig
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from controller_runtime.server.shell.upkeep_settings import upkeep_settings
from controller_runtime.storage.compaction.cleaning import CleanerSettings
from support.clients.client_requests import fetch
from support.nodes.broker_world import BrokerWorld
from unit.broker.test_changed_segments import BROKER, TOPIC, alter

pytestmark = pytest.mark.unit

CHECKPOINT = "/data/cleaner-offset-checkpoint"
COMPACT = {"cleanup.policy": "compact", "segment.ms": "1"}


def world_of(*topics: str, **configs: str) -> BrokerWorld:
    world = BrokerWorld()
    world.start()
    values = {**COMPACT, **configs}
    wanted = tuple(CreatableTopicConfig(name=name, value=value) for name, value in values.items())
    for topic in topics or ("t",):
        assert world.controller.create(topic, configs=wanted).error_code == 0
    world.settle()
    return world


def write(world: BrokerWorld, *pairs: str, topic: str = "t", at: int = 0) -> None:
    """A batch, and so a segment, for each key and value: without a value a tombstone."""
    for number, pair in enumerate(pairs):
        time = (at or world.wall - 100_000) + 10 * number
        records = encode_batch([Record(0, time, pair[:1].encode(), pair[1:].encode() or None)])
        data = (TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=records),)),)
        answer = world.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0


def read(world: BrokerWorld, topic: str = "t") -> list[str]:
    found: list[str] = []
    offset = 0
    while True:
        wanted = world.controller.image.topics.named(topic)
        assert wanted is not None
        answer = world.ask(fetch("", offset, topic_id=wanted.id), FetchResponse)
        partition = answer.responses[0].partitions[0]
        assert partition.error_code == 0
        batches = decode_batches(partition.records or b"")
        if not batches:
            return found
        found += [((one.key or b"") + (one.value or b"")).decode() for batch in batches for one in batch.records]
        offset = batches[-1].header.next_offset


def checkpoint(world: BrokerWorld) -> str:
    file = world.disk.open(CHECKPOINT)
    return file.read_at(0, file.size()).decode()


def key_of(world: BrokerWorld, topic: str = "t") -> PartitionId:
    found = world.controller.image.topics.named(topic)
    assert found is not None
    return PartitionId(found.id, 0)


def test_a_compacted_topic_keeps_the_last_value_of_each_key() -> None:
    """CLN-04, and `cleaner-offset-checkpoint` as Kafka writes it."""
    world = world_of()
    write(world, "a1", "b1", "a2", "c1", "a3")
    world.compact()
    assert read(world) == ["b1", "a2", "c1", "a3"], "the active segment is not looked at"
    assert checkpoint(world) == "0\n1\nt 0 4\n"
    write(world, "d1", "e1", "f1", "g1", "h1", at=world.wall - 50_000)
    again = world.restarted()
    again.start()
    again.compact()
    assert read(again) == ["b1", "c1", "a3", "d1", "e1", "f1", "g1", "h1"]
    assert checkpoint(again) == "0\n1\nt 0 9\n"


@pytest.mark.parametrize(
    ("name", "of_broker", "first", "then"),
    [
        ("cleanup.policy", "log.cleanup.policy", "delete", "compact"),
        ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "1", "0.9"),
        ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", "200000", "1000"),
    ],
)
@pytest.mark.parametrize("resource", [(TOPIC, "t"), (BROKER, ""), (BROKER, "11")])
def test_a_changed_rule_holds_at_the_next_round(
    resource: tuple[int, str], name: str, of_broker: str, first: str, then: str
) -> None:
    """CLN-01, CLN-02."""
    world = world_of("u")
    assert world.controller.create("t", configs=(CreatableTopicConfig(name="segment.ms", value="1"),)).error_code == 0
    if name != "cleanup.policy":
        alter(world, TOPIC, "t", "cleanup.policy", "compact")
    said = name if resource[0] == TOPIC else of_broker
    alter(world, *resource, said, first)
    write(world, "a1", "a2", "a3")
    world.compact()
    assert read(world) == ["a1", "a2", "a3"]
    alter(world, *resource, said, then)
    world.compact()
    assert read(world) == ["a2", "a3"]


def test_what_is_too_old_is_compacted_whatever_the_ratio_says() -> None:
    """CLN-03, KIP-354: and what is to be compacted by then is in a closed segment."""
    world = world_of(**{"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "200000", "segment.ms": "604800000"})
    old = world.wall - 150_000
    write(world, "a1", "a2", "a3", at=old)
    write(world, "b1", at=old + 200_011)
    world.compact()
    assert read(world) == ["a1", "a2", "a3", "b1"]
    world.compact(ahead_ms=60_000)
    assert read(world) == ["a3", "b1"]


def test_a_tombstone_goes_when_the_topic_says_so() -> None:
    """CLN-05."""
    world = world_of(**{"delete.retention.ms": "1000"})
    write(world, "a1", "a", "b1", "c1")
    world.compact()
    assert read(world) == ["a", "b1", "c1"]
    write(world, "d1", "e1", "f1", "g1", "h1", at=world.wall - 50_000)
    world.compact(ahead_ms=2_000)
    assert read(world) == ["b1", "c1", "d1", "e1", "f1", "g1", "h1"]


def test_a_damaged_log_is_told_of_and_the_others_are_compacted(caplog: pytest.LogCaptureFixture) -> None:
    """CLN-14: it is not tried again, and nothing of it is changed."""
    world = world_of("bad", "good")
    for topic in ("bad", "good"):
        write(world, "a1", "a2", "a3", "a4", topic=topic)
    path = f"/data/bad-0/{1:020}.log"
    world.disk.open(path).write_at(65, b"?")
    world.compact()
    assert read(world, "good") == ["a3", "a4"]
    (told,) = [text for record in caplog.records if "restore the replica" in (text := record.getMessage())]
    assert told.endswith(f"{path} at byte 0: checksum of the batch at offset 1 does not hold")
    caplog.clear()
    world.compact()
    assert caplog.records == []
    assert checkpoint(world) == "0\n1\ngood 0 3\n"
    assert not [name for name in world.disk.list_directory("/data/bad-0") if name.endswith(".cleaned")]


def test_what_is_written_where_a_log_was_cut_is_dirty() -> None:
    """CLN-15, CLN-16: also when the log is longer than before by then."""
    world = world_of()
    write(world, "a1", "b1", "c1", "d1", "e1")
    world.compact()
    assert checkpoint(world) == "0\n1\nt 0 4\n"
    world.work.cut(CutLog(key_of(world), 2))
    assert checkpoint(world) == "0\n1\nt 0 2\n"


def test_a_deleted_topic_is_not_clean_when_it_comes_back() -> None:
    world = world_of()
    write(world, "a1", "a2", "a3")
    world.compact()
    assert checkpoint(world) == "0\n1\nt 0 2\n"
    world.controller.decide(DeleteTopicsRequest(topics=(DeleteTopicState(name="t"),), timeout_ms=1000))
    world.settle()
    assert checkpoint(world) == "0\n0\n"


def test_a_checkpoint_that_cannot_be_right_costs_another_cleaning() -> None:
    """LOG-27, CLN-15."""
    for content in (b"0\n1\nt 0 99\n", b"nonsense", b"0\n7\nt 0 2\n"):
        world = world_of()
        write(world, "a1", "a2", "a3")
        disk = world.disk
        disk.open(CHECKPOINT, create=True).write_at(0, content)
        again = world.restarted()
        again.start()
        again.compact()
        assert read(again) == ["a2", "a3"], content
        assert checkpoint(again) == "0\n1\nt 0 2\n"


def test_the_cleaner_is_set_up_by_the_file_and_by_dynamic_configurations(tmp_path: Path) -> None:
    """Each round asks anew; a directory has its share of the memory."""
    file = tmp_path / "server.properties"
    lines = (
        "process.roles=broker", "node.id=11", "controller.quorum.bootstrap.servers=localhost:9093",
        "controller.listener.names=CONTROLLER", "listeners=PLAINTEXT://:9092", "log.dirs=/a,/b",
        "log.cleaner.io.buffer.size=1000", "log.cleaner.backoff.ms=7000", "log.cleaner.enable=false",
        "log.retention.check.interval.ms=60000", "log.initial.task.delay.ms=5000",
    )  # fmt: skip
    file.write_text("\n".join(lines))
    config = load(str(file))
    world = world_of()
    found = upkeep_settings(config, world.service.partitions.image.configs)
    assert (found.initial_delay_s, found.retention_interval_s, found.backoff_s, found.cleans) == (5, 60, 7, False)
    assert found.cleaner == CleanerSettings(map_bytes=64 << 20, load_factor=0.9, piece_bytes=500)
    alter(world, BROKER, "", "log.cleaner.backoff.ms", "9000")
    alter(world, BROKER, "", "log.cleaner.io.max.bytes.per.second", "1000.5")
    alter(world, BROKER, "11", "log.cleaner.backoff.ms", "8000")
    alter(world, BROKER, "11", "log.cleaner.dedupe.buffer.size", "4000000")
    alter(world, BROKER, "11", "log.cleaner.io.buffer.load.factor", "0.5")
    found = upkeep_settings(config, world.service.partitions.image.configs)
    assert (found.backoff_s, found.bytes_per_second) == (8, 1000.5)
    assert found.cleaner == CleanerSettings(map_bytes=2_000_000, load_factor=0.5, piece_bytes=500)
