"""Logs and snapshots of a real Kafka mean to us what they mean to Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import encode_record
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.record_batch import decode_batches
from support.disks.metadata_logs import batches_of, image_of, logs_of, records_of, snapshots_of, without_order
from support.golden import GOLDEN, METADATA_LOGS

pytestmark = pytest.mark.conformance

FROM_THE_START = [path for path in METADATA_LOGS if (path / f"{0:020}.log").exists()]
SNAPSHOTS = [(directory, end) for directory in METADATA_LOGS for end in snapshots_of(directory)]
GROUPS = (
    "FeatureLevelRecord", "RegisterBrokerRecord", "RegisterControllerRecord", "Topic", "ConfigRecord",
    "ClientQuotaRecord",
    "ProducerIdsRecord", "AccessControlEntryRecord", "UserScramCredentialRecord", "DelegationTokenRecord",
)  # fmt: skip


def name_of(value: object) -> str | None:
    return str(value.relative_to(GOLDEN)) if isinstance(value, Path) else None


def image_at(directory: Path, end: int) -> MetadataImage:
    """The image after every record of the log below this offset."""
    return image_of(
        record for log in logs_of(directory) for batch in batches_of(log) for at, record in batch if at < end
    )


def test_there_are_logs_and_snapshots_to_test() -> None:
    assert len(FROM_THE_START) >= 6
    assert len(SNAPSHOTS) >= 20


@pytest.mark.parametrize(("directory", "end"), SNAPSHOTS, ids=name_of)
def test_the_image_of_the_log_equals_the_image_of_the_snapshot(directory: Path, end: int) -> None:
    if directory not in FROM_THE_START:
        directory_with_log = GOLDEN / "cluster" / "controller-2" / "__cluster_metadata-0"
        from_log = image_at(directory_with_log, end)
    else:
        from_log = image_at(directory, end)
    from_snapshot = image_of(records_of(snapshots_of(directory)[end]))
    assert len(from_snapshot.topics) > 0
    assert from_log == from_snapshot


@pytest.mark.parametrize(("directory", "end"), SNAPSHOTS, ids=name_of)
def test_our_snapshot_has_the_records_of_kafkas(directory: Path, end: int) -> None:
    golden = records_of(snapshots_of(directory)[end])
    ours = list(snapshot_records(image_of(golden)))
    assert sorted(map(repr, map(without_order, ours))) == sorted(map(repr, map(without_order, golden)))


def group_of(name: str) -> int:
    return next(
        number
        for number, prefix in enumerate(GROUPS)
        if name.startswith((prefix, "PartitionRecord" if prefix == "Topic" else prefix))
    )


@pytest.mark.parametrize(("directory", "end"), SNAPSHOTS, ids=name_of)
def test_our_snapshot_is_in_kafkas_order(directory: Path, end: int) -> None:
    golden = records_of(snapshots_of(directory)[end])
    ours = list(snapshot_records(image_of(golden)))
    kinds = [group_of(type(record).__name__) for record, _ in ours]
    assert kinds == sorted(kinds) == [group_of(type(record).__name__) for record, _ in golden]
    assert ours[0] == golden[0]  # metadata.version


@pytest.mark.parametrize("directory", METADATA_LOGS, ids=name_of)
def test_every_record_encodes_back_to_its_bytes(directory: Path) -> None:
    for path in (*logs_of(directory), *snapshots_of(directory).values()):
        values = [r.value for b in decode_batches(path.read_bytes()) if not b.header.is_control for r in b.records]
        assert [encode_record(*record) for record in records_of(path)] == values


def test_no_transaction_is_open_at_the_end_of_a_log() -> None:
    for directory in FROM_THE_START:
        assert image_at(directory, 2**62).transaction is None


def test_the_bootstrap_transaction_becomes_visible_at_its_end() -> None:
    batches = list(batches_of(FROM_THE_START[0] / f"{0:020}.log"))
    records = [record for _, record in batches[0]]
    inside = image_of(records[:-1])
    assert (inside.features.metadata_version, inside.stable.features.metadata_version) == (27, 0)
    assert image_of(records).stable.features.metadata_version == 27
