"""Every directory that Apache Kafka 4.3.1 left behind is read, and what is deterministic is written back
byte for byte.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, Offset
from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import small_files
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.batches import scan, split_batches
from controller_runtime.storage.log.indexes import OffsetIndex, TimeIndex
from controller_runtime.storage.log.open_files import OpenFiles
from controller_runtime.storage.log.segment import Segment
from controller_runtime.storage.meta_properties import decode_meta_properties, encode_meta_properties
from controller_runtime.storage.metadata_log import MetadataLog
from controller_runtime.storage.quorum_state import decode_quorum_state, encode_quorum_state
from support.golden import GOLDEN, METADATA_LOGS, broker_data, copy_of

pytestmark = pytest.mark.conformance

FILES = OsFileSystem()
ids = [str(path.relative_to(GOLDEN)) for path in METADATA_LOGS]


def named(name: str) -> list[Path]:
    found = sorted(GOLDEN.glob(f"**/{name}"))
    assert found
    return found


@pytest.mark.parametrize("path", named("meta.properties"), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_meta_properties_are_written_back_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    date = data.splitlines()[1].decode().removeprefix("#")
    assert encode_meta_properties(decode_meta_properties(data, str(path)), date) == data


@pytest.mark.parametrize("path", named("quorum-state"), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_quorum_state_is_written_back_byte_for_byte(path: Path) -> None:
    state = decode_quorum_state(path.read_bytes(), str(path))
    assert state.epoch > 0
    assert encode_quorum_state(state) == path.read_bytes()


def test_golden_quorum_states_cover_both_versions() -> None:
    assert {decode_quorum_state(path.read_bytes(), "").version for path in named("quorum-state")} == {0, 1}


@pytest.mark.parametrize("path", named("leader-epoch-checkpoint"), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_leader_epoch_checkpoints_are_written_back_byte_for_byte(path: Path) -> None:
    data = path.read_bytes()
    assert small_files.encode_epoch_starts(small_files.decode_epoch_starts(data, str(path))) == data


@pytest.mark.parametrize("path", named("partition.metadata"), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_partition_metadata_is_written_back_byte_for_byte(path: Path) -> None:
    topic_id = small_files.decode_partition_metadata(path.read_bytes(), str(path))
    assert topic_id == METADATA_TOPIC_ID
    assert small_files.encode_partition_metadata(topic_id) == path.read_bytes()


@pytest.mark.parametrize("name", ["recovery-point", "log-start", "replication", "cleaner"])
def test_offset_checkpoints_are_written_back_byte_for_byte(name: str) -> None:
    for path in named(f"{name}-offset-checkpoint"):
        rows = small_files.decode_partition_offsets(path.read_bytes(), str(path))
        flat = [(topic, partition, offset) for (topic, partition), offset in rows.items()]
        if path.stat().st_size:
            assert small_files.encode_partition_offsets(flat) == path.read_bytes()


@pytest.mark.parametrize("directory", METADATA_LOGS, ids=ids)
def test_a_metadata_log_of_java_opens_unchanged(directory: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    copy = copy_of(directory, tmp_path / "log")
    log = MetadataLog.open(FILES, copy)
    assert log.torn_bytes == 0
    names = {path.name for path in Path(copy).iterdir()}
    assert names >= set(before), "nothing of Java's is deleted"
    changed = [name for name in before if (Path(copy) / name).read_bytes() != before[name]]
    assert all(name.endswith("index") for name in changed), changed
    data = b"".join(before[name] for name in sorted(before) if name.endswith(".log"))
    assert log.read(log.start_offset, len(data)) == data
    places = list(split_batches(data))
    assert log.end_offset == places[-1].last_offset + 1
    expected = small_files.decode_epoch_starts(before["leader-epoch-checkpoint"], "")
    assert log.epoch_starts() == expected


@pytest.mark.parametrize("directory", METADATA_LOGS, ids=ids)
def test_every_offset_of_a_java_log_is_found_through_our_index(directory: Path, tmp_path: Path) -> None:
    log = MetadataLog.open(FILES, copy_of(directory, tmp_path / "log"))
    for offset in range(log.start_offset, log.end_offset):
        (first, *_) = split_batches(log.read(Offset(offset), 1))
        assert first.base_offset <= offset <= first.last_offset


def java_indexes(log_file: Path) -> tuple[OffsetIndex, TimeIndex]:
    base = int(log_file.stem)
    offsets = OffsetIndex.decode(base, log_file.with_suffix(".index").read_bytes())
    return offsets, TimeIndex.decode(base, log_file.with_suffix(".timeindex").read_bytes())


def indexed_logs() -> list[Path]:
    return [path for path in sorted(GOLDEN.glob("**/*.log")) if path.with_suffix(".index").exists()]


@pytest.mark.parametrize("log_file", indexed_logs(), ids=lambda path: str(path.relative_to(GOLDEN)))
def test_indexes_of_java_decode_and_encode_back(log_file: Path) -> None:
    offsets, times = java_indexes(log_file)
    assert offsets.encode() == log_file.with_suffix(".index").read_bytes()
    assert times.encode() == log_file.with_suffix(".timeindex").read_bytes()


RESTARTED = {f"cluster/controller-{n}" for n in (1, 2, 3)} | {"static-voters/controller-2", "broker-12/d0"}
"""Nodes that were stopped or killed and started again: Java counts the index interval anew from there."""


def test_rebuilt_indexes_equal_those_of_java_byte_for_byte(tmp_path: Path) -> None:
    compared = 0
    roots = [broker_data(broker, tmp_path) for broker in (11, 12, 13)]
    logs = indexed_logs() + [path for root in roots for path in sorted(root.glob("d*/*/*.log"))]
    for log_file in logs:
        restarted = any(f"{node}/__cluster_metadata-0" in str(log_file) for node in RESTARTED)
        theirs = [log_file.with_suffix(suffix) for suffix in (".index", ".timeindex")]
        if restarted or not all(path.exists() for path in theirs):
            continue
        segment = Segment(OpenFiles(FILES), str(log_file.parent), int(log_file.stem))
        for batch in scan(segment.file):
            assert isinstance(batch, BatchHeader)
            segment.add(batch)
        segment.indexes.close()
        ours = [segment.indexes.offset.encode(), segment.indexes.time.encode()]
        assert ours == [path.read_bytes() for path in theirs], log_file
        compared += bool(ours[0])
    assert compared >= 7, f"only {compared} of {len(logs)} logs have offset entries"
