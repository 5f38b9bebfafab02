"""The data plane's requests, right, wrong and borderline, at every version: Produce, Fetch, ListOffsets,
OffsetForLeaderEpoch, InitProducerId.

What a batch says is told in `test_lying_producers.py`; here it is what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Body, Case, Pair, Side, Table, Unlike, judge
from support.clients.lying_batches import LIES, TIME, ZSTD, batch, packed, record
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
INT_MAX, LONG_MAX = (1 << 31) - 1, (1 << 63) - 1
NOBODYS = Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0BAD)
READ, WRITTEN = "data.read", "data.written"
"""What is fetched, and never changes; and what is produced to. Both have three partitions."""
HELD: list[bytes] = [
    batch(record(0) + record(1, time=10) + record(2, time=5), count=3, latest=TIME + 10),
    packed(ZSTD, record(0, time=20) + record(1, time=20), 2, latest=TIME + 20),
    batch(record(0, None, time=15), latest=TIME + 15),
]
"""Six records of partition 0 of the one that is read: offsets 0 to 5, the latest is 3."""


def _has_an_id(side: Side) -> bool:
    return bool(side.call(ListenerType.BROKER, _init(), 4).error_code == 0)


@pytest.fixture(scope="module", autouse=True)
def _topics(pair: Pair) -> None:
    for side in pair.sides:
        kept = (CreatableTopicConfig(name="retention.ms", value="-1"),)  # some records are of 1970
        wanted = tuple(
            CreatableTopic(name=name, num_partitions=3, replication_factor=1, configs=kept) for name in (READ, WRITTEN)
        )
        side.call(ListenerType.BROKER, CreateTopicsRequest(topics=wanted, timeout_ms=30_000), 7)
        eventually("topics are led", lambda side=side: {READ, WRITTEN} <= side.learn_topics() and _led(side))  # type: ignore[misc]
        for _ in range(2):  # an id is a number above zero from then on
            eventually("a producer has an id", lambda side=side: _has_an_id(side))  # type: ignore[misc]
        for data in HELD:
            answer = side.call(ListenerType.BROKER, _produce(_written(data, name=READ)), 9)
            assert answer.responses[0].partition_responses[0].error_code == 0


def _led(side: Side) -> bool:
    asked = ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(_listed(*((index, -1) for index in range(3)), name=name) for name in (READ, WRITTEN)),
    )
    answer = side.call(ListenerType.BROKER, asked, 7)
    return all(one.error_code == 0 for topic in answer.topics for one in topic.partitions)


# Produce.


def _produce(
    *topics: TopicProduceData, acks: int = -1, transaction: str | None = None, timeout: int = 30_000
) -> ProduceRequest:
    return ProduceRequest(acks=acks, timeout_ms=timeout, transactional_id=transaction, topic_data=topics)


def _written(*data: bytes | None, name: str = WRITTEN, first: int = 0, topic_id: Uuid = ZERO_UUID) -> TopicProduceData:
    parts = tuple(PartitionProduceData(index=first + place, records=each) for place, each in enumerate(data))
    return TopicProduceData(name=name, topic_id=topic_id, partition_data=parts)


def _everywhere(*topics: TopicProduceData, acks: int = -1, timeout: int = 30_000) -> Callable[[Side], Body]:
    """By name up to version 12, by id from then on."""
    return lambda side: _produce(*(_by_id(side, topic) for topic in topics), acks=acks, timeout=timeout)


def _by_id(side: Side, topic: TopicProduceData) -> TopicProduceData:
    return TopicProduceData(
        name=topic.name, topic_id=side.topic_ids.get(topic.name, NOBODYS), partition_data=topic.partition_data
    )


ONE = batch()
PRODUCE = Table(
    ApiKey.PRODUCE,
    BROKER,
    (
        Case("one batch", _everywhere(_written(ONE))),
        Case("three partitions", _everywhere(_written(ONE, ONE, ONE))),
        Case("acks of the leader", _everywhere(_written(ONE), acks=1)),
        Case("acks 2", _everywhere(_written(ONE), acks=2)),
        Case("acks -2", _everywhere(_written(ONE), acks=-2)),
        Case("acks 32767", _everywhere(_written(ONE), acks=32767)),
        Case("acks 2, nobody's topic", _everywhere(_written(ONE, name="nobody.s"), acks=2)),
        Case("acks 2, a lie", _everywhere(_written(LIES["wrong checksum"]), acks=2)),
        Case("acks 2, no batch", _everywhere(_written(b""), acks=2)),
        Case(
            "acks 0, nobody's topic",
            _everywhere(_written(ONE, name="nobody.s"), acks=0),
            silent_s=0.3,
            versions=(3, 9, 13),
        ),
        Case("acks 0, a lie", _everywhere(_written(LIES["wrong checksum"]), acks=0), silent_s=0.3, versions=(3, 9, 13)),
        Case("acks 0", _everywhere(_written(ONE), acks=0), silent_s=0.05, versions=(3, 9, 13)),
        Case("nobody's topic", _everywhere(_written(ONE, name="nobody.s"))),
        Case("nobody's partition", _everywhere(_written(ONE, first=3))),
        Case("partition -1", _everywhere(_written(ONE, first=-1))),
        Case("the largest partition", _everywhere(_written(ONE, first=INT_MAX))),
        Case("one right, one nobody's", _everywhere(_written(ONE), _written(ONE, name="nobody.s"))),
        Case("no topics", _everywhere()),
        Case("a topic without partitions", _everywhere(_written())),
        Case("a topic without a name", _everywhere(_written(ONE, name=""))),
        Case("one right, one lie", _everywhere(_written(ONE, LIES["count 2^31-1"], ONE))),
        Case("one right, one without a frame", _everywhere(_written(ONE, LIES["magic 3"], ONE))),
        Case("one right, one whose length overflows", _everywhere(_written(ONE, LIES["length 2^31-1"]))),
        Case("one right, one transactional", _everywhere(_written(ONE, LIES["transactional"]))),
        Case("zstd", _everywhere(_written(packed(ZSTD)))),
        Case("two batches", _everywhere(_written(ONE + ONE))),
        Case("magic 1", _everywhere(_written(LIES["a message of magic 1"]))),
        Case("too late", _everywhere(_written(batch(time=TIME + 10**12, latest=TIME + 10**12)))),
        Case(
            "one of three too late",
            _everywhere(_written(batch(record(0) + record(1, time=10**12) + record(2), count=3))),
        ),
        Case("too large", _everywhere(_written(LIES["too large"]))),
        Case("no time to wait", _everywhere(_written(ONE), timeout=0)),
        Case("less than no time", _everywhere(_written(ONE), timeout=-5)),
        Case("a topic twice", _everywhere(_written(ONE), _written(ONE, first=1))),
        Case("a partition twice", _everywhere(_written(ONE), _written(ONE))),
        Case(
            "a partition twice in one topic",
            lambda side: _produce(
                _by_id(
                    side,
                    TopicProduceData(name=WRITTEN, partition_data=(PartitionProduceData(index=0, records=ONE),) * 2),
                )
            ),
        ),
        Case("the metadata's topic", _everywhere(_written(ONE, name="__cluster_metadata"))),
        Case("an idempotent batch", _everywhere(_written(batch(producer=(77, 0, 0))))),
        Case("an idempotent batch again", _everywhere(_written(batch(producer=(77, 0, 0))))),
        Case("an idempotent batch too soon", _everywhere(_written(batch(producer=(77, 0, 5))))),
        Case("an idempotent batch of an older epoch", _everywhere(_written(batch(producer=(77, -1, 1))))),
    ),
    unlike=(
        Unlike("*", "has a message for every refused batch", fields=("errorMessage",)),
        Unlike("*too late", "has a message for every refused batch", fields=("batchIndexErrorMessage",)),
    ),
    texts=False,
)

# ListOffsets.


def _list(*topics: ListOffsetsTopic, replica: int = -1, isolation: int = 0) -> ListOffsetsRequest:
    return ListOffsetsRequest(replica_id=replica, isolation_level=isolation, topics=topics)


def _listed(*wanted: tuple[int, int], name: str = READ, epoch: int = -1) -> ListOffsetsTopic:
    parts = tuple(
        ListOffsetsPartition(partition_index=index, timestamp=time, current_leader_epoch=epoch)
        for index, time in wanted
    )
    return ListOffsetsTopic(name=name, partitions=parts)


LIST_OFFSETS = Table(
    ApiKey.LIST_OFFSETS,
    BROKER,
    (
        Case("the latest", _list(_listed((0, -1)))),
        *(
            Case(f"timestamp {time}", _list(_listed((0, time))))
            for time in (-2, -3, -4, -5, -6, -7, -100, -LONG_MAX - 1)
        ),
        *(
            Case(f"time {time - TIME}", _list(_listed((0, time))))
            for time in (TIME - 1, TIME, TIME + 5, TIME + 6, TIME + 10, TIME + 11, TIME + 20, TIME + 21)
        ),
        Case("time 0", _list(_listed((0, 0)))),
        Case("the end of time", _list(_listed((0, LONG_MAX)))),
        *(
            Case(f"timestamp {time} of an empty partition", _list(_listed((1, time))))
            for time in (-1, -2, -3, -4, -5, -6, TIME)
        ),
        Case("several partitions", _list(_listed((0, -1), (1, -1), (2, -2)))),
        Case("one twice", _list(_listed((0, -1), (0, -2)))),
        Case("one twice, another once", _list(_listed((0, -1), (1, -1), (0, -2)))),
        Case("one twice in two topics", _list(_listed((0, -1)), _listed((0, -2)))),
        Case("nobody's twice", _list(_listed((0, -1), (0, -1), name="nobody.s"))),
        Case("one twice with a timestamp that is none", _list(_listed((0, -9), (0, -9)))),
        Case("nobody's topic", _list(_listed((0, -1), name="nobody.s"))),
        Case("nobody's topic, a timestamp that is none", _list(_listed((0, -9), name="nobody.s"))),
        Case("nobody's partition", _list(_listed((9, -1)))),
        Case("partition -1", _list(_listed((-1, -1)))),
        Case("nothing", _list()),
        Case("no partitions", _list(_listed())),
        Case("the leader's epoch", _list(_listed((0, -1), epoch=0))),
        Case("an epoch to come", _list(_listed((0, -1), epoch=5))),
        Case("an epoch to come, a time", _list(_listed((0, TIME), epoch=5))),
        Case("epoch -2", _list(_listed((0, -1), epoch=-2))),
        Case("read committed", _list(_listed((0, -1), (0 + 1, -1)), isolation=1)),
        Case("isolation 2", _list(_listed((0, -1)), isolation=2)),
        Case("isolation -1", _list(_listed((0, -1)), isolation=-1)),
        Case("for debugging", _list(_listed((0, -1)), replica=-2)),
        Case("replica -3", _list(_listed((0, -1)), replica=-3)),
        Case("replica 5", _list(_listed((0, -1)), replica=5)),
    ),
)

# OffsetForLeaderEpoch.


def _epochs(*topics: OffsetForLeaderTopic, replica: int = -1) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(replica_id=replica, topics=topics)


def _epoch(*wanted: tuple[int, int], name: str = READ, current: int = -1) -> OffsetForLeaderTopic:
    parts = tuple(
        OffsetForLeaderPartition(partition=index, leader_epoch=epoch, current_leader_epoch=current)
        for index, epoch in wanted
    )
    return OffsetForLeaderTopic(topic=name, partitions=parts)


EPOCHS = Table(
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    BROKER,
    (
        *(Case(f"epoch {epoch}", _epochs(_epoch((0, epoch)))) for epoch in (0, 1, 7, INT_MAX, -1, -2, -INT_MAX)),
        *(Case(f"epoch {epoch} of an empty partition", _epochs(_epoch((1, epoch)))) for epoch in (0, 1, -1)),
        Case("the leader's epoch", _epochs(_epoch((0, 0), current=0))),
        Case("an epoch to come", _epochs(_epoch((0, 0), current=3))),
        Case("epoch -2 of the leader", _epochs(_epoch((0, 0), current=-2))),
        Case("nobody's topic", _epochs(_epoch((0, 0), name="nobody.s"))),
        Case("nobody's partition", _epochs(_epoch((9, 0)))),
        Case("partition -1", _epochs(_epoch((-1, 0)))),
        Case("several", _epochs(_epoch((0, 0), (1, 0), (2, 0)), _epoch((0, 0), name="nobody.s"))),
        Case("one twice", _epochs(_epoch((0, 0), (0, 5)))),
        Case("a topic twice", _epochs(_epoch((0, 0)), _epoch((1, 0)))),
        Case("nobody's twice", _epochs(_epoch((0, 0), (0, 0), name="nobody.s"))),
        Case("nothing", _epochs()),
        Case("no partitions", _epochs(_epoch())),
        Case("a topic without a name", _epochs(_epoch((0, 0), name=""))),
        Case("for debugging", _epochs(_epoch((0, 0)), replica=-2)),
        Case("replica 5", _epochs(_epoch((0, 0)), replica=5)),
    ),
)

# InitProducerId.


def _init(**fields: object) -> InitProducerIdRequest:
    return InitProducerIdRequest(**{"transactional_id": None, "transaction_timeout_ms": 60_000, **fields})  # type: ignore[arg-type]


INIT_PRODUCER_ID = Table(
    ApiKey.INIT_PRODUCER_ID,
    BROKER,
    (
        Case("an idempotent producer", _init()),
        *(Case(f"a timeout of {each} ms", _init(transaction_timeout_ms=each)) for each in (0, -1, -INT_MAX, INT_MAX)),
        *(
            Case(f"producer {producer}, epoch {epoch}", _init(producer_id=producer, producer_epoch=epoch))
            for producer, epoch in (
                (5, 0),
                (5, -1),
                (-1, 0),
                (0, 0),
                (-2, 0),
                (5, -2),
                (-1, 32767),
                (LONG_MAX, 32767),
                (-2, -2),
                (5, 32767),
            )
        ),
        Case("a transaction without a name", _init(transactional_id="")),
        Case("a transaction", _init(transactional_id="tx")),
        Case("a transaction without time", _init(transactional_id="tx", transaction_timeout_ms=0)),
        Case("a transaction with too much time", _init(transactional_id="tx", transaction_timeout_ms=INT_MAX)),
        Case("a transaction of a producer without epoch", _init(transactional_id="tx", producer_id=5)),
    ),
)

# Fetch.


def _fetch(*topics: FetchTopic, session: int = 0, epoch: int = -1, **more: object) -> FetchRequest:
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20} | more
    return FetchRequest(session_id=session, session_epoch=epoch, topics=topics, **fields)  # type: ignore[arg-type]


def _slice(
    offset: int = 0, *, index: int = 0, size: int = 1 << 20, epoch: int = -1, last: int = -1, start: int = -1
) -> FetchPartition:
    return FetchPartition(
        partition=index,
        fetch_offset=offset,
        partition_max_bytes=size,
        current_leader_epoch=epoch,
        last_fetched_epoch=last,
        log_start_offset=start,
    )


def _of(side: Side, *slices: FetchPartition, name: str = READ) -> FetchTopic:
    return FetchTopic(topic=name, topic_id=side.topic_ids.get(name, NOBODYS), partitions=slices)


def _asks(*slices: FetchPartition, name: str = READ, **more: object) -> Callable[[Side], Message]:
    return lambda side: _fetch(_of(side, *slices, name=name), **more)  # type: ignore[arg-type]


FROM_12 = range(12, 19)
FETCH = Table(
    ApiKey.FETCH,
    BROKER,
    (
        Case("all", _asks(_slice())),
        *(
            Case(f"from {offset}", _asks(_slice(offset)))
            for offset in (1, 2, 3, 4, 5, 6, 7, -1, -2, LONG_MAX, -LONG_MAX)
        ),
        *(Case(f"{size} bytes of a partition", _asks(_slice(size=size))) for size in (0, 1, 100, -1, INT_MAX)),
        *(Case(f"{size} bytes", _asks(_slice(), max_bytes=size)) for size in (0, 1, 150, -1, INT_MAX)),
        Case("one byte, two partitions", _asks(_slice(), _slice(index=1), max_bytes=1)),
        Case("an empty partition", _asks(_slice(index=1))),
        Case("an empty partition and a full one", _asks(_slice(index=1), _slice())),
        Case("an empty one, waiting for a byte", _asks(_slice(index=1), max_wait_ms=50, min_bytes=1)),
        Case("less than no time", _asks(_slice(index=1), max_wait_ms=-1, min_bytes=1)),
        Case("fewer than no bytes", _asks(_slice(index=1), max_wait_ms=50, min_bytes=-1)),
        Case("waiting, one of nobody", _asks(_slice(index=1), _slice(index=9), max_wait_ms=50, min_bytes=1)),
        Case("waiting, one out of range", _asks(_slice(index=1), _slice(7), max_wait_ms=50, min_bytes=1)),
        Case("nobody's topic", _asks(_slice(), name="nobody.s")),
        Case("nobody's partition", _asks(_slice(index=9))),
        Case("partition -1", _asks(_slice(index=-1))),
        Case("nothing", lambda _: _fetch()),
        Case("no partitions", _asks()),
        Case("the leader's epoch", _asks(_slice(epoch=0))),
        Case("an epoch to come", _asks(_slice(epoch=5))),
        Case("epoch -2", _asks(_slice(epoch=-2))),
        Case("last fetched in the leader's epoch", _asks(_slice(3, last=0)), FROM_12),
        Case("last fetched in its epoch, beyond the end", _asks(_slice(9, last=0)), FROM_12),
        Case("last fetched in an epoch to come", _asks(_slice(3, last=5)), FROM_12),
        Case("last fetched in epoch -2", _asks(_slice(3, last=-2)), FROM_12),
        Case("read committed", _asks(_slice(), isolation_level=1)),
        Case("isolation 2", _asks(_slice(), isolation_level=2)),
        Case("isolation -1", _asks(_slice(), isolation_level=-1)),
        Case("a partition twice", _asks(_slice(), _slice(3))),
        Case("a topic twice", lambda side: _fetch(_of(side, _slice()), _of(side, _slice(index=1)))),
        Case("a partition in a topic twice", lambda side: _fetch(_of(side, _slice()), _of(side, _slice(3)))),
        Case("nobody's twice", _asks(_slice(), _slice(), name="nobody.s")),
        Case("no session and epoch 1", _asks(_slice(), epoch=1)),
        Case("no session and epoch -5", _asks(_slice(), epoch=-5)),
        Case("nobody's session, epoch 0", _asks(_slice(), session=77, epoch=0)),
        Case("nobody's session, epoch 1", _asks(_slice(), session=77, epoch=1)),
        Case("nobody's session to close", _asks(_slice(), session=77, epoch=-1)),
        Case("session -1", _asks(_slice(), session=-1, epoch=1)),
        Case(
            "forgotten in no session",
            lambda side: _fetch(
                _of(side, _slice()),
                forgotten_topics_data=(ForgottenTopic(topic=READ, topic_id=side.topic_ids[READ], partitions=(0,)),),
            ),
            range(7, 19),
        ),
        Case("for debugging", _asks(_slice(), replica_id=-2), range(4, 15)),
        Case("replica -3", _asks(_slice(), replica_id=-3), range(4, 15)),
        Case("replica 5", _asks(_slice(), replica_id=5), range(4, 15)),
        Case("the leader itself", _asks(_slice(), replica_id=1), range(4, 15)),
        Case(
            "replica 5, by its state",
            _asks(_slice(), replica_state=ReplicaState(replica_id=5, replica_epoch=1)),
            range(15, 19),
        ),
        Case("a rack", _asks(_slice(), rack_id="rack-a"), range(11, 19)),
        Case("another cluster", _asks(_slice(), cluster_id="another"), FROM_12),
    ),
    unlike=(
        Unlike("*: 100 bytes of a partition", "An answer has whole batches only", fields=("recordsSizeInBytes",)),
        Unlike("*: 150 bytes", "An answer has whole batches only", fields=("recordsSizeInBytes",)),
        Unlike("*by its state", "names no other leader", fields=("currentLeader", "nodeEndpoints")),
    ),
)


@pytest.mark.parametrize(
    "table", [PRODUCE, LIST_OFFSETS, EPOCHS, INIT_PRODUCER_ID, FETCH], ids=lambda table: table.key.name
)
def test_the_data_plane_answers_as_java_does(pair: Pair, table: Table) -> None:
    assert len(table.cases) >= 20
    assert judge(pair, table) > 60
