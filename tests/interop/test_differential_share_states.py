"""The share coordinator's five requests, right, wrong and hostile, at every version: beside Apache Kafka. And what both
have then written to `__share_group_state`, record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from types import ModuleType
from typing import Any, Final

import pytest

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state import loading
from controller_runtime.coordinator.share_state.partition import SharePartition
from controller_runtime.coordinator.share_state.records import ShareRecord, read
from controller_runtime.coordinator.share_state.settings import ShareStateSettings
from controller_runtime.coordinator.share_state.values import ShareKey, ShareState
from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages import (
    delete_share_group_state_request as deletes,
)
from controller_runtime.protocol.messages import (
    initialize_share_group_state_request as initializes,
)
from controller_runtime.protocol.messages import (
    read_share_group_state_request as reads,
)
from controller_runtime.protocol.messages import (
    read_share_group_state_summary_request as summaries,
)
from controller_runtime.protocol.messages import (
    write_share_group_state_request as writes,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.apache_kafka.differential import Asked, Case, Pair, Side, Table, ask_both, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
TOPIC, PARTITIONS = "__share_group_state", 50
GROUP = "share.group"
NOBODYS = Uuid.of(0x1234_0000_0000_4000, 0x8000_0000_0000_0001)
REQUESTS: Final = {
    initializes: (initializes.InitializeShareGroupStateRequest, initializes.InitializeStateData),
    reads: (reads.ReadShareGroupStateRequest, reads.ReadStateData),
    writes: (writes.WriteShareGroupStateRequest, writes.WriteStateData),
    deletes: (deletes.DeleteShareGroupStateRequest, deletes.DeleteStateData),
    summaries: (summaries.ReadShareGroupStateSummaryRequest, summaries.ReadStateSummaryData),
}
KEYS: Final = {
    initializes: ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    reads: ApiKey.READ_SHARE_GROUP_STATE,
    writes: ApiKey.WRITE_SHARE_GROUP_STATE,
    deletes: ApiKey.DELETE_SHARE_GROUP_STATE,
    summaries: ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
}
LARGEST = (1 << 63) - 1
Body = Callable[[Side], Message]


def of(kind: ModuleType, *partitions: Any, topic: str | Uuid = "orders", group: str = GROUP) -> Body:
    return of_topics(kind, (topic, partitions), group=group)


def of_topics(kind: ModuleType, *topics: tuple[str | Uuid, tuple[Any, ...]], group: str = GROUP) -> Body:
    request, data = REQUESTS[kind]

    def body(side: Side) -> Message:
        named = [(side.topic_ids[name] if isinstance(name, str) else name, parts) for name, parts in topics]
        asked: Message = request(
            group_id=group, topics=tuple(data(topic_id=one, partitions=parts) for one, parts in named)
        )
        return asked

    return body


def start(partition: int, state_epoch: int = 1, start_offset: int = 0) -> Any:
    return initializes.PartitionData(partition=partition, state_epoch=state_epoch, start_offset=start_offset)


def look(partition: int, leader_epoch: int = -1) -> Any:
    return reads.PartitionData(partition=partition, leader_epoch=leader_epoch)


def sum_up(partition: int, leader_epoch: int = 0) -> Any:
    return summaries.PartitionData(partition=partition, leader_epoch=leader_epoch)


def batches(*of_each: tuple[int, int, int, int]) -> tuple[Any, ...]:
    return tuple(
        writes.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
        for first, last, state, count in of_each
    )


def change(partition: int, *of_each: tuple[int, int, int, int], **more: int) -> Any:
    told: dict[str, Any] = {"state_epoch": 1, "leader_epoch": 0, "start_offset": 0} | more
    return writes.PartitionData(partition=partition, state_batches=batches(*of_each), **told)


def common(kind: ModuleType, one: Callable[[int], Any]) -> tuple[Case, ...]:
    """What is wrong with any of them."""
    two_topics = of_topics(kind, ("orders", (one(2),)), ("payments", ()))
    unlike = of_topics(kind, ("orders", (one(2), one(77))), ("payments", (one(0), one(-3))), (NOBODYS, (one(0),)))
    return (
        Case("of no topics", of_topics(kind)),
        Case("of no partitions", of(kind)),
        Case("of a topic with partitions and one without", two_topics),
        Case("of no group", of(kind, one(2), group="")),
        Case("of a group of blanks", of(kind, one(2), group=" ")),
        Case("of a group with colons", of(kind, one(2), group="a:b:")),
        Case("of an unknown topic", of(kind, one(0), topic=NOBODYS)),
        Case("of no topic's id", of(kind, one(0), topic=ZERO_UUID)),
        Case("of an unknown partition", of(kind, one(3))),
        Case("of the largest partition", of(kind, one((1 << 31) - 1))),
        Case("of a negative partition", of(kind, one(-1))),
        Case("of a negative partition of an unknown topic", of(kind, one(-1), topic=NOBODYS)),
        Case("of right and wrong ones", unlike),
        Case("of one twice", of(kind, one(2), one(2))),
        Case("of one topic twice", of_topics(kind, ("orders", (one(2),)), ("orders", (one(1), one(2))))),
    )


INITIALIZE = Table(
    KEYS[initializes],
    BROKER,
    (
        Case("a new one", of(initializes, start(0))),
        Case("once more", of(initializes, start(0))),
        Case("of a later epoch", of(initializes, start(0, 7, 33))),
        Case("of an older epoch", of(initializes, start(0, 6))),
        Case("of an older epoch, no such partition", of(initializes, start(3, -5))),
        Case("of no epoch", of(initializes, start(0, -1, 5))),
        Case("of an epoch below none", of(initializes, start(0, -2, 5))),
        Case("from nowhere", of(initializes, start(1, 1, -1))),
        Case("from before nowhere", of(initializes, start(1, 1, -2))),
        Case("from the end of everything", of(initializes, start(1, 1, LARGEST))),
        Case("the largest epoch", of(initializes, start(0, (1 << 31) - 1), group="largest")),
        *common(initializes, start),
    ),
)
WRITE = Table(
    KEYS[writes],
    BROKER,
    (
        Case("a batch", of(writes, change(2, (0, 9, 0, 1)))),
        Case("nothing new", of(writes, change(2))),
        Case("of nobody's group", of(writes, change(0), group="nobodys")),
        Case("of nobody's group and topic", of(writes, change(0), group="nobodys", topic=NOBODYS)),
        Case("of a later leader", of(writes, change(2, leader_epoch=4))),
        Case("of an older leader", of(writes, change(2, leader_epoch=3))),
        Case("of no leader", of(writes, change(2, leader_epoch=-1))),
        Case("of a leader below none", of(writes, change(2, leader_epoch=-2))),
        Case("of an older state", of(writes, change(2, leader_epoch=4, state_epoch=0))),
        Case("of a later state", of(writes, change(2, leader_epoch=4, state_epoch=9))),
        Case("of no state", of(writes, change(2, leader_epoch=4, state_epoch=-1))),
        Case("complete ones", of(writes, change(2, leader_epoch=4, delivery_complete_count=3)), (1,)),
        Case("less than no complete ones", of(writes, change(2, leader_epoch=4, delivery_complete_count=-7)), (1,)),
        Case("of an older leader and state", of(writes, change(2, leader_epoch=0, state_epoch=0))),
        *common(writes, lambda index: change(index, (0, 9, 0, 1), leader_epoch=4)),
    ),
)
READ = Table(
    KEYS[reads],
    BROKER,
    (
        Case("one", of(reads, look(2))),
        Case("of nobody's group", of(reads, look(0), group="nobodys")),
        Case("by an older leader", of(reads, look(2, 3))),
        Case("by the same leader", of(reads, look(2, 4))),
        Case("by a later leader", of(reads, look(2, 6))),
        Case("by the one before that", of(reads, look(2, 5))),
        Case("by a leader below none", of(reads, look(2, -2))),
        Case("by a leader of one from nowhere", of(reads, look(1, 2))),
        Case("by a leader of an unknown partition", of(reads, look(3, 9))),
        *common(reads, look),
    ),
    in_order=("stateBatches",),
)
SUMMARY = Table(
    KEYS[summaries],
    BROKER,
    (
        Case("one", of(summaries, sum_up(2))),
        Case("another", of(summaries, sum_up(1), sum_up(0))),
        Case("of nobody's group", of(summaries, sum_up(0), group="nobodys")),
        Case("by an older leader", of(summaries, sum_up(2, -9))),
        Case("by a later leader", of(summaries, sum_up(2, 99))),
        *common(summaries, sum_up),
    ),
)
DELETE = Table(
    KEYS[deletes],
    BROKER,
    (
        Case("one", of(deletes, deletes.PartitionData(partition=0))),
        Case("once more", of(deletes, deletes.PartitionData(partition=0))),
        Case("of nobody's group", of(deletes, deletes.PartitionData(partition=0), group="nobodys")),
        *common(deletes, lambda index: deletes.PartitionData(partition=index)),
    ),
)
TABLES = (INITIALIZE, WRITE, READ, SUMMARY, DELETE)
FINDING = Table(
    ApiKey.FIND_COORDINATOR,
    BROKER,
    tuple(
        Case(f"of {key!r}", FindCoordinatorRequest(key_type=2, coordinator_keys=(key,)), (6,))
        for key in (
            *(f"{group}:{NOBODYS}:{index}" for group in ("g", "a:b", "g ", "") for index in ("0", "-1", "+1", "x", "")),
            f"g:{NOBODYS}", f":{NOBODYS}:0", " :AAAA:0", "g:AAAA:0", "g::0", "g", "", ":::", "g:x:2147483648",
            f"g:{NOBODYS}:2147483647:", f"g:{NOBODYS}:١", f"g:{NOBODYS}:1_0", f"g:{NOBODYS}: 1",
        )
    ),
    malformed=False,
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _share_state(pair: Pair) -> Iterator[None]:
    """The topic as both make it where they can: here there is one broker, which cannot keep three replicas."""
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    for side in pair.sides:
        side.learn_topics()
        made = side.call(ListenerType.BROKER, CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)
        assert [each.error_code for each in made.topics] == [0], side.name
        eventually("the topic", lambda side=side: TOPIC in side.learn_topics())  # type: ignore[misc]
        _wait_for(side)
    yield
    for side in pair.sides:
        asked = DeleteTopicsRequest(topics=(DeleteTopicState(name=TOPIC),), timeout_ms=30_000)
        assert side.call(ListenerType.BROKER, asked, 6).responses[0].error_code == 0
        eventually("no topic", lambda side=side: TOPIC not in side.learn_topics())  # type: ignore[misc]


def _wait_for(side: Side) -> None:
    """Until every partition is loaded."""
    groups: dict[int, str] = {}
    for number in range(1000):
        key = ShareKey(f"warm{number}", side.topic_ids["orders"], 0)
        groups.setdefault(partition_for(str(key), PARTITIONS), key.group_id)
    assert len(groups) == PARTITIONS

    def is_loaded(group: str) -> bool:
        answer = side.call(ListenerType.BROKER, of(summaries, sum_up(0), group=group)(side), 1)
        return bool(answer.results[0].partitions[0].error_code == 0)

    for index, group in groups.items():
        eventually(f"{side.name}: the coordinator of {TOPIC}-{index}", lambda: is_loaded(group))  # noqa: B023


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.key.name.lower())
def test_requests_about_states_of_share_groups(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20


def test_the_coordinator_of_a_share_partition_is_found(pair: Pair) -> None:
    judge(pair, FINDING)


def _ask(pair: Pair, kind: ModuleType, body: Body, name: str) -> tuple[Any, Any]:
    table = next(each for each in TABLES if each.key == KEYS[kind])
    return ask_both(pair, table, Asked(Case(name, body), ListenerType.BROKER, int(kind is writes)))


@pytest.mark.parametrize("seed", range(3))
def test_batches_that_overlap_become_what_they_become_with_kafka(pair: Pair, seed: int) -> None:
    dice, group = Random(seed), f"overlapping.{seed}"
    _ask(pair, initializes, of(initializes, start(0), group=group), "begin")
    begin = 0
    for step in range(40):
        told = []
        for _ in range(dice.choice((0, 1, 1, 2, 3, 5))):
            first = dice.randrange(begin, begin + 40)
            last = first + dice.randrange(15)
            told.append((first, last, dice.choice((0, 2, 4)), dice.randrange(1, 5)))
        begin += dice.choice((0, 0, 0, 1, 7))
        data = change(0, *told, start_offset=dice.choice((begin, begin, -1)))
        java, ours = _ask(pair, writes, of(writes, data, group=group), f"step {step}")
        assert java == ours, told
        java, ours = _ask(pair, reads, of(reads, look(0), group=group), f"step {step}")
        assert java == ours, (step, data)


def test_records_are_written_as_by_kafka_and_read_back(pair: Pair) -> None:
    """Snapshots, updates and tombstones of every key, those of tables and stories above included, and a snapshot after
    500 updates; Java's log is read here, and says what Java says.
    """
    for name, group in (("orders", "many"), ("payments", "a:b")):
        _ask(pair, initializes, of(initializes, start(0), topic=name, group=group), "begin")
    for step in range(503):
        data = change(0, (step, step + 3, 2 * (step % 3), 1 + step % 4), start_offset=step // 2)
        java, ours = _ask(pair, writes, of(writes, data, group="many"), f"step {step}")
        assert java == ours, step
    _ask(pair, deletes, of(deletes, deletes.PartitionData(partition=0), topic="payments", group="a:b"), "end")
    said = [_records(side) for side in pair.sides]
    assert said[0] == said[1], "\n".join(
        f"{key}:\n java {his}\n ours {said[1].get(key)}" for key, his in said[0].items() if his != said[1].get(key)
    )
    assert sum(map(len, said[0].values())) > 600
    partitions = [_replayed(pair.java, index) for index in range(PARTITIONS)]
    key = ShareKey("many", pair.java.topic_ids["orders"], 0)
    state = partitions[partition_for(str(key), PARTITIONS)].entries[key].state
    answer = pair.java.call(ListenerType.BROKER, of(reads, look(0), group="many")(pair.java), 0)
    told = answer.results[0].partitions[0]
    assert (state.state_epoch, state.start_offset) == (told.state_epoch, told.start_offset)
    assert [(each.first, each.last, each.state, each.count) for each in state.batches] == [
        (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in told.state_batches
    ]
    assert state.snapshot_epoch == 1


def _log(side: Side, index: int) -> bytes:
    """All of it."""
    data, offset = b"", 0
    while True:
        wanted = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        topic = FetchTopic(topic=TOPIC, topic_id=side.topic_ids[TOPIC], partitions=(wanted,))
        answer = side.call(ListenerType.BROKER, FetchRequest(max_wait_ms=0, min_bytes=0, topics=(topic,)), 13)
        found = answer.responses[0].partitions[0] if answer.responses else None
        if found is None or not found.records:
            return data
        assert found.error_code == 0, found
        data += found.records
        offset = max(each.header.next_offset for each in decode_batches(data))


def _records(side: Side) -> dict[Any, list[Any]]:
    """By key what was recorded, in order, with topics by their names, and without times; each where it belongs."""
    names = {each: name for name, each in side.topic_ids.items()}
    found: dict[Any, list[Any]] = {}
    for index in range(PARTITIONS):
        for batch in decode_batches(_log(side, index)):
            for record in batch.records:
                line = read(record.key, record.value)
                assert isinstance(line, ShareRecord)
                key, value = line.key, line.value
                assert partition_for(str(key), PARTITIONS) == index, key
                if isinstance(value, ShareState):
                    assert value.created_ms > 0
                    value = replace(value, created_ms=value.created_ms - value.written_ms, written_ms=0)
                bare = None if record.value is None else len(record.value)
                place = (key.group_id, names[key.topic_id], key.partition)
                found.setdefault(place, []).append((len(record.key or b""), bare, value))
    return found


class _NoTopic:
    """Nothing is appended to what is only read."""


def _replayed(side: Side, index: int) -> SharePartition:
    made = SharePartition(index, ShareStateSettings(), _NoTopic())  # type: ignore[arg-type]
    work = loading.replay(made, _log(side, index), 0)
    for _ in work:
        pass
    return made
