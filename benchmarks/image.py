"""What the image costs: seconds to replay, bytes per partition, and what one commit adds, at 100,000 and a million
partitions.

    python benchmarks/image.py [--partitions 100000 1000000] [--replicas 3] [--brokers 100] [--json FILE]

The layout is measured against the plain one: a dict of frozen dataclasses per topic. Memory is the growth of the
process's resident set, so allocator overhead counts. Each measurement runs in a process of its own; times are CPU
seconds.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord

PARTITIONS_PER_TOPIC = 100
COMMITS = 2000


def resident_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS in /proc/self/status")


def values(partitions: int, replicas: int, brokers: int) -> Iterator[bytes]:
    """The record values of a log that creates so many partitions, each with other replicas."""
    dice = random.Random(7)
    directories = {broker: Uuid(dice.randbytes(16)) for broker in range(brokers)}
    for number in range(partitions // PARTITIONS_PER_TOPIC):
        topic_id = Uuid(dice.randbytes(16))
        yield encode_record(TopicRecord(name=f"topic-{number}", topic_id=topic_id), 0)
        for index in range(PARTITIONS_PER_TOPIC):
            assigned = tuple(dice.sample(range(brokers), replicas))
            record = PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=assigned,
                isr=assigned,
                leader=assigned[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=tuple(directories[broker] for broker in assigned),
            )
            yield encode_record(record, 2)


def measure(partitions: int, replicas: int, brokers: int) -> dict[str, float]:
    gc.collect()
    path = Path(tempfile.mkdtemp(prefix="quorate-image-")) / "values"
    path.write_bytes(b"".join(len(value).to_bytes(4, "big") + value for value in values(partitions, replicas, brokers)))
    size = path.stat().st_size
    gc.collect()
    before = resident_kib()
    builder = MetadataImage.empty().builder()
    started = time.process_time()
    decoding = 0.0
    with path.open("rb") as log:
        while head := log.read(4):
            value = log.read(int.from_bytes(head, "big"))
            mark = time.process_time()
            record, _ = decode_record(value)
            decoding += time.process_time() - mark
            replay(builder, record)
    image = builder.freeze()
    total = time.process_time() - started
    del builder
    gc.collect()
    grown = (resident_kib() - before) * 1024
    shutil.rmtree(path.parent)
    assert image.topics.partition_count == partitions, image.topics.partition_count
    started = time.process_time()
    written = sum(1 for _ in snapshot_records(image))
    snapshot = time.process_time() - started
    assert written == partitions + len(image.topics)
    return {
        "partitions": partitions,
        "replicas": replicas,
        "log_bytes": size,
        "replay_s": round(total, 2),
        "decode_s": round(decoding, 2),
        "apply_s": round(total - decoding, 2),
        "stored_bytes_per_partition": round(sum(topic.stored_bytes for topic in image.topics) / partitions, 1),
        "resident_bytes_per_partition": round(grown / partitions, 1),
        "resident_total_mib": round(resident_kib() / 1024, 1),
        "snapshot_records_s": round(snapshot, 2),
        "config_commit_us": round(commit_us(image, config_change), 1),
        "partition_commit_us": round(commit_us(image, partition_change), 1),
    }


def config_change(image: MetadataImage, number: int) -> VersionedRecord:
    return ConfigRecord(resource_type=2, resource_name="topic-1", name="retention.ms", value=str(number)), 0


def partition_change(image: MetadataImage, number: int) -> VersionedRecord:
    topic = image.topics.named(f"topic-{number % 100}")
    assert topic is not None
    return PartitionChangeRecord(partition_id=number % PARTITIONS_PER_TOPIC, topic_id=topic.id, leader=number % 3), 2


def commit_us(image: MetadataImage, change: Callable[[MetadataImage, int], VersionedRecord]) -> float:
    """One image to the next by one record, as for every commit with one request."""
    started = time.process_time()
    for number in range(COMMITS):
        builder = image.builder()
        replay(builder, change(image, number)[0])
        image = builder.freeze()
    return (time.process_time() - started) / COMMITS * 1e6


def measure_plain(partitions: int, replicas: int, brokers: int) -> dict[str, float]:
    """The same partitions as a dict of dataclasses: what the packed rows are compared with."""
    from controller_runtime.metadata.partitions import Partition

    dice = random.Random(7)
    directories = {broker: DirectoryId(Uuid(dice.randbytes(16))) for broker in range(brokers)}
    gc.collect()
    before = resident_kib()
    topics: dict[int, dict[int, Partition]] = {}
    for number in range(partitions // PARTITIONS_PER_TOPIC):
        topics[number] = {}
        for index in range(PARTITIONS_PER_TOPIC):
            assigned = tuple(dice.sample(range(brokers), replicas))
            homes = tuple(directories[broker] for broker in assigned)
            topics[number][index] = Partition(assigned, homes, tuple(iter(assigned)), assigned[0])
    gc.collect()
    return {"plain_resident_bytes_per_partition": round((resident_kib() - before) * 1024 / partitions, 1)}


def in_process(arguments: list[str]) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", choices=["packed", "plain"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shape = (arguments.replicas, arguments.brokers)
    if arguments.one:
        run = measure if arguments.one == "packed" else measure_plain
        print(json.dumps(run(arguments.partitions[0], *shape)))
        return
    rows = []
    for partitions in arguments.partitions:
        common = ["--partitions", str(partitions), "--replicas", str(shape[0]), "--brokers", str(shape[1])]
        row = in_process([*common, "--one", "packed"]) | in_process([*common, "--one", "plain"])
        rows.append(row)
        print(json.dumps(row, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
