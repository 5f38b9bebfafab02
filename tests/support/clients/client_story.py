"""The story that every client tells our brokers: records of every kind go in, the same records come out.

One cluster of real processes for each test module, two brokers, so that clients must find the leaders of partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.nodes.processes import Cluster

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 4
PER_RUN = 40


@dataclass(frozen=True, slots=True, order=True)
class Sent:
    """A record as the test sent it and wants it back."""

    partition: int
    key: bytes
    value: bytes


def records(codec: str, *, idempotent: bool) -> list[Sent]:
    """What one producer sends: its name is in each key, its values do and do not compress."""
    name = f"{codec}-{'idempotent' if idempotent else 'plain'}"
    return [
        Sent(number % PARTITIONS, f"{name}-{number}".encode(), (b"abc" * number + bytes([number]) * 3))
        for number in range(PER_RUN)
    ]


def everything() -> list[Sent]:
    return sorted(
        one for codec in CODECS for idempotent in (False, True) for one in records(codec, idempotent=idempotent)
    )


def running_cluster(directory: Path, **extra: str) -> Iterator[Cluster]:
    """One controller, two brokers, ready."""
    with Cluster(directory, controllers=1, brokers=2, extra=extra) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120.0)
        yield cluster
