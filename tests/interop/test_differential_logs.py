"""What lies on a broker's disks: DeleteRecords, DescribeLogDirs and AlterReplicaLogDirs, at every version."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from controller_runtime.protocol.messages.describe_log_dirs_request import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
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
from support.apache_kafka.differential import Case, Pair, Side, Table, Unlike, judge
from support.clients.lying_batches import batch, record
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
INT_MAX, LONG_MAX = (1 << 31) - 1, (1 << 63) - 1
CUT, BOTH, COMPACT = "logs.cut", "logs.both", "logs.compact"
POLICIES = {CUT: "delete", BOTH: "compact,delete", COMPACT: "compact"}
BATCHES = 4
"""In partition 0 of each, of two records."""


@pytest.fixture(scope="module", autouse=True)
def _topics(pair: Pair) -> None:
    for side in pair.sides:
        wanted = tuple(
            CreatableTopic(
                name=name,
                num_partitions=3,
                replication_factor=1,
                configs=(
                    CreatableTopicConfig(name="cleanup.policy", value=policy),
                    CreatableTopicConfig(name="retention.ms", value="-1"),  # the records are of 1970
                ),
            )
            for name, policy in POLICIES.items()
        )
        side.call(ListenerType.BROKER, CreateTopicsRequest(topics=wanted, timeout_ms=30_000), 7)
        eventually("topics are led", lambda side=side: set(POLICIES) <= side.learn_topics() and _led(side))  # type: ignore[misc]
        for name in POLICIES:
            for _ in range(BATCHES):
                data = TopicProduceData(
                    name=name, partition_data=(PartitionProduceData(index=0, records=two_records()),)
                )
                answer = side.call(
                    ListenerType.BROKER, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(data,)), 9
                )
                assert answer.responses[0].partition_responses[0].error_code == 0
        (found,) = side.call(ListenerType.BROKER, DescribeLogDirsRequest(topics=()), 4).results
        side.named[found.log_dir] = "<log dir>"
        side.kept["log dir"] = found.log_dir


def two_records() -> bytes:
    return batch(record(0, key=b"k") + record(1, key=b"l"), count=2)


def _led(side: Side) -> bool:
    asked = ListOffsetsRequest(
        replica_id=-1,
        topics=tuple(
            ListOffsetsTopic(
                name=name,
                partitions=tuple(ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(3)),
            )
            for name in POLICIES
        ),
    )
    answer = side.call(ListenerType.BROKER, asked, 7)
    return all(one.error_code == 0 for topic in answer.topics for one in topic.partitions)


# AlterReplicaLogDirs: both have one directory. Real moves are in `tests/integration/broker`.


def _place(*names: tuple[str, tuple[int, ...]], path: str = "{}") -> Callable[[Side], AlterReplicaLogDirsRequest]:
    """`path`: with "{}" for the log directory."""
    topics = tuple(AlterReplicaLogDirTopic(name=name, partitions=indexes) for name, indexes in names)
    return lambda side: AlterReplicaLogDirsRequest(
        dirs=(AlterReplicaLogDir(path=path.format(side.kept["log dir"]), topics=topics),)
    )


def _twice(first: str, second: str) -> Callable[[Side], AlterReplicaLogDirsRequest]:
    return lambda side: AlterReplicaLogDirsRequest(
        dirs=tuple(dir_ for path in (first, second) for dir_ in _place((CUT, (0,)), path=path)(side).dirs)
    )


ALTER_REPLICA_LOG_DIRS = Table(
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    BROKER,
    (
        Case("where they are", _place((CUT, (0, 1, 2)))),
        Case("nothing", AlterReplicaLogDirsRequest()),
        Case("no topics", _place()),
        Case("no partitions", _place((CUT, ()))),
        Case("nobody's directory", _place((CUT, (0,)), path="/nobody/s")),
        Case("a directory without a name", _place((CUT, (0,)), path="")),
        Case("a relative directory", _place((CUT, (0,)), path="data")),
        Case("with a slash", _place((CUT, (0,)), path="{}/")),
        Case("by a detour", _place((CUT, (0,)), path="{}/../data")),
        Case("the directory above", _place((CUT, (0,)), path="{}/..")),
        Case("nobody's topic", _place(("nobody.s", (0,)))),
        Case("a topic without a name", _place(("", (0,)))),
        Case("nobody's partition", _place((CUT, (9,)))),
        Case("partition -1", _place((CUT, (-1,)))),
        Case("partition 2^31-1", _place((CUT, (INT_MAX,)))),
        Case("partition -2^31", _place((CUT, (-INT_MAX - 1,)))),
        Case("right and wrong", _place((CUT, (0, 9)), ("nobody.s", (0,)), (BOTH, (1,)))),
        Case("a partition twice", _place((CUT, (0, 0)))),
        Case("a topic twice", _place((CUT, (0,)), (CUT, (1,)))),
        Case("one in two directories", _twice("{}", "/nobody/s")),
        Case("one in two directories, the other way", _twice("/nobody/s", "{}")),
        *(Case(f"{length} characters", _place(("n" * length, (0,)))) for length in (212, 213, 214, 215, 249, 300)),
        Case("too long and nobody's directory", _place(("n" * 249, (0,)), path="/nobody/s")),
        Case("nobody's topic in nobody's directory", _place(("nobody.s", (0,)), path="/nobody/s")),
        Case("the metadata's topic", _place(("__cluster_metadata", (0,)))),
        Case("a topic that is none", _place(("a/../b", (0,)))),
        Case("1,000 partitions", _place((CUT, tuple(range(1000))))),
    ),
)

# DeleteRecords.


def _delete(*topics: DeleteRecordsTopic, timeout: int = 30_000) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(topics=topics, timeout_ms=timeout)


def _of(*wanted: tuple[int, int], name: str = CUT) -> DeleteRecordsTopic:
    parts = tuple(DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in wanted)
    return DeleteRecordsTopic(name=name, partitions=parts)


DELETE_RECORDS = Table(
    ApiKey.DELETE_RECORDS,
    BROKER,
    (
        Case("nothing", _delete()),
        Case("no partitions", _delete(_of())),
        Case("nobody's topic", _delete(_of((0, 1), name="nobody.s"))),
        Case("a topic without a name", _delete(_of((0, 1), name=""))),
        Case("nobody's partition", _delete(_of((9, 1)))),
        Case("partition -1", _delete(_of((-1, 1)))),
        Case("beyond the end", _delete(_of((0, 9)))),
        Case("far beyond the end", _delete(_of((0, LONG_MAX)))),
        *(Case(f"before {offset}", _delete(_of((0, offset)))) for offset in (-2, -LONG_MAX - 1, 0, 1, 0, 2, 3, 1)),
        Case("of an empty partition", _delete(_of((1, 0)))),
        Case("all of an empty partition", _delete(_of((1, -1)))),
        Case("one of an empty partition", _delete(_of((1, 1)))),
        Case("compacted", _delete(_of((0, 1), name=COMPACT))),
        Case("compacted, beyond the end", _delete(_of((0, 99), name=COMPACT))),
        Case("compacted and deleted", _delete(_of((0, 1), name=BOTH))),
        Case("right and wrong", _delete(_of((0, 4), (1, 7), (9, 0)))),
        Case("one twice", _delete(_of((0, 1), (0, 99)))),
        Case("no time", _delete(_of((0, 5)), timeout=0)),
        Case("less than no time", _delete(_of((0, 5)), timeout=-1)),
        Case("the metadata's topic", _delete(_of((0, 0), name="__cluster_metadata"))),
        Case("everything", _delete(_of((0, -1)))),
        Case("everything again", _delete(_of((0, -1)))),
        Case("before what is gone", _delete(_of((0, 2)))),
    ),
)

# Afterwards.


def _fetched(offset: int, name: str = BOTH) -> FetchRequest:
    slices = (FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20),)
    return FetchRequest(
        session_epoch=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        topics=(FetchTopic(topic=name, partitions=slices),),
    )


FETCH = Table(
    ApiKey.FETCH,
    BROKER,
    tuple(Case(f"from {offset}", _fetched(offset), (4, 11, 12)) for offset in (0, 2, 3, 4, 8, 9)),
)


def _starts(timestamp: int, name: str) -> ListOffsetsRequest:
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    return ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=name, partitions=(wanted,)),))


LIST_OFFSETS = Table(
    ApiKey.LIST_OFFSETS,
    BROKER,
    tuple(
        Case(f"timestamp {timestamp} of {name}", _starts(timestamp, name), (7, 11))
        for timestamp in (-1, -2, -3, -4, 0)
        for name in (BOTH, CUT)
    ),
    unlike=(Unlike("*timestamp -3 of*", "The latest record is one that can still be read"),),
)


def _ends(epoch: int, name: str) -> OffsetForLeaderEpochRequest:
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=(OffsetForLeaderTopic(topic=name, partitions=(wanted,)),))


EPOCHS = Table(
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    BROKER,
    tuple(Case(f"epoch {epoch} of {name}", _ends(epoch, name), (4,)) for epoch in (0, 1) for name in (BOTH, CUT)),
)

# DescribeLogDirs.


def _sizes(*topics: tuple[str, tuple[int, ...]]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(
        topics=tuple(DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics)
    )


DESCRIBE_LOG_DIRS = Table(
    ApiKey.DESCRIBE_LOG_DIRS,
    BROKER,
    (
        Case("no topics", _sizes()),
        Case("one partition", _sizes((COMPACT, (0,)))),
        Case("three partitions", _sizes((COMPACT, (0, 1, 2)))),
        Case("two topics", _sizes((COMPACT, (0,)), (BOTH, (0, 1)))),
        Case("a topic without partitions", _sizes((COMPACT, ()))),
        Case("nobody's topic", _sizes(("nobody.s", (0,)))),
        Case("nobody's partition", _sizes((COMPACT, (9,)))),
        Case("partition -1", _sizes((COMPACT, (-1,)))),
        Case("the largest partition", _sizes((COMPACT, (INT_MAX, 0)))),
        Case("a topic twice", _sizes((COMPACT, (0,)), (COMPACT, (1,)))),
        Case("a partition twice", _sizes((COMPACT, (0, 0)))),
        Case("a topic without a name", _sizes(("", (0,)))),
        Case("the metadata's topic", _sizes(("__cluster_metadata", (0,)))),
    ),
)


@pytest.mark.parametrize(
    "table", [DESCRIBE_LOG_DIRS, ALTER_REPLICA_LOG_DIRS, DELETE_RECORDS], ids=lambda table: table.key.name
)
def test_what_lies_on_the_disks_is_described_moved_and_deleted_as_java_does(pair: Pair, table: Table) -> None:
    assert judge(pair, table) > 30


@pytest.mark.parametrize("table", [FETCH, LIST_OFFSETS, EPOCHS], ids=lambda table: table.key.name)
def test_what_was_deleted_is_gone_for_every_reader_as_on_java(pair: Pair, table: Table) -> None:
    cut = _delete(_of((0, 3), name=BOTH), _of((0, -1)))
    for side in pair.sides:
        answer = side.call(ListenerType.BROKER, cut, 2)
        assert [one.low_watermark for topic in answer.topics for one in topic.partitions] == [3, 2 * BATCHES]
    assert judge(pair, table) > 3
