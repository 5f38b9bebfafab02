"""Record batches that Apache Kafka 4.3.1 wrote to disk: read, checked, and written back to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from controller_runtime.protocol.control_records import Control, ControlType, control_record, decode_control
from controller_runtime.protocol.messages.kraft_version_record import KRaftVersionRecord
from controller_runtime.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from controller_runtime.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches, encode_batch
from support.golden import GOLDEN, broker_data

pytestmark = pytest.mark.conformance

LOGS: Final = sorted(path for path in GOLDEN.rglob("*") if path.suffix in (".log", ".checkpoint"))


def written_again(batch: RecordBatch) -> bytes:
    header = batch.header
    return encode_batch(
        batch.records,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        is_control=header.is_control,
        is_transactional=header.is_transactional,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )


def test_every_metadata_log_and_snapshot_is_written_back_to_the_same_bytes() -> None:
    assert len(LOGS) > 40
    for path in LOGS:
        data = path.read_bytes()
        assert b"".join(map(written_again, decode_batches(data))) == data, path


def test_control_records_of_the_golden_logs_are_written_back() -> None:
    seen: set[ControlType] = set()
    for path in LOGS:
        for batch in decode_batches(path.read_bytes()):
            for record in batch.records if batch.header.is_control else ():
                control = decode_control(record)
                seen.add(control.type)
                again = control_record(control.message, offset=record.offset, timestamp=record.timestamp)
                assert again == record
    assert seen == {
        ControlType.LEADER_CHANGE,
        ControlType.SNAPSHOT_HEADER,
        ControlType.SNAPSHOT_FOOTER,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    }


def test_a_bootstrap_snapshot_holds_header_version_voters_and_footer() -> None:
    path = GOLDEN / "cluster/controller-1/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    controls = [decode_control(record) for batch in decode_batches(path.read_bytes()) for record in batch.records]
    match [each.message for each in controls]:
        case [
            SnapshotHeaderRecord(),
            KRaftVersionRecord(kraft_version=1),
            VotersRecord(voters=voters),
            SnapshotFooterRecord(),
        ]:
            assert [voter.voter_id for voter in voters] == [1, 2, 3]
        case other:
            pytest.fail(f"unexpected: {other}")
    assert isinstance(controls[0], Control)


def test_the_topics_of_a_broker_read_back_compressed_and_transactional_ones_too(tmp_path: Path) -> None:
    markers, compressed = set(), 0
    for path in sorted(broker_data(11, tmp_path).rglob("*.log")):
        data = path.read_bytes()
        for batch in decode_batches(data):
            assert len(batch.records) == batch.header.record_count
            if batch.header.is_control and batch.header.is_transactional:
                markers |= {decode_control(record).type for record in batch.records}
            if batch.header.compression:
                compressed += 1
            else:
                assert written_again(batch) == batch.data, (path, batch.header)
    assert markers == {ControlType.ABORT, ControlType.COMMIT}
    assert compressed > 20
