"""A large snapshot is written beside the event loop, piece by piece; what it costs in milliseconds is for
`benchmarks.snapshot_pause`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.snapshot_pause import image_of
from controller_runtime.identifiers import Epoch, OffsetAndEpoch, WallClock
from controller_runtime.node.quorum.effects import TakeSnapshot
from controller_runtime.node.quorum.events import QuorumEvent, SnapshotGivenUp, SnapshotWritten
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.raft.voter_set import EMPTY
from controller_runtime.server.shell.snapshot_work import SnapshotWork
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.metadata_log import MetadataLog
from support.disks.metadata_disk import image_of_snapshot, snapshots_in
from support.disks.raw_batches import raw_log

pytestmark = pytest.mark.integration

PARTITIONS = 8000


class Stand:
    def __init__(self, directory: Path) -> None:
        self.log = MetadataLog.open(OsFileSystem(), str(directory))
        self.log.append(raw_log((1, 5)))
        self.events: list[QuorumEvent] = []
        self.happened = asyncio.Event()
        self.faults: list[BaseException] = []
        self.work = SnapshotWork(self.log, asyncio.get_running_loop(), self.feed, self.faults.append)

    def feed(self, event: QuorumEvent) -> None:
        self.events.append(event)
        self.happened.set()

    def ask(self, partitions: int = PARTITIONS) -> TakeSnapshot:
        snapshot_id = OffsetAndEpoch(self.log.end_offset, Epoch(1))
        asked = TakeSnapshot(snapshot_id, image_of(partitions), 0, EMPTY, 0, WallClock(0))
        self.work.take(asked)
        return asked


async def test_the_loop_turns_and_the_file_grows_while_a_snapshot_is_written(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    asked = stand.ask()
    turns, sizes = 0, set()
    while not stand.happened.is_set():
        with suppress(FileNotFoundError):  # it may be renamed just now
            sizes |= {path.stat().st_size for path in tmp_path.glob("*-own.checkpoint.part")}
        turns += 1
        await asyncio.sleep(0)
    (written,) = stand.events
    assert isinstance(written, SnapshotWritten)
    data = (tmp_path / f"{5:020}-{1:010}.checkpoint").read_bytes()
    batches = len(decode_batches(data))
    assert batches >= 9
    assert turns > 3 * batches, "the loop had the interpreter again and again"
    assert len(sizes) > 3, "no more than a part of it is held"
    assert written.size_bytes == len(data)
    assert image_of_snapshot(tmp_path, asked.snapshot_id) == asked.image
    assert stand.faults == []
    stand.work.close()


async def test_a_second_snapshot_of_the_same_place_is_given_up(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    for expected in (SnapshotWritten, SnapshotGivenUp):
        stand.ask()
        await stand.happened.wait()
        stand.happened.clear()
        assert isinstance(stand.events[-1], expected)
    stand.work.close()


async def test_closing_gives_up_what_is_being_written(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    stand.ask(5 * PARTITIONS)
    while not list(tmp_path.glob("*.part")):
        await asyncio.sleep(0)
    stand.work.close()
    assert snapshots_in(tmp_path) == []
    assert not list(tmp_path.glob("*.part"))
    await stand.happened.wait()
    assert isinstance(stand.events[-1], SnapshotGivenUp)
