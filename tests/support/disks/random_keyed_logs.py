"""Random histories of logs to be compacted, and their files in a real directory, where Apache Kafka reads them."""

from __future__ import annotations

from pathlib import Path
from random import Random

from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.control_records import ControlType
from support.disks.compacted_logs import DIRECTORY, KeyedLog
from support.disks.memory_disk import MemoryDisk

_KEYS = (b"a", b"b", b"c", b"d", b"e", b"\0\0\0\1")
_CODECS = (Compression.NONE, Compression.NONE, Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY)
_IDEMPOTENT, _TRANSACTIONAL = (1, 2), (7, 8)


def write_at_random(log: KeyedLog, rng: Random, count: int) -> None:
    """So many batches, of every kind; a transaction that is open stays open only if it is said by chance."""
    begun = {batch.producer for batch in log.batches if batch.transactional and batch.marker is None}
    for batch in log.batches:
        if batch.marker is not None:
            begun.discard(batch.producer)
        elif batch.transactional:
            begun.add(batch.producer)
    for _ in range(count):
        kind = rng.choice(("plain", "plain", "idempotent", "transaction", "end"))
        if kind == "end":
            if begun:
                producer = rng.choice(sorted(begun))
                begun.discard(producer)
                log.end(producer, rng.choice((ControlType.ABORT, ControlType.COMMIT)))
            continue
        pairs = [
            (
                rng.choice(_KEYS) if rng.random() < 0.95 else None,
                rng.choice((None, b"%d" % rng.randrange(99), b"v" * 30)),
            )
            for _ in range(rng.randrange(1, 5))
        ]
        producer = {"plain": -1, "idempotent": rng.choice(_IDEMPOTENT)}.get(kind, rng.choice(_TRANSACTIONAL))
        if kind == "transaction":
            begun.add(producer)
        log.write(*pairs, producer=producer, transactional=kind == "transaction", compression=rng.choice(_CODECS))
    for producer in sorted(begun):
        if rng.random() < 0.8:
            log.end(producer, rng.choice((ControlType.ABORT, ControlType.COMMIT)))


def copied_to(disk: MemoryDisk, directory: Path) -> Path:
    """The log's files, and nothing else of the disk."""
    directory.mkdir(parents=True)
    for name in disk.list_directory(DIRECTORY):
        (directory / name).write_bytes(disk.names[f"{DIRECTORY}/{name}"].data)
    return directory


def copied_from(directory: Path) -> MemoryDisk:
    disk = MemoryDisk()
    disk.make_directories(DIRECTORY)
    for file in directory.iterdir():
        disk.open(f"{DIRECTORY}/{file.name}", create=True).write_at(0, file.read_bytes())
    return disk.survivors("everything")
