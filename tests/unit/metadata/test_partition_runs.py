"""Partitions that are read from a snapshot many at once are what reading them one by one gives, whatever the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partition_runs import MOST_REPLICAS, PartitionRun, RunReader
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import ReplayError, replay, replay_run
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.primitives import Invalid
from controller_runtime.protocol.records import read_records, write_values
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import directory_of, uuid
from support.sampling import run_seed

pytestmark = pytest.mark.unit

FAULTS = (ProtocolError, ReplayError, Invalid, IndexError, ValueError)


def values(*records: Message, version: int = 2) -> list[bytes]:
    return [encode_record(record, version if isinstance(record, PartitionRecord) else 0) for record in records]


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=uuid(name, 1))


def partition(name: str, index: int, *replicas: int, **more: object) -> PartitionRecord:
    given: dict[str, object] = {
        "replicas": replicas,
        "isr": replicas,
        "leader": replicas[0],
        "leader_epoch": index,
        "partition_epoch": 7 * index,
        "directories": tuple(directory_of(broker) for broker in replicas),
    }
    return PartitionRecord(topic_id=uuid(name, 1), partition_id=index, **(given | more))  # type: ignore[arg-type]


def stock(count: int, *replicas: int, name: str = "stock", **more: object) -> list[Message]:
    """A topic whose partitions move on from broker to broker."""
    moved = ([broker + index % 5 for broker in replicas] for index in range(count))
    return [topic(name), *(partition(name, index, *brokers, **more) for index, brokers in enumerate(moved))]


def one_by_one(batches: Sequence[tuple[bytes, int]]) -> MetadataImage:
    builder = MetadataImage.empty().builder()
    for data, count in batches:
        for record in read_records(data, 0, count, 0, 0, None):
            replay(builder, decode_record(record.value or b"")[0])
    return builder.freeze()


def together(batches: Sequence[tuple[bytes, int]]) -> tuple[MetadataImage, int]:
    """And how many partitions were read in runs."""
    builder = MetadataImage.empty().builder()
    reader, in_runs = RunReader(builder.topics.table), 0
    for data, count in batches:
        for unit in reader.units(data, 0, count):
            if isinstance(unit, PartitionRun):
                replay_run(builder, unit)
                in_runs += unit.count
            else:
                replay(builder, decode_record(unit or b"")[0])
    return builder.freeze(), in_runs


def read(*groups: list[bytes]) -> tuple[MetadataImage, int]:
    """Each group is a batch."""
    batches = [(write_values(group), len(group)) for group in groups]
    image, in_runs = together(batches)
    assert image == one_by_one(batches)
    for mine, theirs in zip(image.topics, one_by_one(batches).topics, strict=True):
        assert list(mine.partitions()) == list(theirs.partitions())
    return image, in_runs


SHAPES: dict[str, list[Message]] = {
    "one replica": stock(200, 1),
    "three": stock(200, 1, 2, 3),
    "brokers of two bytes": stock(100, 250, 300, 70_000),
    "one of them not in sync": stock(100, 1, 2, 3, isr=(2, 3)),
    "none in sync": stock(70, 1, 2, isr=(), leader=-1),
    "a directory that is not known": stock(80, 1, 2, directories=(Uuid(bytes(16)), directory_of(2))),
    "two directories of a broker": [
        *stock(70, 1, 2),
        *stock(70, 1, 2, name="b", directories=(directory_of(9, 1),) * 2),
    ],
    "many small topics": [record for n in range(60) for record in stock(1 + n % 3, 1, 2, 3, name=f"t{n}")],
    "brokers without a directory": [*stock(70, 1, 2), *stock(70, 9, name="b", directories=(Uuid(bytes(16)),))],
    "another shape between": [
        *stock(9, 1, 2),
        partition("stock", 9, 3),
        *(partition("stock", index, 1, 2) for index in range(10, 90)),
    ],
    "sixteen replicas": stock(70, *range(10, 10 + MOST_REPLICAS)),
    "a topic with values": [*stock(40, 1), ConfigRecord(resource_type=2, resource_name="stock", name="a", value="b")],
}


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("version", [1, 2])
def test_records_of_one_shape_are_read_together(kind: str, version: int) -> None:
    records = SHAPES[kind]
    partitions = sum(isinstance(record, PartitionRecord) for record in records)
    assert read(values(*records, version=version))[1] == partitions


STRANGE: dict[str, PartitionRecord] = {
    "recovering": partition("stock", 5, 1, 2, leader_recovery_state=1),
    "reassigned": partition("stock", 5, 1, 2, adding_replicas=(2,)),
    "eligible": partition("stock", 5, 1, 2, eligible_leader_replicas=(1,)),
    "more replicas": partition("stock", 5, *range(MOST_REPLICAS + 1)),
    "an index left out": partition("stock", 6, 1, 2),
    "an index again": partition("stock", 4, 3, 4),
    "a high index": partition("stock", 1 << 20, 1, 2),
    "a tag of the future": partition("stock", 5, 1, 2, unknown_tagged_fields=((9, b"x"),)),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_record_of_another_shape_is_read_by_itself(kind: str) -> None:
    records = stock(80, 1, 2)
    records[6] = STRANGE[kind]
    _, in_runs = read(values(*records))
    assert in_runs < 80


def test_a_topic_goes_on_in_another_batch_and_in_the_middle_of_a_page() -> None:
    whole = values(*stock(300, 1, 2, 3), *stock(10, 4, 5, name="b"))
    for cuts in ((1,), (2, 70, 71), (65, 129, 140, 200), (30, 60, 90)):
        edges = [0, *cuts, len(whole)]
        assert read(*(whole[a:b] for a, b in pairwise(edges)))[1] == 310


def test_partitions_that_were_read_together_change_like_others() -> None:
    image, _ = read(values(*stock(130, 1, 2, 3)))
    builder = image.builder()
    replay(builder, PartitionChangeRecord(topic_id=uuid("stock", 1), partition_id=129, isr=(2,), leader=2))
    replay(builder, partition("stock", 130, 5))
    found = builder.freeze().topics.named("stock")
    assert found is not None
    assert [found.leader(index) for index in (128, 129, 130)] == [4, 2, 5]
    assert (found.partition_count, image.topics.partition_count) == (131, 130)


def test_partitions_of_a_topic_that_does_not_exist_are_refused() -> None:
    batch = values(*stock(70, 1, 2)[1:])
    with pytest.raises(ReplayError, match="PartitionRecord 0 of topic"):
        together([(write_values(batch), len(batch))])


def test_a_byte_that_differs_is_seen_as_when_it_is_read_alone() -> None:
    """Any byte of any record: lengths, counts, ids and numbers."""
    dice = Random(run_seed())
    batch = values(*stock(70, 1, 2), *stock(9, 3, name="b"), *stock(20, 250, 2, name="c"))
    whole, refused = write_values(batch), 0
    for _ in range(150):
        data = bytearray(whole)
        data[dice.randrange(len(data))] = dice.choice((0, 1, 2, 3, 127, 128, 255, dice.randrange(256)))
        batches = [(bytes(data), len(batch))]
        try:
            wanted = one_by_one(batches)
        except FAULTS:
            refused += 1
            with pytest.raises(FAULTS):
                together(batches)
        else:
            assert together(batches)[0] == wanted
    assert refused, "some bytes are lengths"


@pytest.mark.parametrize("index", [3, 40, 68, 75])
def test_an_offset_of_another_width_is_seen(index: int) -> None:
    """A byte of its varint that says that the next one belongs to it, or that it does not."""
    batch = values(*stock(80, 1, 2))
    data, at = bytearray(write_values(batch)), len(write_values(batch[:index]))
    for byte in (at + 4, at + 5)[: 1 if index < 64 else 2]:
        data[byte] ^= 0x80
        with pytest.raises(FAULTS):
            one_by_one([(bytes(data), len(batch))])
        with pytest.raises(FAULTS):
            together([(bytes(data), len(batch))])
        data[byte] ^= 0x80


def test_a_batch_that_says_another_count_is_refused() -> None:
    batch = values(*stock(70, 1, 2))
    for count in (70, 72, 1 << 30):
        with pytest.raises(FAULTS):
            together([(write_values(batch), count)])
