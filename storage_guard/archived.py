"""What an archive holds up to a point in time, for a new cluster that is formed from it.

A survey takes what it finds of a disk that a crash may have torn. An archive promised more: below the end that
`archive.json` names every byte was synced. So it is read whole, and refused unless it keeps that promise, is of the
cluster that was named, reaches the point, and begins at offset 0 or with a snapshot. What lies beyond the point is
told, not taken. Nothing is changed; its follower may go on writing behind the end that was found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Self

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.records import decode_record
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import BatchHeader, decode_batches
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import FileSystem, join, read_whole
from controller_runtime.storage.meta_properties import META_PROPERTIES, decode_meta_properties
from controller_runtime.storage.quorum_state import load_quorum_state
from controller_runtime.storage.snapshot_batches import parse_snapshot
from storage_guard.copies import Beyond, CopyReport, State
from storage_guard.recover import RecoveryRefused
from storage_guard.survey import METADATA_LOG, NO_NODE, batches, snapshots_of, voters_in, voters_of_snapshots

ARCHIVE_FILE: Final = "archive.json"
_VERSION: Final = 1
_NAMES_BYTES: Final = 1500
"""So many bytes of topics' names are told: the line of a helper has 4,096 at most."""
_ANEW: Final = "delete the resource, of which nothing was formed, and create it with"


@dataclass(frozen=True, slots=True)
class Point:
    """Where to stop: before the first batch that goes beyond an offset, or that is later than a time. Neither: at the
    end.
    """

    offset: int | None = None
    """The last one that may be taken."""
    time: int | None = None
    """In ms since 1970."""

    @classmethod
    def parse(cls, text: str) -> Self:
        kind, _, value = text.partition(":")
        return cls(offset=int(value)) if kind == "offset" else cls(time=int(value)) if kind == "time" else cls()

    def is_before(self, place: BatchHeader) -> bool:
        late = self.time is not None and place.max_timestamp > self.time
        return late or (self.offset is not None and place.last_offset > self.offset)

    def __str__(self) -> str:
        return f"time {self.time} (ms)" if self.offset is None else f"offset {self.offset}"


@dataclass(slots=True)
class _Read:
    """`end`, `epoch` and `voters` are those at the point, `whole` and `latest` those of the last batch there is."""

    start: int = 0
    end: int = 0
    epoch: int = 0
    whole: int = 0
    whole_epoch: int = 0
    latest: int = 0
    records: bool = False
    voters: VotersRecord | None = None
    created: dict[Uuid, str] = field(default_factory=dict)
    deleted: dict[Uuid, str] = field(default_factory=dict)
    """Topics whose records lie beyond the point."""


def survey_archive(filesystem: FileSystem, log_directory: str, cluster_id: str, point: Point) -> CopyReport:
    """The copy up to the point, and what lies beyond it. Raises RecoveryRefused, OSError, StorageError, ValueError."""
    end, epoch = _promised(filesystem, log_directory, cluster_id)
    directory = join(log_directory, METADATA_LOG)
    found = _read(filesystem, directory, point)
    every = snapshots_of(filesystem, directory)
    if every and every[-1][0] > found.whole:  # it began anew with a snapshot, and nothing came since
        found = _Read(every[-1][0], *every[-1], *every[-1])
    _keeps_its_promise(found, end, epoch)
    _reaches(found, point)
    snapshots = [each for each in every if each[0] <= found.end]
    _begins(found, snapshots, point)
    _name(filesystem, directory, found, snapshots)
    voters = found.voters or voters_of_snapshots(filesystem, directory, snapshots)
    who = decode_meta_properties(read_whole(filesystem, join(log_directory, META_PROPERTIES)), META_PROPERTIES)
    promised = load_quorum_state(filesystem, directory)
    return CopyReport(
        State.COPY,
        NO_NODE,
        cluster_id=cluster_id,
        directory_id=str(who.directory_id),
        start=found.start,
        end=found.end,
        last_epoch=found.epoch,
        known=found.end,
        promised=max(int(promised.epoch) if promised is not None else 0, found.whole_epoch),
        voters=tuple((int(each.voter_id), str(each.voter_directory_id)) for each in voters.voters) if voters else (),
        beyond=_beyond(found),
    )


def _promised(filesystem: FileSystem, log_directory: str, cluster_id: str) -> tuple[int, int]:
    """End and epoch of what was synced, of an archive of this cluster."""
    path, meta = join(log_directory, ARCHIVE_FILE), join(log_directory, META_PROPERTIES)
    if not filesystem.exists(path) or not filesystem.exists(meta):
        raise RecoveryRefused(f"{_ANEW} the claim of an archive: there is no {ARCHIVE_FILE} beside a meta.properties")
    try:
        said = json.loads(read_whole(filesystem, path))
        version, whose = said["version"], str(said["clusterID"])
        kept = int(said["end"]), int(said["epoch"])
    except (ValueError, KeyError, TypeError) as error:
        raise RecoveryRefused(f"restore {path}: it is damaged ({error!r})") from error
    if version != _VERSION:
        raise RecoveryRefused(f"take an operator of the archive's release: version {version!r} of {path} is not known")
    who = decode_meta_properties(read_whole(filesystem, meta), meta)
    if who.node_id != NO_NODE:
        raise RecoveryRefused(f"{_ANEW} the claim of an archive: this directory is node {who.node_id}'s")
    if {whose, who.cluster_id} != {cluster_id}:
        raise RecoveryRefused(
            f"{_ANEW} the claim of the archive that is meant, or clusterID {whose}: this one is of cluster {whose}, "
            f"not of {cluster_id}"
        )
    return kept


def _read(filesystem: FileSystem, directory: str, point: Point) -> _Read:
    """Every batch whose checksum holds, without a gap; those from the point on are only looked through."""
    found, beyond = _Read(), False
    for at, (place, data) in enumerate(batches(filesystem, directory)):
        if at == 0:
            found.start = found.end = place.base_offset
        if place.partition_leader_epoch < found.whole_epoch:
            raise RecoveryRefused(
                f"name another archive: this one is forked. Offset {place.base_offset} is of epoch "
                f"{place.partition_leader_epoch}, and what lies before it of {found.whole_epoch}"
            )
        found.whole, found.whole_epoch = place.next_offset, place.partition_leader_epoch
        found.latest = max(found.latest, place.max_timestamp)
        beyond = beyond or point.is_before(place)
        if beyond:
            _look_through(found, place, data)
            continue
        found.end, found.epoch = place.next_offset, place.partition_leader_epoch
        found.records = found.records or not place.is_control
        found.voters = (voters_in(data) if place.is_control else None) or found.voters
    return found


def _keeps_its_promise(found: _Read, end: int, epoch: int) -> None:
    if found.whole < end:
        raise RecoveryRefused(
            f"restore the volume of the archive: it is damaged. It was whole up to offset {end}, and can be read up to "
            f"offset {found.whole}"
        )
    if found.whole == end and found.whole_epoch != epoch:
        raise RecoveryRefused(
            f"name another archive: this one is forked. It was written up to offset {end} of epoch {epoch}, and its "
            f"log ends in epoch {found.whole_epoch}"
        )


def _reaches(found: _Read, point: Point) -> None:
    """An archive that ends before the point cannot say what was so at it."""
    if point.offset is not None and point.offset >= found.whole:
        raise RecoveryRefused(f"{_ANEW} an offset up to {found.whole - 1}: the archive is older than {point}")
    if point.time is not None and found.latest < point.time:
        raise RecoveryRefused(
            f"{_ANEW} a time up to {found.latest} (ms since 1970), or without: the archive is older than {point}"
        )


def _begins(found: _Read, snapshots: list[tuple[int, int]], point: Point) -> None:
    """What lies before the log has to be in a snapshot; a log from offset 0 on has to have said something."""
    later = f"{_ANEW} a later point: the archive begins at offset {found.start}, and cannot say what was so at {point}"
    if found.start == 0:
        if not found.records:
            raise RecoveryRefused(later)
        return
    base = [each for each in snapshots if each[0] >= found.start]
    empty = found.end == found.start
    before = point.time is not None or (point.offset is not None and point.offset + 1 < found.start)
    if not base or (empty and before):
        raise RecoveryRefused(later)
    if empty:
        found.epoch = base[0][1]


def _look_through(found: _Read, place: BatchHeader, data: bytes) -> None:
    for message in () if place.is_control else _topic_records(_values(data)):
        if isinstance(message, TopicRecord):
            found.created[message.topic_id] = message.name
        elif found.created.pop(message.topic_id, None) is None:
            found.deleted[message.topic_id] = str(message.topic_id)


def _name(filesystem: FileSystem, directory: str, found: _Read, snapshots: list[tuple[int, int]]) -> None:
    """The names of deleted topics: said where they were created."""
    if not found.deleted:
        return
    for place, data in batches(filesystem, directory):
        if place.next_offset <= found.end and not place.is_control:
            _name_those(found, _values(data))
    if snapshots:
        offset, epoch = snapshots[-1]
        path = join(directory, f"{offset:020d}-{epoch:010d}{file_names.SNAPSHOT}")
        _name_those(found, parse_snapshot(read_whole(filesystem, path), path).values)


def _name_those(found: _Read, values: Iterable[bytes]) -> None:
    for message in _topic_records(values):
        if isinstance(message, TopicRecord) and message.topic_id in found.deleted:
            found.deleted[message.topic_id] = message.name


def _beyond(found: _Read) -> Beyond:
    left, more = _NAMES_BYTES, 0
    told: dict[bool, list[str]] = {True: [], False: []}
    for created, names in ((True, found.created), (False, found.deleted)):
        for name in sorted(names.values()):
            left -= len(name.encode()) + 3
            if left < 0:
                more += 1
            else:
                told[created].append(name)
    return Beyond(found.whole, tuple(told[True]), tuple(told[False]), more)


def _values(data: bytes) -> Iterator[bytes]:
    for batch in decode_batches(data):
        yield from (record.value for record in batch.records if record.value is not None)


def _topic_records(values: Iterable[bytes]) -> Iterator[TopicRecord | RemoveTopicRecord]:
    """A record that is not known here may be of a newer release: it is no topic's."""
    for value in values:
        try:
            message, _ = decode_record(value)
        except ProtocolError:
            continue
        if isinstance(message, TopicRecord | RemoveTopicRecord):
            yield message
