"""Snapshots of producers that Apache Kafka 4.3.1 left behind: read, written back byte for byte, and equal to what the
log's batches say.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from controller_runtime.storage import small_files
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.producer_snapshots import decode_producers, encode_producers
from controller_runtime.storage.partition_log import PartitionLog
from support.golden import broker_data

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Those in which there is somebody."""
    roots = [broker_data(broker, tmp_path_factory.mktemp("golden")) for broker in (11, 12, 13)]
    found = [path for root in roots for path in sorted(root.glob("d*/*/*.snapshot"))]
    assert len(found) >= 12
    return [path for path in found if path.stat().st_size > 10]


def test_a_snapshot_of_java_is_written_back_byte_for_byte(snapshots: list[Path]) -> None:
    assert len(snapshots) >= 7
    for path in snapshots:
        assert encode_producers(decode_producers(path.read_bytes())) == path.read_bytes(), path


def test_the_batches_of_a_log_say_of_producers_what_javas_snapshot_says(snapshots: list[Path], tmp_path: Path) -> None:
    transactional = 0
    for number, path in enumerate(snapshots):
        copy = tmp_path / str(number)
        shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("*.snapshot"))
        metadata = (copy / "partition.metadata").read_bytes()
        log = PartitionLog.open(OsFileSystem(), str(copy), small_files.decode_partition_metadata(metadata, ""))
        assert log.end_offset == int(path.stem), "it is the one at the log's end"
        said = decode_producers(path.read_bytes())
        assert set(log.producers) == set(said)
        for producer_id, entry in said.items():
            ours = log.producers[producer_id]
            assert ours.batches[-1:] == entry.batches, path
            assert (ours.epoch, ours.timestamp) == (entry.epoch, entry.timestamp), path
            assert ours.transaction_first_offset == entry.transaction_first_offset, path
            transactional += not entry.batches
    assert transactional, "a producer whose transaction has ended is among them"
