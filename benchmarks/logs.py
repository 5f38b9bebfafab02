"""The log of a partition beside plain files: what segments, indexes, epochs, producers and checks add to the system
calls that they need.

Both do the same on the same disk, in turns: the peer writes the same bytes with `pwrite`, reads them at places that it
knows, syncs with `fdatasync`, and checks a file with one CRC-32C over all of it. A plain file can find no offset, and
does not know where it ends after a crash: its times are the floor, not a competitor.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.report import Figure
from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.config import LogConfig
from controller_runtime.storage.partition_log import PartitionLog

AREA: Final = "logs"
PEER: Final = "plain files"
TOPIC: Final = Uuid.of(1, 1)
BATCH_RECORDS: Final = 10
BATCHES: Final = 20_000
SYNCED: Final = 100
READS: Final = 2_000
READ_BYTES: Final = 64 << 10
CHANGED_LOGS: Final = 50
CONFIG: Final = LogConfig(segment_bytes=8 << 20)

Work = Callable[[], object]
Pair = tuple[Work, Work]
"""Ours, and the peer's."""


def batches(count: int) -> list[bytes]:
    """Of ten records of 100 bytes, each at its offset: about 1.1 KiB."""
    dice = Random(5)
    values = [dice.randbytes(100) for _ in range(BATCH_RECORDS)]
    whole = encode_batch([Record(n, 1000 + n, None, value) for n, value in enumerate(values)], partition_leader_epoch=0)
    return [(number * BATCH_RECORDS).to_bytes(8, "big") + whole[8:] for number in range(count)]


class Bench:
    """One round: a directory for ours, one for the peer."""

    def __init__(self, home: Path, data: list[bytes]) -> None:
        self.home = home
        self.data = data
        self.dice = Random(11)
        self.log = self.open(clean=False)
        self.file = os.open(home / "plain", os.O_RDWR | os.O_CREAT, 0o644)
        self.end = 0

    def open(self, *, clean: bool, name: str = "ours-0") -> PartitionLog:
        return PartitionLog.open(OsFileSystem(), str(self.home / name), TOPIC, CONFIG, clean=clean)

    def append(self) -> Pair:
        def ours() -> None:
            for batch in self.data:
                self.log.append(batch)

        def plain() -> None:
            for batch in self.data:
                self.end += os.pwrite(self.file, batch, self.end)

        return ours, plain

    def append_and_sync(self) -> Pair:
        more = batches(BATCHES + SYNCED)[BATCHES:]

        def ours() -> None:
            for batch in more:
                self.log.append(batch)
                self.log.flush()

        def plain() -> None:
            for batch in more:
                self.end += os.pwrite(self.file, batch, self.end)
                os.fdatasync(self.file)

        return ours, plain

    def read(self) -> Pair:
        size = len(self.data[0])
        places = [self.dice.randrange(BATCHES - 100) for _ in range(READS)]

        def ours() -> None:
            for place in places:
                self.log.read(Offset(place * BATCH_RECORDS), READ_BYTES)

        def plain() -> None:
            for place in places:
                os.pread(self.file, READ_BYTES, place * size)

        return ours, plain

    def close_changed(self) -> Pair:
        logs = [self.open(clean=False, name=f"small-{number}") for number in range(CHANGED_LOGS)]
        files = [os.open(self.home / f"small{number}", os.O_RDWR | os.O_CREAT, 0o644) for number in range(CHANGED_LOGS)]
        for log, file in zip(logs, files, strict=True):
            log.append(self.data[0])
            os.pwrite(file, self.data[0], 0)

        def ours() -> None:
            for log in logs:
                log.close()

        def plain() -> None:
            for file in files:
                os.fdatasync(file)
                os.close(file)

        return ours, plain

    def open_after_clean_stop(self) -> Pair:
        self.log.close()

        def ours() -> None:
            self.log = self.open(clean=True)

        def plain() -> None:
            for path in sorted((self.home / "ours-0").iterdir()):
                file = os.open(path, os.O_RDWR)
                os.fstat(file)
                os.close(file)

        return ours, plain

    def recover(self) -> Pair:
        self.log.abandon()

        def ours() -> None:
            self.log = self.open(clean=False)

        def plain() -> None:
            position = 0
            while data := os.pread(self.file, 1 << 20, position):
                crc32c(data)
                position += len(data)

        return ours, plain

    def close(self) -> None:
        self.log.abandon()
        os.close(self.file)


STEPS: Final[dict[str, tuple[Callable[[Bench], Pair], str, float]]] = {
    "append a batch of 1.1 KiB": (Bench.append, "us", 1e6 / BATCHES),
    "append a batch and sync": (Bench.append_and_sync, "us", 1e6 / SYNCED),
    "read 64 KiB from an offset": (Bench.read, "us", 1e6 / READS),
    "close a changed log": (Bench.close_changed, "us", 1e6 / CHANGED_LOGS),
    "open 22 MiB after a clean stop": (Bench.open_after_clean_stop, "ms", 1e3),
    "open 22 MiB after a kill": (Bench.recover, "ms", 1e3),
}
"""How it is prepared, and the unit in which one of it is given. In the order in which a round does them."""


def measure(say: Callable[[str], None], rounds: int = 5) -> list[Figure]:
    """The medians of so many rounds."""
    say("logs: append, read, open, recover and close beside plain files")
    data = batches(BATCHES)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in STEPS}
    for number in range(rounds):
        with _bench(data) as bench:
            for name, (prepare, _, scale) in STEPS.items():
                ours, plain = prepare(bench)
                found[name].append(_both(ours, plain, scale, peer_first=bool(number % 2)))
    return [
        Figure(AREA, name, unit, ours=_median(found[name], 0), peer=_median(found[name], 1), peer_name=PEER)
        for name, (_, unit, _) in STEPS.items()
    ]


def _median(pairs: list[tuple[float, float]], place: int) -> float:
    return statistics.median(pair[place] for pair in pairs)


def _both(ours: Work, plain: Work, scale: float, *, peer_first: bool) -> tuple[float, float]:
    if peer_first:
        theirs = _timed(plain) * scale
        return _timed(ours) * scale, theirs
    mine = _timed(ours) * scale
    return mine, _timed(plain) * scale


def _timed(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def _bench(data: list[bytes]) -> Iterator[Bench]:
    home = Path(tempfile.mkdtemp(prefix="quorate-logs-"))
    bench = Bench(home, data)
    try:
        yield bench
    finally:
        bench.close()
        shutil.rmtree(home)
