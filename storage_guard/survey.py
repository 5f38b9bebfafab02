"""Reading a copy of the metadata log whole, without changing it: on a read-only mount, torn, or while its node runs.

The end is that of the last whole batch (where recovery would cut), or the newest snapshot if that reaches further. What
a snapshot covers was committed. The voters are the last ones that the copy tells of, committed or not. Digests are of
the batches' bytes, which Kafka copies verbatim.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from controller_runtime.protocol.control_records import decode_control
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import BatchHeader, decode_batches
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.log.batches import scan
from controller_runtime.storage.meta_properties import META_PROPERTIES, decode_meta_properties
from controller_runtime.storage.quorum_state import load_quorum_state
from controller_runtime.storage.snapshot_batches import parse_snapshot
from storage_guard.copies import CopyReport, State

METADATA_LOG: Final = "__cluster_metadata-0"
_DIGEST_DIGITS = 16
NO_NODE = -1
"""The node id of an archive: it keeps only what a leader called committed (`metadata_pipeline.archive`)."""


@dataclass(slots=True)
class _Found:
    start: int = 0
    end: int = 0
    last_epoch: int = 0
    voters: VotersRecord | None = None
    digests: dict[int, str] = field(default_factory=dict)


def survey(filesystem: FileSystem, log_directory: str, start: int = 0, points: Collection[int] = ()) -> CopyReport:
    """Raises OSError, StorageError or ValueError for what cannot be read: then nothing may be concluded
    from this copy.
    """
    meta = join(log_directory, META_PROPERTIES)
    directory = join(log_directory, METADATA_LOG)
    if not filesystem.exists(meta) and not filesystem.exists(directory):
        return CopyReport(State.EMPTY)
    who = decode_meta_properties(read_whole(filesystem, meta), meta)
    if not filesystem.exists(directory):
        return CopyReport(State.EMPTY, int(who.node_id), who.cluster_id, str(who.directory_id))
    found = _read_log(filesystem, directory, start, points)
    snapshots = snapshots_of(filesystem, directory)
    promised = load_quorum_state(filesystem, directory)
    if snapshots and snapshots[-1][0] > found.end:
        found.start = found.end = snapshots[-1][0]
        found.last_epoch, found.digests = snapshots[-1][1], {}
    voters = found.voters or voters_of_snapshots(filesystem, directory, snapshots)
    return CopyReport(
        State.COPY if found.end else State.EMPTY,
        int(who.node_id),
        cluster_id=who.cluster_id,
        directory_id=str(who.directory_id),
        start=found.start,
        end=found.end,
        last_epoch=found.last_epoch,
        known=_known(found, snapshots, is_archive=who.node_id == NO_NODE),
        promised=int(promised.epoch) if promised is not None else 0,
        voters=tuple((int(each.voter_id), str(each.voter_directory_id)) for each in voters.voters) if voters else (),
        digests=found.digests,
    )


def _known(found: _Found, snapshots: list[tuple[int, int]], *, is_archive: bool) -> int:
    """Up to where it is known to be committed: what a snapshot covers, and all that an archive has kept."""
    return max((offset for offset, _ in snapshots), default=0) if not is_archive else found.end


def last_voters(filesystem: FileSystem, directory: str) -> VotersRecord | None:
    """The last voters that a metadata log directory tells of."""
    found = _read_log(filesystem, directory, 0, ())
    return found.voters or voters_of_snapshots(filesystem, directory, snapshots_of(filesystem, directory))


def _read_log(filesystem: FileSystem, directory: str, start: int, points: Collection[int]) -> _Found:
    found, running = _Found(), hashlib.sha256()
    for at, (place, data) in enumerate(batches(filesystem, directory)):
        if at == 0:
            found.start = place.base_offset
        found.end, found.last_epoch = place.last_offset + 1, place.partition_leader_epoch
        if place.is_control:
            found.voters = voters_in(data) or found.voters
        if place.base_offset >= start:
            running.update(data)
            if found.end in points:
                found.digests[found.end] = running.hexdigest()[:_DIGEST_DIGITS]
    return found


def batches(filesystem: FileSystem, directory: str) -> Iterator[tuple[BatchHeader, bytes]]:
    names = filesystem.list_directory(directory)
    segments = sorted(
        offset for offset, suffix in filter(None, map(file_names.parse_segment_file, names)) if suffix == file_names.LOG
    )
    expected = None
    for base in segments:
        file = filesystem.open(join(directory, file_names.segment_file(base, file_names.LOG)), write=False)
        try:
            for place in scan(file):
                if not isinstance(place, BatchHeader) or (expected is not None and place.base_offset != expected):
                    return  # torn, or a gap: nothing behind it counts
                expected = place.last_offset + 1
                yield place, file.read_at(place.position, place.size_in_bytes)
        finally:
            file.close()


def voters_in(data: bytes) -> VotersRecord | None:
    last = None
    for batch in decode_batches(data):
        for record in batch.records:
            message = decode_control(record).message
            last = message if isinstance(message, VotersRecord) else last
    return last


def snapshots_of(filesystem: FileSystem, directory: str) -> list[tuple[int, int]]:
    """(offset, epoch) of the frozen ones, without that of the formatting."""
    found = filter(None, map(file_names.parse_snapshot_file, filesystem.list_directory(directory)))
    return sorted((int(each.offset), int(each.epoch)) for each in found if each.offset > 0)


def voters_of_snapshots(
    filesystem: FileSystem, directory: str, snapshots: list[tuple[int, int]]
) -> VotersRecord | None:
    offset, epoch = snapshots[-1] if snapshots else (0, 0)
    path = join(directory, f"{offset:020d}-{epoch:010d}{file_names.SNAPSHOT}")
    return parse_snapshot(read_whole(filesystem, path), path).voters if filesystem.exists(path) else None
