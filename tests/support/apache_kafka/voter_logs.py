"""The metadata logs of several voters, read from their files alone and compared byte for byte.

Batches are compared as they lie in the files, whole, from the highest log start to an offset that all hold and that is
committed: beyond it a voter may have more, or what an election will cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.record_batch import HEADER_BYTES, BatchHeader, decode_batches
from controller_runtime.storage.file_names import parse_segment_file, snapshot_file
from controller_runtime.storage.log.batches import checksum_holds, parse_batch
from support.disks.metadata_disk import snapshots_in


def batches_in(directory: Path) -> dict[int, bytes]:
    """Base offset -> the bytes of each whole batch, over all segments. A node may be appending meanwhile."""
    found: dict[int, bytes] = {}
    for path in sorted(directory.glob("*.log")):
        if parse_segment_file(path.name) is not None:
            found |= {place.base_offset: batch for place, batch in _whole_batches(path.read_bytes())}
    return found


def _whole_batches(data: bytes) -> Iterator[tuple[BatchHeader, bytes]]:
    at = 0
    while at + HEADER_BYTES <= len(data):
        place = parse_batch(data, at, at)
        if isinstance(place, str) or place.end_position > len(data):
            return
        batch = data[at : place.end_position]
        assert checksum_holds(batch), f"the batch at {place.base_offset} does not keep its checksum"
        yield place, batch
        at = place.end_position


def last_offset(batch: bytes) -> int:
    place, _ = next(_whole_batches(batch))
    return place.last_offset


def compare(directories: Mapping[int, Path], end: int) -> int:
    """Assert that all logs hold the same bytes below `end`; the number of batches that were compared."""
    logs = {
        node: {at: batch for at, batch in batches_in(path).items() if last_offset(batch) < end}
        for node, path in directories.items()
    }
    start = max(min(log, default=end) for log in logs.values())
    shared = {node: {at: batch for at, batch in log.items() if at >= start} for node, log in logs.items()}
    first, *rest = shared
    for node in rest:
        offsets = sorted(set(shared[first]) ^ set(shared[node]))
        assert not offsets, (
            f"batches at {offsets[:10]} are only in one of the logs of {first} and {node} (from {start}, to {end})"
        )
        differing = [at for at in shared[first] if shared[first][at] != shared[node][at]]
        assert not differing, f"nodes {first} and {node} differ in the batches at {differing[:10]}"
    return len(shared[first])


def image_on_disk(directory: Path, end: int) -> MetadataImage:
    """What this directory says about the offsets below `end`: its newest usable snapshot, and the log behind it."""
    usable = [one for one in snapshots_in(directory) if one.offset <= end]
    image, start = MetadataImage.empty(), 0
    if usable:
        start = usable[-1].offset
        image = _replayed(image, [(directory / snapshot_file(usable[-1])).read_bytes()], 0, None)
    log = batches_in(directory)
    assert start == end or any(at <= start for at in log), (
        f"{directory}: the log begins behind its newest snapshot {start}"
    )
    return _replayed(image, [log[at] for at in sorted(log)], start, end)


def _replayed(image: MetadataImage, pieces: Iterable[bytes], start: int, end: int | None) -> MetadataImage:
    builder = image.builder()
    for piece in pieces:
        for batch in decode_batches(piece):
            if (
                batch.header.is_control
                or batch.header.base_offset < start
                or (end is not None and batch.header.last_offset >= end)
            ):
                continue
            for record in batch.records:
                replay(builder, decode_record(record.value or b"")[0])
    return builder.freeze()


def names_on_disk(directory: Path, end: int, prefix: str) -> set[str]:
    """The default configurations of all brokers with this prefix."""
    return {name for name in image_on_disk(directory, end).configs.of(4, "") if name.startswith(prefix)}
