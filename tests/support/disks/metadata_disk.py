"""What a metadata directory says, read from its files alone: snapshots, and images replayed from a snapshot or from the
log.
"""

from __future__ import annotations

from pathlib import Path

from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.record_batch import RecordBatch, decode_batches
from controller_runtime.storage.file_names import parse_snapshot_file, snapshot_file


def metadata_directory(log_dir: str | Path) -> Path:
    return Path(log_dir) / "__cluster_metadata-0"


def snapshots_in(directory: Path) -> list[OffsetAndEpoch]:
    """Frozen snapshots, ascending, without the bootstrap snapshot."""
    found = (parse_snapshot_file(path.name) for path in directory.iterdir())
    return sorted(one for one in found if one is not None and one.offset > 0)


def image_of_snapshot(directory: Path, snapshot_id: OffsetAndEpoch) -> MetadataImage:
    data = (directory / snapshot_file(snapshot_id)).read_bytes()
    return _replayed(decode_batches(data), MetadataImage.empty())


def image_of_log(directory: Path, end_offset: int) -> MetadataImage:
    """The image below `end_offset`, of a log that begins at 0."""
    segments = sorted(directory.glob("*.log"))
    assert segments[0].name.startswith("0" * 20), "the log begins later"
    batches = [batch for path in segments for batch in decode_batches(path.read_bytes())]
    return _replayed([batch for batch in batches if batch.header.next_offset <= end_offset], MetadataImage.empty())


def _replayed(batches: list[RecordBatch], image: MetadataImage) -> MetadataImage:
    builder = image.builder()
    for batch in batches:
        if not batch.header.is_control:
            for record in batch.records:
                replay(builder, decode_record(record.value or b"")[0])
    return builder.freeze()
