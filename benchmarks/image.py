"""What the image costs: seconds to replay, to load from a snapshot on disk, bytes per partition, and what one commit
adds, at 100,000 and a million partitions.

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

from controller_runtime.identifiers import DirectoryId, Epoch, Offset, OffsetAndEpoch, Uuid
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.node.quorum.image_feed import Loading
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.storage.snapshot_batches import stream_batches

PARTITIONS_PER_TOPIC = 100
COMMITS = 2000
SNAPSHOT = OffsetAndEpoch(Offset(1), Epoch(1))


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
    stored = sum(len(page) for topic in image.topics for page in topic._pages)
    return {
        "partitions": partitions,
        "replicas": replicas,
        "log_bytes": size,
        "replay_s": round(total, 2),
        "decode_s": round(decoding, 2),
        "apply_s": round(total - decoding, 2),
        "stored_bytes_per_partition": round(stored / partitions, 1),
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


class OneSnapshot:
    """A file as the node reads it."""

    def __init__(self, path: Path) -> None:
        self._file, self._size = path.open("rb"), path.stat().st_size

    def snapshots(self) -> tuple[OffsetAndEpoch, ...]:
        return (SNAPSHOT,)

    def snapshot_size(self, snapshot_id: OffsetAndEpoch) -> int:
        return self._size

    def read_snapshot(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> bytes:
        self._file.seek(position)
        return self._file.read(max_bytes)


def measure_snapshot(partitions: int, replicas: int, brokers: int) -> dict[str, float]:
    """From a snapshot on disk, in the page cache, to the image."""
    path = Path(tempfile.mkdtemp(prefix="quorate-image-")) / "snapshot"
    with path.open("wb") as file:
        header = SnapshotHeaderRecord(last_contained_log_timestamp=1)
        file.writelines(stream_batches([header], values(partitions, replicas, brokers), 1, 1))
    size = path.stat().st_size
    gc.collect()
    gc.freeze()
    before, cpu, wall = resident_kib(), time.process_time(), time.perf_counter()
    loading = Loading(OneSnapshot(path), SNAPSHOT)
    loading.advance(None)
    image = loading.builder.freeze()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    shutil.rmtree(path.parent)
    assert image.topics.partition_count == partitions, image.topics.partition_count
    return {
        "snapshot_mb": round(size / 1e6, 1),
        "snapshot_load_cpu_s": round(cpu, 2),
        "snapshot_load_wall_s": round(wall, 2),
        "snapshot_load_resident_mb": round((resident_kib() - before) * 1024 / 1e6, 1),
    }


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
    parser.add_argument("--one", choices=["packed", "plain", "snapshot"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shape = (arguments.replicas, arguments.brokers)
    if arguments.one:
        run = {"packed": measure, "plain": measure_plain, "snapshot": measure_snapshot}[arguments.one]
        print(json.dumps(run(arguments.partitions[0], *shape)))
        return
    rows = []
    for partitions in arguments.partitions:
        common = ["--partitions", str(partitions), "--replicas", str(shape[0]), "--brokers", str(shape[1])]
        row: dict[str, float] = {}
        for one in ("packed", "snapshot", "plain"):
            row |= in_process([*common, "--one", one])
        rows.append(row)
        print(json.dumps(row, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
