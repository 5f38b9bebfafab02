"""What a snapshot of a large image costs the event loop: `python -m benchmarks.snapshot_pause --partitions 100000`.

The loop, the thread, the writer and the log are the production ones; a callback every millisecond, and an append that
is synced every five, stand for the node's work. Printed as JSON: the longest pause of the loop with and without a
snapshot, how long commits took, the duration, the size, and how much memory the process gained at its peak.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from controller_runtime.identifiers import DirectoryId, Epoch, OffsetAndEpoch, Uuid, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.node.quorum.effects import TakeSnapshot
from controller_runtime.node.quorum.events import QuorumEvent
from controller_runtime.node.quorum.image_feed import PIECE_RECORDS, Loading
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.raft.voter_set import EMPTY
from controller_runtime.server.shell.disk_thread import DiskThread
from controller_runtime.server.shell.process import allow_short_turns, loop_factory
from controller_runtime.server.shell.snapshot_work import SnapshotWork
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.metadata_log import MetadataLog

PARTITIONS_PER_TOPIC = 100
TICK_SECONDS = 0.001
COMMIT_SECONDS = 0.005


def image_of(partitions: int) -> MetadataImage:
    """Topics of 100 partitions with three replicas each, on nine brokers."""
    directories = [DirectoryId(Uuid.of(7, broker)) for broker in range(9)]
    builder = MetadataImage.empty().builder()
    replay(builder, FeatureLevelRecord(name="metadata.version", feature_level=30))
    for number in range(partitions // PARTITIONS_PER_TOPIC):
        topic_id = Uuid.of(1, number)
        replay(builder, TopicRecord(name=f"topic-{number}", topic_id=topic_id))
        for index in range(PARTITIONS_PER_TOPIC):
            brokers = tuple((number + index + offset) % 9 for offset in range(3))
            record = PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=brokers,
                isr=brokers,
                leader=brokers[0],
                directories=tuple(directories[broker] for broker in brokers),
            )
            replay(builder, record)
    return builder.freeze()


class Bench:
    """The loop and what it does beside the snapshot."""

    def __init__(self, log: MetadataLog) -> None:
        self.loop = asyncio.get_running_loop()
        self.log = log
        self.pauses: list[float] = []
        self.own_pauses: list[float] = []
        """Without the time in which our threads were ready and the kernel ran others: what a machine with free cores
        would show.
        """
        self.commits: list[float] = []
        self.events: list[QuorumEvent] = []
        self.done = asyncio.Event()
        self._writer = DiskThread("metadata-log", self.loop)
        self._stopping = False

    def fed(self, event: QuorumEvent) -> None:
        self.events.append(event)
        self.done.set()

    async def tick(self) -> None:
        while not self._stopping:
            before, waits = time.perf_counter(), seconds_waited()
            await asyncio.sleep(TICK_SECONDS)
            pause = time.perf_counter() - before - TICK_SECONDS
            self.pauses.append(pause)
            self.own_pauses.append(max(0.0, pause - withheld(waits, seconds_waited())))

    async def commit(self) -> None:
        while not self._stopping:
            begun = time.perf_counter()
            end = self.log.end_offset
            self.log.append(encode_batch([Record(end, 0, None, bytes(256))], partition_leader_epoch=1))
            pending = self.log.take_pending_write()
            assert pending is not None
            flushed = self.loop.create_future()
            self._writer.submit(pending.perform, flushed.set_result)
            failure = await flushed
            assert failure is None
            self.log.complete(pending)
            self.commits.append(time.perf_counter() - begun)
            await asyncio.sleep(COMMIT_SECONDS)

    def take(self) -> dict[str, float]:
        """What was seen since the last time, in milliseconds."""
        pauses, own, commits = sorted(self.pauses), sorted(self.own_pauses), sorted(self.commits)
        self.pauses, self.own_pauses, self.commits = [], [], []
        return {
            "pause_ms_max": round(pauses[-1] * 1000, 2),
            "pause_ms_p99": round(pauses[len(pauses) * 99 // 100] * 1000, 2),
            "own_pause_ms_max": round(own[-1] * 1000, 2),
            "own_pause_ms_p99": round(own[len(own) * 99 // 100] * 1000, 2),
            "commit_ms_p50": round(commits[len(commits) // 2] * 1000, 2),
            "commit_ms_p99": round(commits[len(commits) * 99 // 100] * 1000, 2),
        }

    def stop(self) -> None:
        self._stopping = True
        self._writer.close()


async def measure(partitions: int, directory: str) -> dict[str, object]:
    image = image_of(partitions)
    gc.collect()
    gc.freeze()
    log = MetadataLog.open(OsFileSystem(), directory)
    bench = Bench(log)
    work = SnapshotWork(log, bench.loop, bench.fed, lambda error: sys.exit(f"a fault: {error}"))
    tasks = [asyncio.create_task(bench.tick()), asyncio.create_task(bench.commit())]
    await asyncio.sleep(2.0)
    alone, memory = bench.take(), Memory()
    begun = time.perf_counter()
    snapshot_id = OffsetAndEpoch(log.end_offset, Epoch(1))
    work.take(TakeSnapshot(snapshot_id, image, 0, voters=EMPTY, last_timestamp=0, wall=WallClock(0)))
    await bench.done.wait()
    seconds = time.perf_counter() - begun
    beside, gained = bench.take(), memory.gained()
    loading = Loading(log, snapshot_id)
    longest = seconds_of_pieces(loading)
    await asyncio.sleep(0.01)
    bench.stop()
    work.close()
    await asyncio.gather(*tasks)
    return {
        "partitions": partitions,
        "seconds": round(seconds, 2),
        "bytes": log.snapshot_size(snapshot_id),
        "memory_gained_kib": gained >> 10,
        "alone": alone,
        "beside_a_snapshot": beside,
        "longest_piece_of_loading_ms": round(longest * 1000, 2),
    }


def seconds_waited() -> dict[str, float]:
    """How long each of our threads has waited, ready to run, for a core that others used."""
    found = {}
    for thread in threading.enumerate():
        try:
            words = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text().split()
        except FileNotFoundError:
            continue
        found[thread.name] = int(words[1]) / 1e9
    return found


def withheld(before: dict[str, float], after: dict[str, float]) -> float:
    """What the kernel kept from the loop: its own wait, and that of the one thread which held the interpreter
    meanwhile.
    """
    waited = {name: at - before.get(name, 0.0) for name, at in after.items()}
    return waited.pop("MainThread", 0.0) + max(waited.values(), default=0.0)


def seconds_of_pieces(loading: Loading) -> float:
    """Replaying a snapshot that arrived: the most of the processor that one step takes."""
    longest = 0.0
    finished = False
    while not finished:
        begun = time.thread_time()
        finished = loading.advance(PIECE_RECORDS)
        longest = max(longest, time.thread_time() - begun)
    return longest


class Memory:
    """How far the resident size rises above what it is now, looked at every ten milliseconds."""

    def __init__(self) -> None:
        self._before = self._peak = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self._peak = max(self._peak, _resident())

    def gained(self) -> int:
        self._stop.set()
        self._thread.join()
        return self._peak - self._before


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=100_000)
    options = parser.parse_args()
    allow_short_turns()
    with tempfile.TemporaryDirectory() as directory, asyncio.Runner(loop_factory=loop_factory()) as runner:
        print(json.dumps(runner.run(measure(options.partitions, directory)), indent=1))


if __name__ == "__main__":
    main()
