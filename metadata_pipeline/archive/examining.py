"""Reading an archive's directory whole: which batches follow one another, up to where, and what is wrong behind that.

In bounded memory, and without changing anything. A checksum covers a batch's records but neither base offset nor epoch:
offsets have to follow one another, epochs never fall, and the digest of what an earlier examination found has to be the
same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controller_runtime.protocol.record_batch import BatchHeader
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.log.batches import scan
from metadata_pipeline.archive.memory import Verified
from metadata_pipeline.wire.files import log_name, snapshot_name
from metadata_pipeline.wire.leader import Mark

DIGITS = 16


@dataclass(frozen=True, slots=True)
class Flaw:
    """Where the first batch begins that cannot be there, and why. `missing`: bytes are not there at all."""

    file: str
    position: int
    why: str
    missing: bool

    def __str__(self) -> str:
        return f"{self.file} at byte {self.position}: {self.why}"


@dataclass(frozen=True, slots=True)
class Listed:
    """What the directory has: base offsets of its segments, and its snapshots, both in order."""

    segments: tuple[int, ...] = ()
    snapshots: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """The batches from `start` to `mark` are whole and follow one another; `flaw` is what ends them early."""

    start: int
    mark: Mark
    digest: str
    size_bytes: int
    flaw: Flaw | None = None


def listed(directory: Path) -> Listed:
    """Nothing for a directory that is not there. Raises OSError."""
    if not directory.is_dir():
        return Listed()
    found = sorted(each.name for each in directory.iterdir())
    segments = [each[0] for each in map(file_names.parse_segment_file, found) if each and each[1] == file_names.LOG]
    snapshots = [each for each in map(file_names.parse_snapshot_file, found) if each]
    return Listed(tuple(map(int, segments)), tuple(Mark(int(each.offset), int(each.epoch)) for each in snapshots))


def examine(directory: Path, known: Verified | None = None) -> Examined:
    """Raises OSError for what cannot be read."""
    found = listed(directory)
    first = found.segments[0] if found.segments else max((each.end for each in found.snapshots), default=0)
    base = next((each for each in reversed(found.snapshots) if each.end <= first), Mark())
    size = sum((directory / snapshot_name(each)).stat().st_size for each in found.snapshots)
    mark, running, flaw = Mark(first, base.epoch if base.end == first else 0), hashlib.sha256(), None
    compared = known if known is not None and known.start == first else None
    for header, data, file in _batches(directory, found.segments):
        size += len(data)
        flaw = _misplaced(header, mark, file) if isinstance(header, BatchHeader) else header
        if flaw is not None:
            break
        assert isinstance(header, BatchHeader), "a flaw ends the loop"
        running.update(data)
        mark = Mark(header.base_offset + header.last_offset_delta + 1, header.partition_leader_epoch)
        if compared is not None and mark.end == compared.end and running.hexdigest()[:DIGITS] != compared.digest:
            why = f"up to offset {mark.end} the bytes are not those that were verified before ({compared.digest})"
            flaw, mark = Flaw(file, header.position, why, missing=False), Mark(first)
            break
    flaw = flaw or _snapshot_flaw(directory, found, first)
    return Examined(first, mark, running.hexdigest()[:DIGITS], size, flaw)


def _batches(directory: Path, segments: tuple[int, ...]) -> Iterator[tuple[BatchHeader | Flaw, bytes, str]]:
    for base in segments:
        name = log_name(base)
        file = OsFileSystem().open(str(directory / name), write=False)
        try:
            for place in scan(file):
                if isinstance(place, BatchHeader):
                    yield place, file.read_at(place.position, place.size_in_bytes), name
                else:
                    yield Flaw(name, place.position, place.reason, missing=place.torn), b"", name
                    return
        finally:
            file.close()


def _misplaced(header: BatchHeader, mark: Mark, file: str) -> Flaw | None:
    if header.base_offset > mark.end:
        why = f"offset {mark.end} is followed by offset {header.base_offset}"
        return Flaw(file, header.position, why, missing=True)
    if header.base_offset < mark.end or header.partition_leader_epoch < mark.epoch:
        why = (
            f"offset {mark.end} of epoch {mark.epoch} is followed by offset {header.base_offset} of epoch "
            f"{header.partition_leader_epoch}"
        )
        return Flaw(file, header.position, why, missing=False)
    return None


def _snapshot_flaw(directory: Path, found: Listed, first: int) -> Flaw | None:
    if first > 0 and not any(each.end >= first for each in found.snapshots):
        why = f"the log begins at offset {first}, and no snapshot has what came before"
        return Flaw(directory.name, 0, why, missing=True)
    flaws = (check_snapshot(directory / snapshot_name(each)) for each in found.snapshots)
    return next((each for each in flaws if each is not None), None)


def check_snapshot(path: Path) -> Flaw | None:
    """A snapshot is whole batches from offset 0 on, of which the first and the last are control batches (its header and
    its footer). Raises OSError.
    """
    file = OsFileSystem().open(str(path), write=False)
    try:
        expected, last, position = 0, None, 0
        for place in scan(file):
            if not isinstance(place, BatchHeader):
                return Flaw(path.name, place.position, place.reason, missing=place.torn)
            if place.base_offset != expected or (expected == 0 and not place.is_control):
                return Flaw(path.name, place.position, "no snapshot's batch can be there", missing=False)
            expected, last, position = place.base_offset + place.last_offset_delta + 1, place, place.end_position
        if last is None or not last.is_control or expected < 2:
            return Flaw(path.name, position, "it ends without a footer", missing=True)
        return None
    finally:
        file.close()
