"""Three controllers whose disks hold a snapshot of a million partitions: `python -m benchmarks.million`.

From exec to the first answer, the memory of each above that of an idle one, and the first commit after a `kill -9` of
the leader. The quorum begins small; then its nodes find, as after a fetch, a snapshot at the end of their log. No peer:
Apache Kafka takes 12 s and 3.3 GB for it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from benchmarks import failover, load
from benchmarks.clusters import Quorum
from benchmarks.image import values
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.kraft_version_record import KRaftVersionRecord
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.snapshot_batches import parse_snapshot, stream_batches

NEVER_IN_SNAPSHOTS = (NoOpRecord.KEY, BeginTransactionRecord.KEY, EndTransactionRecord.KEY)
FAULTS = 4


def own_values(batches: list[RecordBatch]) -> Iterator[bytes]:
    """What the quorum has written itself."""
    for batch in batches:
        for record in () if batch.header.is_control else batch.records:
            if record.value is not None and record.value[1] not in NEVER_IN_SNAPSHOTS:
                yield record.value


def enlarge(quorum: Quorum, partitions: int) -> float:
    """Give each node of a stopped quorum a snapshot of so many partitions more; its size, in MB."""
    homes = [member.directory / "data" / "__cluster_metadata-0" for member in quorum.members]
    logs = [decode_batches((home / f"{0:020d}.log").read_bytes(), partial_tail=True) for home in homes]
    batches = min(logs, key=lambda log: log[-1].header.next_offset)
    last = batches[-1].header
    start = homes[0] / f"{0:020d}-{0:010d}.checkpoint"
    voters = parse_snapshot(start.read_bytes(), str(start)).voters
    assert voters is not None, "formatted with its first voters"
    head: list[Message] = [SnapshotHeaderRecord(last_contained_log_timestamp=last.max_timestamp)]
    head += [KRaftVersionRecord(kraft_version=1), voters]
    name = f"{last.next_offset:020d}-{last.partition_leader_epoch:010d}.checkpoint"
    content = chain(own_values(batches), values(partitions, replicas=3, brokers=100))
    with (homes[0] / name).open("wb") as file:
        file.writelines(stream_batches(head, content, last.partition_leader_epoch, last.max_timestamp))
    for home in homes[1:]:
        shutil.copy(homes[0] / name, home / name)
    return (homes[0] / name).stat().st_size / 1e6


def measure(quorum: Quorum, partitions: int) -> None:
    quorum.format()
    quorum.start()
    load.prepare(quorum)
    time.sleep(2)
    print("idle, MB:", [round(member.rss_bytes() / 1e6, 1) for member in quorum.members])
    for member in quorum.members:
        member.terminate()
    print(f"snapshot, MB: {enlarge(quorum, partitions):.0f}", flush=True)
    for member in quorum.members:
        began = time.perf_counter()
        quorum.start_one(member)
        quorum.wait_until_answering(member)
        took = time.perf_counter() - began
        print(f"exec to answering: {took:.2f} s, {member.cpu_s():.2f} s of processor", flush=True)
    load.leader(quorum)
    time.sleep(3)
    print("serving, MB:", [round(member.rss_bytes() / 1e6, 1) for member in quorum.members], flush=True)
    with load.Watch(quorum) as watch:
        for _ in range(FAULTS):
            leader = load.leader(quorum)
            print(f"kill -9 of the leader to the next commit: {failover._kill(watch, quorum, leader) * 1000:.0f} ms")
            quorum.wait_until_answering(leader)
            time.sleep(failover.SETTLE_S["quorate"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--partitions", type=int, default=1_000_000)
    partitions = parser.parse_args().partitions
    work = Path(tempfile.mkdtemp(prefix="quorate-million-"))
    quorum = Quorum("quorate", work)
    try:
        measure(quorum, partitions)
    finally:
        quorum.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
