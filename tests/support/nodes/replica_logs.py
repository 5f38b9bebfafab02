"""Whether the replicas of a partition are the same, record by record: what `kafka-replica-verification` asks of running
brokers, asked of their directories, so that what no consumer may see is compared, too.

    assert disagreements(cluster.broker_nodes, "stock", 0) == []
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from controller_runtime.protocol.record_batch import Record, decode_batches
from support.nodes.processes import NodeProcess, eventually

Told = tuple[int, int, int, bool, Record]
"""The leader epoch, producer id and epoch of a record's batch, whether it is a marker, and the record."""


def records_of(directory: Path) -> dict[int, Told]:
    """By offset, of the log of one replica."""
    found: dict[int, Told] = {}
    for segment in sorted(directory.glob("*.log")):
        for batch in decode_batches(segment.read_bytes()):
            head = batch.header
            for record in batch.records:
                offset = record.offset
                assert offset not in found, f"{segment} has offset {offset} twice"
                found[offset] = (
                    head.partition_leader_epoch, head.producer_id, head.producer_epoch, head.is_control, record
                )  # fmt: skip
    return found


def directories_of(brokers: Sequence[NodeProcess], topic: str, partition: int) -> Iterator[tuple[int, Path]]:
    """Of all replicas, by broker."""
    for broker in brokers:
        for place in broker.properties["log.dirs"].split(","):
            path = Path(place) / f"{topic}-{partition}"
            if path.is_dir():
                yield broker.node_id, path


def disagreements(brokers: Sequence[NodeProcess], topic: str, partition: int = 0) -> list[str]:
    """What replicas say of the same offset; a log that begins later or ends earlier than another is one, too."""
    replicas = [(broker, records_of(path)) for broker, path in directories_of(brokers, topic, partition)]
    assert len(replicas) > 1, f"{topic}-{partition} has {len(replicas)} replicas: nothing can be compared"
    found = []
    for (one, mine), (other, theirs) in pairwise(replicas):
        for offset in sorted({*mine, *theirs}):
            if mine.get(offset) != theirs.get(offset):
                said = f"broker {one} has {mine.get(offset)}, broker {other} has {theirs.get(offset)}"
                found.append(f"{topic}-{partition} at {offset}: {said}")
                break
    return found


def wait_until_same(brokers: Sequence[NodeProcess], topic: str, partition: int = 0, seconds: float = 60.0) -> None:
    last: list[str] = []

    def same() -> bool:
        last[:] = disagreements(brokers, topic, partition)
        return not last

    try:
        eventually(f"all replicas of {topic}-{partition} are the same", same, seconds)
    except AssertionError as error:
        error.add_note("\n".join(last))
        raise
