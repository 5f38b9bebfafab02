"""Batches that lie with a right checksum, packings that cannot be, and fetches of what nobody has."""

from __future__ import annotations

import gzip
import zlib
from typing import Final

from controller_runtime.protocol.compression import Compression, compress
from controller_runtime.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
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
from controller_runtime.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from support.fuzz.batches import NOW_MS, Header, batch, good, record, varint
from support.hostile.case import BROKER, VICTIM, Ask, Case, right, together

REFUSED: Final = ("refused",)
ANY: Final = ("closed", "answered")
INVALID: Final = ("INVALID_RECORD", "CORRUPT_MESSAGE")
ONE: Final = record(0, b"v")


def produce(records: bytes | None, *, acks: int = -1, partition: int = 0, times: int = 1) -> Ask:
    rows = (PartitionProduceData(index=partition, records=records),) * times
    return right(
        ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=(TopicProduceData(name=VICTIM, partition_data=rows),)),
        9,
    )


def lying(**fields: int) -> Ask:
    return produce(batch(ONE, 1, Header(**fields)))


def packed(codec: Compression, plain: bytes, count: int = 1) -> Ask:
    return produce(batch(compress(codec, plain), count, Header(attributes=int(codec))))


def fetch(
    offset: int = 0, *, wait: int = 0, most: int = 1 << 20, session: int = 0, epoch: int = -1, now: int = -1
) -> Ask:
    """`epoch`: of the leader; `now`: of the session."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=most, current_leader_epoch=epoch)
    topic = FetchTopic(topic=VICTIM, partitions=(partition,))
    return right(
        FetchRequest(
            max_wait_ms=wait,
            min_bytes=1 if wait else 0,
            max_bytes=most,
            session_id=session,
            session_epoch=now,
            topics=(topic,),
        ),
        12,
    )


def crowded(many: int) -> Ask:
    """A fetch that begins a session."""
    wanted = tuple(FetchPartition(partition=index, partition_max_bytes=1) for index in range(many))
    topics = (FetchTopic(topic=VICTIM, partitions=wanted),)
    return right(FetchRequest(max_wait_ms=0, session_epoch=0, topics=topics), 12)


def move(path: str, *indexes: int) -> Ask:
    topic = AlterReplicaLogDirTopic(name=VICTIM, partitions=indexes or (0,))
    return right(AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path=path, topics=(topic,)),)), 2)


def listing(*partitions: tuple[int, int]) -> Ask:
    rows = tuple(ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index, timestamp in partitions)
    return right(ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=VICTIM, partitions=rows),)), 7)


def epochs(*wanted: int) -> Ask:
    rows = tuple(OffsetForLeaderPartition(partition=0, leader_epoch=epoch) for epoch in wanted)
    return right(
        OffsetForLeaderEpochRequest(replica_id=-1, topics=(OffsetForLeaderTopic(topic=VICTIM, partitions=rows),)), 4
    )


def cases() -> list[Case]:
    many = 2**31 - 1
    big = good([b"x" * 5000])
    return [
        Case("a batch of 2^31-1 records that has one", BROKER, lying(count=many, last_offset_delta=many - 1), INVALID),
        Case("three such batches of 5 KB", BROKER,
            together([produce(batch(record(0, b"x" * 5000), 1, Header(count=many, last_offset_delta=many - 1)))] * 3
            + [produce(big)]), ("answered",)),
        Case("a batch of 5 records that has one", BROKER, lying(count=5, last_offset_delta=4), INVALID),
        Case("a batch of no records that has one", BROKER, lying(count=0, last_offset_delta=0), INVALID),
        Case("a batch of -1 records", BROKER, lying(count=-1), INVALID),
        Case("a batch whose last offset is 2^31-1 behind its first", BROKER, lying(last_offset_delta=many), INVALID),
        Case("a batch whose last offset is before its first", BROKER, lying(last_offset_delta=-1), INVALID),
        Case("a batch that begins at offset 2^63-1", BROKER, lying(base_offset=2**63 - 1), INVALID),
        Case("a batch without records", BROKER, produce(batch(b"", 0)), INVALID),
        Case("a batch with a wrong checksum", BROKER, lying(crc=1), ("CORRUPT_MESSAGE",)),
        Case("a batch of magic 1", BROKER, lying(magic=1), (*INVALID, "UNSUPPORTED_FOR_MESSAGE_FORMAT", "closed")),
        Case("a batch of magic 127", BROKER, lying(magic=127), REFUSED),
        Case("a batch that claims 2^31-1 bytes", BROKER, lying(length=many), REFUSED),
        Case("a batch that claims 0 bytes", BROKER, lying(length=0), REFUSED),
        Case("a batch that claims -1 bytes", BROKER, lying(length=-1), REFUSED),
        Case("a batch packed by codec 7", BROKER, lying(attributes=7), REFUSED),
        Case("a control batch of a client", BROKER, lying(attributes=32), ("INVALID_RECORD",)),
        Case("a transaction without a producer", BROKER, lying(attributes=16), ANY),
        Case("a producer epoch without a producer", BROKER, lying(producer_epoch=5), ANY),
        Case("a producer without a sequence", BROKER, lying(producer_id=4711, producer_epoch=0), ANY),
        Case("a sequence of 2^31-1", BROKER, lying(producer_id=4712, producer_epoch=0, base_sequence=many), ANY),
        Case("a time 2^63-1", BROKER, lying(base_timestamp=2**63 - 1, max_timestamp=2**63 - 1),
            ("INVALID_TIMESTAMP", *INVALID)),
        Case("a time in a thousand years", BROKER, lying(base_timestamp=NOW_MS * 20, max_timestamp=NOW_MS * 20),
            ("INVALID_TIMESTAMP",)),
        Case("two batches in one", BROKER, produce(good([b"a"]) + good([b"b"])), INVALID),
        Case("rubbish behind a batch", BROKER, produce(good([b"a"]) + b"rubbish"), ANY),
        Case("half a batch", BROKER, produce(good([b"abcdefgh"])[:-4]), REFUSED),
        Case("no records at all", BROKER, produce(None), ANY),
        Case("records of zeros", BROKER, produce(bytes(100)), REFUSED),
        Case("the same partition twice in one request", BROKER, produce(good([b"a"]), times=2), ANY),
        Case("partition -1", BROKER, produce(good([b"a"]), partition=-1), ("UNKNOWN_TOPIC_OR_PARTITION",)),
        Case("acks 7", BROKER, produce(good([b"a"]), acks=7), ("INVALID_REQUIRED_ACKS",)),
        Case("acks 0 with rubbish", BROKER, produce(b"rubbish", acks=0), ("closed", "silent")),
        Case("a record that claims 2^31-1 bytes", BROKER, packed(Compression.GZIP, varint(many) + b"\0" * 20), INVALID),
        Case("a record of 2^31-1 headers", BROKER, packed(Compression.GZIP, record(0, b"v", headers=many)), INVALID),
        Case("a packed batch with a record too many", BROKER, packed(Compression.LZ4, ONE + record(1, b"w")), INVALID),
        Case("a packed batch with a record too few", BROKER, packed(Compression.ZSTD, ONE, 2), INVALID),
        Case("a packed batch whose records lie about their places", BROKER, packed(Compression.GZIP, record(7, b"v")),
            REFUSED),
        Case("gzip in gzip", BROKER, packed(Compression.GZIP, gzip.compress(ONE)), INVALID),
        Case("zlib that says it is gzip", BROKER, produce(batch(zlib.compress(ONE), 1, Header(attributes=1))), REFUSED),
        Case("gzip that ends too early", BROKER,
            produce(batch(gzip.compress(ONE * 100)[:-12], 1, Header(attributes=1))), REFUSED),
        Case("snappy of noise", BROKER, produce(batch(b"\xff\xff\xff\xff\x7f" * 9, 1, Header(attributes=2))), REFUSED),
        Case("lz4 of noise", BROKER, produce(batch(b"\x04\x22\x4d\x18" + b"\xff" * 40, 1, Header(attributes=3))),
            REFUSED),
        Case("zstd of noise", BROKER, produce(batch(b"\x28\xb5\x2f\xfd" + b"\xff" * 40, 1, Header(attributes=4))),
            REFUSED),
        Case("64 MiB of zeros in 64 KB", BROKER, packed(Compression.GZIP, bytes(64 << 20)), REFUSED),
        Case("a fetch at offset -5", BROKER, fetch(-5), ("OFFSET_OUT_OF_RANGE",)),
        Case("a fetch at offset 2^63-1", BROKER, fetch(2**63 - 1), ("OFFSET_OUT_OF_RANGE",)),
        Case("a fetch of -1 bytes", BROKER, fetch(most=-1), ANY),
        Case("a fetch that waits for 24 days", BROKER, fetch(2**40, wait=many), ("OFFSET_OUT_OF_RANGE", "silent")),
        Case("a fetch in a session of nobody", BROKER, fetch(session=12345), ANY),
        Case("a fetch in a session never begun", BROKER, fetch(session=7, now=1), ("FETCH_SESSION_ID_NOT_FOUND",)),
        Case("a fetch in session -2^31", BROKER, fetch(session=-(2**31), now=many), ("FETCH_SESSION_ID_NOT_FOUND",)),
        Case("a session of 10,000 partitions of nobody", BROKER, crowded(10_000), ANY),
        Case("a fetch in epoch 2^31-1", BROKER, fetch(epoch=many), ("UNKNOWN_LEADER_EPOCH",)),
        Case("a move to a path of 30,000 dots", BROKER, move("." * 30_000), ("LOG_DIR_NOT_FOUND",)),
        Case("a move of 10,000 partitions to where nothing is", BROKER, move("/", *range(10_000)), ANY),
        Case("a move of partition -2^31", BROKER, move("/", -(2**31)), ("LOG_DIR_NOT_FOUND",)),
        Case("offsets of a partition twice", BROKER, listing((0, -1), (0, -2)), ("INVALID_REQUEST",)),
        Case("offsets at a time before all time", BROKER, listing((0, -(2**63))), ANY),
        Case("10,000 epochs' ends", BROKER, epochs(*range(10_000)), ANY),
    ]  # fmt: skip
