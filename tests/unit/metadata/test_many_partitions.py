"""A topic of more partitions than one page holds, or of more replicas than one byte counts, is a topic like
any other.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.partitions import (
    DirectoryTable,
    Partition,
    pack_page,
    pack_row,
    page_rows,
    row_is_reassigning,
    unpack_row,
    with_row,
)
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.topics import TopicImage
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import directory_of, uuid

pytestmark = pytest.mark.unit

TOPIC = uuid("topic", 1)
INDEXES = (0, 1, 63, 64, 129, 130)
ABSENT = (-1, 2, 65, 128, 191, 192, 256)


def after(*records: Message, base: MetadataImage | None = None) -> MetadataImage:
    builder = (base or MetadataImage.empty()).builder()
    for record in records:
        replay(builder, record)
    return builder.freeze()


def partition(index: int, *replicas: int, topic: Uuid = TOPIC, **more: object) -> PartitionRecord:
    values: dict[str, object] = {"replicas": replicas, "isr": replicas, "leader": replicas[0], "leader_epoch": 0}
    values |= {"partition_epoch": 0, **more}
    return PartitionRecord(partition_id=index, topic_id=topic, **values)  # type: ignore[arg-type]


def topic(*records: PartitionRecord, name: str = "stock", base: MetadataImage | None = None) -> TopicImage:
    image = after(TopicRecord(name=name, topic_id=TOPIC), *records, base=base)
    found = image.topics.named(name)
    assert found is not None
    return found


def changed(before: MetadataImage, *records: Message) -> tuple[TopicImage, TopicImage]:
    old, new = before.topics.get(TOPIC), after(*records, base=before).topics.get(TOPIC)
    assert old is not None
    assert new is not None
    return old, new


STOCK = after(TopicRecord(name="stock", topic_id=TOPIC), *(partition(index, index + 1, 999) for index in INDEXES))


def test_every_partition_is_found_in_its_page_and_no_other() -> None:
    found = STOCK.topics.get(TOPIC)
    assert found is not None
    assert [index for index, _ in found.partitions()] == list(INDEXES)
    for index, one in found.partitions():
        assert found.partition(index) == one
        assert (found.leader(index), one.leader) == (index + 1, index + 1)
    assert [(found.partition(index), found.leader(index)) for index in ABSENT] == [(None, None)] * len(ABSENT)
    assert (found.partition_count, STOCK.topics.partition_count) == (len(INDEXES), len(INDEXES))


def test_a_partition_without_a_leader_says_so() -> None:
    assert topic(partition(0, 1, leader=-1)).leader(0) == -1


def test_the_partitions_of_a_broker_are_those_that_it_leads_follows_or_may_lead() -> None:
    named = topic(
        partition(0, 7, 8),
        partition(1, 8, 7),
        partition(2, 8, isr=(), leader=-1, last_known_elr=(7,)),
        partition(3, 8, leader=7),
        partition(4, 8, partition_epoch=7),
        partition(5, 8),
        partition(70, 8, 7),
        partition(130, 8),
    )
    assert [index for index, _ in named.partitions_naming(7)] == [0, 1, 2, 3, 70]
    assert [index for index, _ in named.partitions_naming(-1)] == [2]
    assert list(named.partitions_naming(9)) == []


def test_a_broker_leads_when_it_leads_one_partition() -> None:
    assert STOCK.topics.leads_any(131)
    assert not STOCK.topics.leads_any(999), "it only follows"
    leads_and_follows = after(TopicRecord(name="a", topic_id=TOPIC), partition(0, 8, 7), partition(1, 7, 8))
    assert leads_and_follows.topics.leads_any(7)
    assert leads_and_follows.topics.leads_any(8)


def test_partitions_whose_replicas_are_exchanged_are_found_in_every_page() -> None:
    moving = topic(
        partition(0, 1),
        partition(1, 1, 2, adding_replicas=(2,)),
        partition(64, 1, 2, removing_replicas=(1,)),
        partition(130, 1, 2, 3, adding_replicas=(3,), removing_replicas=(1,)),
    )
    assert [index for index, _ in moving.reassigning()] == [1, 64, 130]


# What changed.


def changes(old: TopicImage | None, new: TopicImage) -> list[int]:
    found = list(new.changes_since(old))
    assert all(new.partition(index) == one for index, one in found)
    return [index for index, _ in found]


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        ((), []),
        ((PartitionChangeRecord(topic_id=TOPIC, partition_id=64, isr=()),), [64]),
        ((partition(2, 1), PartitionChangeRecord(topic_id=TOPIC, partition_id=130, leader=999)), [2, 130]),
        ((partition(191, 1),), [191]),
        ((partition(192, 1), partition(300, 1)), [192, 300]),
        ((partition(63, 64, 999), partition(64, 1)), [64]),
    ],
)
def test_partitions_that_are_new_or_differ_are_found(records: tuple[Message, ...], wanted: list[int]) -> None:
    """IMG-02: these, and no others."""
    assert changes(*changed(STOCK, *records)) == wanted


def test_everything_is_new_to_who_saw_nothing() -> None:
    assert changes(None, changed(STOCK)[1]) == list(INDEXES)


def test_a_partition_of_another_log_differs_where_its_directories_do() -> None:
    """Both logs number their own directories from 0, so the packed rows are the same bytes."""
    here = topic(partition(0, 1, directories=(directory_of(1),)))
    there = topic(partition(0, 1, directories=(directory_of(2),)))
    assert changes(here, there) == [0]
    assert here != there


# What is equal.


def test_topics_are_equal_when_name_id_and_every_partition_are() -> None:
    one = partition(0, 1, 2, directories=(directory_of(1), directory_of(2)))
    other_numbers = after(
        TopicRecord(name="first", topic_id=uuid("topic", 9)),
        partition(0, 2, topic=uuid("topic", 9), directories=(directory_of(2),)),
    )
    assert topic(one) == topic(one)
    assert topic(one) == topic(one, base=other_numbers)
    assert topic(one) != topic(one, name="other")
    assert topic(one) != topic(one, partition(64, 1))
    assert topic(partition(0, 1), partition(1, 1)) != topic(partition(0, 1), partition(1, 2))
    assert hash(topic(one)) == hash(topic(one, base=other_numbers))


def test_a_changed_topic_is_another_one_than_before() -> None:
    old, new = changed(STOCK, PartitionChangeRecord(topic_id=TOPIC, partition_id=64, isr=()))
    assert old != new
    old, same = changed(STOCK, partition(64, 65, 999))
    assert old == same


def test_a_topic_is_not_equal_to_its_name() -> None:
    assert (topic(partition(0, 1)) == "stock") is False


# How they are kept.


def test_a_partition_of_three_replicas_takes_61_bytes() -> None:
    homes = tuple(directory_of(broker) for broker in (1, 2, 3))
    full = topic(*(partition(index, 1, 2, 3, directories=homes) for index in range(128)))
    assert 60 < sum(map(len, full._pages)) / 128 < 61


def wide(count: int, adding: tuple[int, ...] = (), removing: tuple[int, ...] = ()) -> Partition:
    replicas = tuple(range(count))
    homes = tuple(DirectoryId(directory_of(1, number % 7)) for number in replicas)
    return Partition(replicas, homes, replicas[:3], 0, removing_replicas=removing, adding_replicas=adding)


@pytest.mark.parametrize("count", [254, 255, 256, 300])
@pytest.mark.parametrize("state", [0, 1])
def test_a_partition_may_have_more_replicas_than_a_byte_counts(count: int, state: int) -> None:
    table = DirectoryTable()
    for adding, removing in (((), ()), ((7,), ()), ((), (7,))):
        one = wide(count, adding, removing)
        row = pack_row(one, table)
        assert unpack_row(row, table) == one
        assert row_is_reassigning(row) is bool(adding or removing)
    recovering = Partition(wide(count).replicas, wide(count).directories, (), -1, leader_recovery_state=state)
    assert unpack_row(pack_row(recovering, table), table) == recovering


def test_a_row_of_the_same_length_is_exchanged_in_its_place() -> None:
    rows = [b"one", b"", b"three"]
    page = pack_page(rows)
    assert with_row(page, 0, b"ONE") == pack_page([b"ONE", b"", b"three"])
    assert with_row(page, 2, b"THREE") == pack_page([b"one", b"", b"THREE"])
    assert with_row(page, 2, b"four") is None
    assert with_row(page, 1, b"two") is None
    assert with_row(b"", 0, b"one") is None
    assert page_rows(page) == rows


def test_a_builder_that_packs_in_between_gives_the_same_topic() -> None:
    """More pages are touched than a builder keeps unpacked: what was packed is read, changed, counted and removed like
    the rest.
    """
    count = 300
    records = [partition(64 * number, number + 1, 999) for number in range(count)]
    again = [PartitionChangeRecord(topic_id=TOPIC, partition_id=64 * number, isr=()) for number in range(count)]
    other = uuid("topic", 2)
    builder = MetadataImage.empty().builder()
    stories = [TopicRecord(name="stock", topic_id=TOPIC), *records, TopicRecord(name="b", topic_id=other)]
    for record in (*stories, partition(0, 5, topic=other), *again, RemoveTopicRecord(topic_id=other)):
        replay(builder, record)
        assert sum(len(each.open) for each in builder.topics._open.values()) <= 256
        if isinstance(record, PartitionChangeRecord):
            found = builder.topics.partition(TOPIC, record.partition_id)
            assert found is not None
            assert (found.isr, found.leader) == ((), record.partition_id // 64 + 1)
    image = builder.freeze()
    piecewise = after(*stories)
    for record in again:
        piecewise = after(record, base=piecewise)
    assert image == after(RemoveTopicRecord(topic_id=other), base=piecewise)
    assert image.topics.partition_count == count
