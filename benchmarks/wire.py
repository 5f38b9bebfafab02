"""The wire beside kafka-python 3, in one process and one run: decode and encode of messages and of a 1,000-record
batch.

    python -m benchmarks.wire [--json FILE]

Both sides read the same bytes and must write them back identically before anything is timed. Rounds alternate between
the two, the garbage collector runs as in production, the clock is the thread's CPU time, and the median round counts.
kafka-python 3 compiles its codecs too, per message and version.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafka.protocol.consumer.fetch import FetchRequest as PeerFetchRequest
from kafka.protocol.consumer.fetch import FetchResponse as PeerFetchResponse
from kafka.protocol.metadata.metadata import MetadataResponse as PeerMetadataResponse
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder

from benchmarks.report import Figure, table, write_json
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from controller_runtime.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from controller_runtime.protocol.schema import Message

PEER: Final = "kafka-python 3"
ROUNDS: Final = 15
ROUND_S: Final = 0.04
FETCH_VERSION: Final = 17
METADATA_VERSION: Final = 13
TIMESTAMP: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Race:
    """Two ways to do the same thing."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]


def fetch_request(topics: int, partitions: int) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=tuple(
            FetchTopic(
                topic_id=Uuid.of(7, topic + 1),
                partitions=tuple(
                    FetchPartition(
                        partition=n, fetch_offset=1000 + n, current_leader_epoch=5, partition_max_bytes=1 << 20
                    )
                    for n in range(partitions)
                ),
            )
            for topic in range(topics)
        ),
    )


def fetch_response(topics: int, partitions: int, records: bytes) -> FetchResponse:
    return FetchResponse(
        responses=tuple(
            FetchableTopicResponse(
                topic_id=Uuid.of(7, topic + 1),
                partitions=tuple(
                    PartitionData(
                        partition_index=n, high_watermark=1000 + n, last_stable_offset=1000 + n, records=records
                    )
                    for n in range(partitions)
                ),
            )
            for topic in range(topics)
        )
    )


def metadata_response(topics: int, partitions: int) -> MetadataResponse:
    return MetadataResponse(
        cluster_id="QuorateBenchmark00000Q",
        controller_id=1,
        brokers=tuple(MetadataResponseBroker(node_id=n, host=f"broker-{n}.example", port=9092) for n in range(3)),
        topics=tuple(
            MetadataResponseTopic(
                name=f"topic-{topic}",
                topic_id=Uuid.of(7, topic + 1),
                partitions=tuple(
                    MetadataResponsePartition(
                        partition_index=n, leader_id=n % 3, leader_epoch=4, replica_nodes=(0, 1, 2), isr_nodes=(0, 1, 2)
                    )
                    for n in range(partitions)
                ),
            )
            for topic in range(topics)
        ),
    )


def message_races(name: str, message: Message, version: int, peer: Any) -> list[Race]:
    data = encode(message, version)
    theirs = peer.decode(data, version=version)
    theirs._header = None  # a decoded message of the peer cannot be encoded without it
    if decode(type(message), data, version) != message or bytes(theirs.encode(version=version)) != data:
        raise SystemExit(f"{name}: the two sides do not agree on the bytes")
    cls = type(message)
    return [
        Race(f"{name}, decode", lambda: decode(cls, data, version), lambda: peer.decode(data, version=version)),
        Race(f"{name}, encode", lambda: encode(message, version), lambda: theirs.encode(version=version)),
    ]


def batch_races(count: int) -> list[Race]:
    records = [Record(n, TIMESTAMP + n, b"key-%06d" % n, b"v" * 100) for n in range(count)]
    data = encode_batch(records, partition_leader_epoch=0)
    if bytes(peer_encode(records)) != data or len(peer_decode(data)) != count:
        raise SystemExit("record batch: the two sides do not agree on the bytes")
    return [
        Race(f"batch of {count} records, decode", lambda: decode_batches(data)[0].records, lambda: peer_decode(data)),
        Race(
            f"batch of {count} records, encode",
            lambda: encode_batch(records, partition_leader_epoch=0),
            lambda: peer_encode(records),
        ),
        Race(f"batch of {count} records, header and CRC", lambda: decode_batches(data), lambda: peer_header(data)),
    ]


def peer_decode(data: bytes) -> list[Any]:
    batch = MemoryRecords(data).next_batch()
    if not batch.validate_crc():
        raise SystemExit("the peer finds a bad CRC")
    return list(batch)


def peer_header(data: bytes) -> Any:
    batch = MemoryRecords(data).next_batch()
    batch.validate_crc()
    return batch


def peer_encode(records: list[Record]) -> Any:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 30)
    for record in records:
        builder.append(record.timestamp, record.key, record.value, [])
    builder.close()
    return builder.buffer()


def races() -> list[Race]:
    records = encode_batch([Record(n, TIMESTAMP, None, b"v" * 100) for n in range(10)])
    return [
        *message_races("FetchRequest, 1 partition", fetch_request(1, 1), FETCH_VERSION, PeerFetchRequest),
        *message_races("FetchRequest, 100 partitions", fetch_request(10, 10), FETCH_VERSION, PeerFetchRequest),
        *message_races("FetchResponse, 1 partition", fetch_response(1, 1, records), FETCH_VERSION, PeerFetchResponse),
        *message_races(
            "FetchResponse, 100 partitions", fetch_response(10, 10, records), FETCH_VERSION, PeerFetchResponse
        ),
        *message_races(
            "MetadataResponse, 500 partitions", metadata_response(50, 10), METADATA_VERSION, PeerMetadataResponse
        ),
        *batch_races(1000),
    ]


def timed(action: Callable[[], Any], times: int) -> float:
    start = time.thread_time()
    for _ in range(times):
        action()
    return (time.thread_time() - start) / times


def run(race: Race) -> Figure:
    counts = {side: max(1, int(ROUND_S / max(timed(side, 3), 1e-7))) for side in (race.ours, race.peer)}
    seen: dict[Callable[[], Any], list[float]] = {race.ours: [], race.peer: []}
    gc.collect()
    for _ in range(ROUNDS):
        for side, results in seen.items():
            results.append(timed(side, counts[side]) * 1e6)
    ours, peer = (statistics.median(seen[side]) for side in (race.ours, race.peer))
    return Figure("wire", race.name, "us", ours=ours, peer=peer, peer_name=PEER)


def measure() -> list[Figure]:
    return [run(race) for race in races()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args(arguments)
    figures = measure()
    print(table(figures))
    if options.json:
        write_json(figures, options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
