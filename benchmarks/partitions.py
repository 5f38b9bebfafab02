"""A large image: 100,000 partitions in a quorum, on a broker that only sends heartbeats; for etcd as many keys of the
same size.

The broker is kept alive while the memory is read, so that nothing is fenced meanwhile.
"""

from __future__ import annotations

import time
from typing import Final

from benchmarks import etcd_gateway, load
from benchmarks.clusters import BenchmarkError, Quorum

TOPICS_AT_ONCE: Final = 50
PARTITIONS_PER_TOPIC: Final = 100
REPLICAS: Final = 1
RECORD_BYTES: Final = 66
"""A PartitionRecord with one replica and its directory: our runtime does not place more yet."""
KEYS_AT_ONCE: Final = 100


def fill(quorum: Quorum, count: int) -> None:
    if quorum.kind == "etcd":
        address = load.leader(quorum).address
        for first in range(0, count, KEYS_AT_ONCE):
            etcd_gateway.put_many(
                address, {f"topic/{n // 100}/{n % 100}": "p" * RECORD_BYTES for n in range(first, first + KEYS_AT_ONCE)}
            )
        return
    member = load.first_commit(quorum)
    for first in range(0, count // PARTITIONS_PER_TOPIC, TOPICS_AT_ONCE):
        topics = [(f"large-{n}", PARTITIONS_PER_TOPIC) for n in range(first, first + TOPICS_AT_ONCE)]
        if problem := load.create_topics(member, topics, REPLICAS):
            raise BenchmarkError(f"{quorum.kind}: {problem}")


def resident_bytes_when_settled(quorum: Quorum, seconds: float = 5.0) -> tuple[int, int]:
    """After some quiet, all brokers alive: the median of the members, and the most."""
    member = (
        None if quorum.kind == "etcd" else next(m for m in quorum.members if (m.port, load.BROKER_ID) in load._epochs)
    )
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if member is not None:
            for broker_id in range(load.BROKER_ID, load.BROKER_ID + REPLICAS):
                load.heartbeat(member, broker_id)
        time.sleep(0.5)
    sizes = sorted(one.rss_bytes() for one in quorum.members)
    return sizes[len(sizes) // 2], sizes[-1]
