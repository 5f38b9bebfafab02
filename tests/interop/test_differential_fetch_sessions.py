"""Fetch sessions as Apache Kafka keeps them (KIP-227), asked of both in the same order: a session is a story, so these
cases build on each other, at one version each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Side, Table, judge
from support.clients.lying_batches import batch
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
ONE, OTHER = "sessions.one", "sessions.other"
"""Three partitions each. What is written to the first one is written by the story."""
NOBODYS = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
SLOTS: Final = 1000
SHARDS: Final = 8
INT_MAX: Final = (1 << 31) - 1
MIXED: Final = (12, 13)
"""By names, by ids."""


@pytest.fixture(scope="module", autouse=True)
def _topics(pair: Pair) -> None:
    for side in pair.sides:
        wanted = tuple(CreatableTopic(name=name, num_partitions=3, replication_factor=1) for name in (ONE, OTHER))
        side.call(ListenerType.BROKER, CreateTopicsRequest(topics=wanted, timeout_ms=30_000), 7)
        eventually("topics are led", lambda side=side: {ONE, OTHER} <= side.learn_topics() and _led(side))  # type: ignore[misc]


def _led(side: Side) -> bool:
    parts = tuple(ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(3))
    topics = tuple(ListOffsetsTopic(name=name, partitions=parts) for name in (ONE, OTHER))
    answer = side.call(ListenerType.BROKER, ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    return all(one.error_code == 0 for topic in answer.topics for one in topic.partitions)


def _write(side: Side, name: str = ONE, index: int = 0) -> None:
    data = TopicProduceData(name=name, partition_data=(PartitionProduceData(index=index, records=batch()),))
    answer = side.call(ListenerType.BROKER, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(data,)), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def _of(side: Side, name: str, *wanted: tuple[int, int]) -> FetchTopic:
    """`wanted`: partition and offset."""
    parts = tuple(FetchPartition(partition=p, fetch_offset=o, partition_max_bytes=1 << 20) for p, o in wanted)
    return FetchTopic(topic=name, topic_id=side.topic_ids.get(name, NOBODYS), partitions=parts)


def _forget(side: Side, name: str, *indexes: int) -> ForgottenTopic:
    return ForgottenTopic(topic=name, topic_id=side.topic_ids.get(name, NOBODYS), partitions=indexes)


Named = dict[str, tuple[tuple[int, int], ...]]


def _fetch(
    side: Side, session: int, epoch: int, topics: Named, forget: dict[str, tuple[int, ...]], **more: Any
) -> FetchRequest:
    fields: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20} | more
    return FetchRequest(
        session_id=session,
        session_epoch=epoch,
        topics=tuple(_of(side, name, *wanted) for name, wanted in topics.items()),
        forgotten_topics_data=tuple(_forget(side, name, *indexes) for name, indexes in forget.items()),
        **fields,
    )


def _full(topics: Named | None = None, **more: Any) -> Callable[[Side], Message]:
    return lambda side: _fetch(side, 0, 0, topics or {}, {}, **more)


def _next(
    kept: str, epoch: int, topics: Named | None = None, forget: dict[str, tuple[int, ...]] | None = None, **more: Any
) -> Callable[[Side], Message]:
    """In the session that an answer began."""
    writes = more.pop("writes", ())

    def body(side: Side) -> Message:
        for name, index in writes:
            _write(side, name, index)
        return _fetch(side, side.kept[kept].session_id, epoch, topics or {}, forget or {}, **more)

    return body


THREE: Final = ((0, 0), (1, 0), (2, 0))


def _story(version: int) -> tuple[Case, ...]:
    """FCH-01 to FCH-07, at one version."""
    at, other_form, s = (version,), ((15,) if version < 13 else (12,)), f"s{version}"
    return (
        Case("a session begins", _full({ONE: THREE}), at, keep=s),
        Case("nothing is new", _next(s, 1), at),
        Case("the epoch before", _next(s, 1), at),
        Case("an epoch to come", _next(s, 5), at),
        Case("named in the other way", _next(s, 2), other_form),
        Case("and it is still there", _next(s, 2), at),
        Case("something was written", _next(s, 3, writes=((ONE, 1),)), at),
        Case("it is read again until its reader goes on", _next(s, 4), at),
        Case("its reader goes on", _next(s, 5, {ONE: ((1, 1),)}), at),
        Case("out of range", _next(s, 6, {ONE: ((2, 77),)}), at),
        Case("out of range still", _next(s, 7), at),
        Case("and in range again", _next(s, 8, {ONE: ((2, 0),)}), at),
        Case("nothing is new again", _next(s, 9), at),
        Case("nobody's partition joins", _next(s, 10, {ONE: ((9, 0),)}), at),
        Case("and is told of each time", _next(s, 11), at),
        Case("and is forgotten", _next(s, 12, forget={ONE: (9,)}), at),
        Case("nobody's topic joins", _next(s, 13, {"nobody.s": ((0, 0),)}), at),
        Case("and is told of each time, too", _next(s, 14), at),
        Case("and is forgotten with what was never there", _next(s, 15, forget={"nobody.s": (0,), OTHER: (0, -5)}), at),
        Case("another topic joins", _next(s, 16, {OTHER: THREE}), at),
        Case("both have something new", _next(s, 17, writes=((ONE, 0), (OTHER, 2))), at),
        Case("what was read stands at the end", _next(s, 18, writes=((ONE, 2),), max_bytes=1), at),
        Case("and what did not fit comes first", _next(s, 19, max_bytes=1), at),
        Case("then the next", _next(s, 20, max_bytes=1), at),
        Case("a partition named twice", _next(s, 21, {OTHER: ((0, 0), (0, 99))}), at),
        Case("joins and is forgotten at once", _next(s, 22, {OTHER: ((0, 0),)}, {OTHER: (0,)}), at),
        Case("a wrong isolation level", _next(s, 23, isolation_level=7), at),
        Case("cost an epoch", _next(s, 23), at),
        Case("which is the next one", _next(s, 24), at),
        Case("read committed", _next(s, 25, isolation_level=1), at),
        Case("waits for what is new", _next(s, 26, {ONE: ((0, 1), (2, 1)), OTHER: ((2, 1),)}, max_wait_ms=50), at),
        Case("everything is forgotten", _next(s, 27, forget={ONE: (0, 1, 2), OTHER: (0, 1, 2)}), at),
        Case("so it is over", _next(s, 28), at),
        Case("another begins", _full({ONE: THREE}), at, keep=s),
        Case("a full request ends it", _next(s, 0, {ONE: ((0, 0),)}), at, keep=f"{s}b"),
        Case("so that one is over", _next(s, 1), at),
        Case("and one goes on", _next(f"{s}b", 1), at),
        Case("the last request of it", _next(f"{s}b", -1, {ONE: THREE}), at),
        Case("after which it is over", _next(f"{s}b", 2), at),
        Case("the last request of nobody's", _next(f"{s}b", -1, {ONE: THREE}), at),
        Case("a session of nothing", _full(), at, keep=f"{s}c"),
        Case("goes on with something", _next(f"{s}c", 1, {ONE: ((0, 0),)}), at),
        Case("a session of nobody's topic", _full({"nobody.s": ((0, 0),)}), at, keep=f"{s}d"),
        Case("forgets it", _next(f"{s}d", 1, {ONE: ((0, 0),)}, {"nobody.s": (0,)}), at),
        Case("a session of a partition twice", _full({ONE: ((0, 0), (0, 1), (1, 0))}), at, keep=f"{s}e"),
        Case("has it once", _next(f"{s}e", 1, forget={ONE: (0,)}), at),
        Case("a session with something out of range", _full({ONE: ((0, 99), (1, 0))}), at, keep=f"{s}f"),
        Case("tells it again", _next(f"{s}f", 1), at),
        Case("until it is in range", _next(f"{s}f", 2, {ONE: ((0, 0),)}), at),
        *(Case(f"epoch {epoch}", _next(f"{s}f", epoch), at) for epoch in (-2, INT_MAX, -INT_MAX)),
    )


TABLES: Final = tuple(
    Table(ApiKey.FETCH, BROKER, _story(version), in_order=("responses", "partitions"), malformed=False)
    for version in (7, 12, 13, 18)
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"v{table.cases[0].versions[0]}")
def test_sessions_go_on_as_with_java(pair: Pair, table: Table) -> None:
    assert judge(pair, table) > 40


@pytest.fixture
def full(pair: Pair) -> Iterator[dict[str, list[int]]]:
    """Every slot of both has a young session of a consumer, of one partition."""
    held: dict[str, list[int]] = {side.name: [] for side in pair.sides}
    for side in pair.sides:
        refused = 0
        while refused < SHARDS:  # in a row: they are filled in turn
            found = _begun(side, 1)
            refused = 0 if found else refused + 1
            held[side.name] += [found] if found else []
            assert len(held[side.name]) <= SLOTS
    yield held
    for side in pair.sides:
        for session in held[side.name]:
            side.call(ListenerType.BROKER, _fetch(side, session, -1, {}, {}), 12)


def _begun(side: Side, partitions: int, replica: int = -1) -> int:
    answer: FetchResponse = side.call(
        ListenerType.BROKER, _fetch(side, 0, 0, {ONE: THREE[:partitions]}, {}, replica_id=replica), 12
    )
    return int(answer.session_id)


def test_who_gives_way_when_every_slot_is_taken_is_javas_choice(pair: Pair, full: dict[str, list[int]]) -> None:
    """FCH-04: young sessions of consumers give way to followers, and to no consumer, however large."""
    told: dict[str, list[bool]] = {}
    for side in pair.sides:
        begun = [_begun(side, 1), _begun(side, 3)]
        follower = [_begun(side, 1, replica=77) for _ in range(3)]
        full[side.name] += follower
        alive = [
            side.call(ListenerType.BROKER, _fetch(side, each, 1, {}, {}, replica_id=77), 12).error_code == 0
            for each in follower
        ]
        told[side.name] = [*(each == 0 for each in begun), *(each != 0 for each in follower), *alive]
    assert told["ours"] == told["java"] == [True, True, True, True, True, True, True, True]
