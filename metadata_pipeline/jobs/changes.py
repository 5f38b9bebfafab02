"""Whether a file still begins with what the lake has read of it, and if not, from which offset on it differs.

The last batch read must stand where it stood, with the same base offset, epoch and checksum. If it does not, the node
has truncated the file; the headers that the lake has of it are compared with the file's, in order, and the first
difference is the cut. Only then the lake's files are opened.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from metadata_pipeline.copies import CopyKey
from metadata_pipeline.jobs.plan import Sources
from metadata_pipeline.lake.entries import SourceRange, Truncation
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.sources.files import OpenFile
from metadata_pipeline.sources.segments import Segment

Tail = tuple[int, int, int, int]
"""Position, base offset, epoch, CRC."""
_HEADER: Final = struct.Struct(">qiibI")


def truncations(lake: Path, state: LakeState, sources: Sources) -> list[Truncation]:
    """Files that no longer begin with what was read of them."""
    found = []
    for (copy, name), segment in sources.files.items():
        known = state.read.get((copy, name))
        if known is None or segment.kind != "log" or _is_there(segment, known):
            continue
        found.append(_cut(lake, state, copy, segment, known))
    return found


def _is_there(segment: Segment, known: SourceRange) -> bool:
    """Whether the last batch stands where it stood. A file that cannot be opened now is not a truncated one."""
    if known.tail is None:
        return True
    try:
        with OpenFile(segment.file) as file:
            return file.size() >= known.end_position and header_at(file, known.tail[0]) == known.tail
    except OSError:
        return True


def header_at(file: OpenFile, position: int) -> Tail | None:
    data = file.read_at(position, _HEADER.size)
    if len(data) < _HEADER.size:
        return None
    base, _, epoch, _, crc = _HEADER.unpack(data)
    return position, base, epoch, crc


def _cut(lake: Path, state: LakeState, copy: CopyKey, segment: Segment, known: SourceRange) -> Truncation:
    kept: SourceRange | None = None
    last: tuple[Tail, int, int] | None = None
    with OpenFile(segment.file) as file:
        for tail, size, end_offset in _batches_read(lake, state, copy, segment.name):
            if header_at(file, tail[0]) != tail or tail[0] + size > file.size():
                offset = tail[1]
                if last is not None:
                    seen, seen_size, seen_end = last
                    kept = replace(known, start_position=0, start_offset=segment.base_offset,
                                   end_position=seen[0] + seen_size, end_offset=seen_end, tail=seen)  # fmt: skip
                return Truncation(copy, offset, kept)
            last = tail, size, end_offset
    raise AssertionError(f"{segment.file}: the last batch differs, but no batch does")


def _batches_read(lake: Path, state: LakeState, copy: CopyKey, name: str) -> Iterator[tuple[Tail, int, int]]:
    """The batches of this source file that count, in the order of the file: header, size, end offset."""
    rows = []
    for live in state.of("batches"):
        if not any(one.copy == copy and one.file == name for one in live.file.ranges):
            continue
        columns = [
            "node_id",
            "directory_id",
            "file",
            "kind",
            "position",
            "size",
            "base_offset",
            "last_offset",
            "epoch",
            "crc",
        ]
        table = pq.read_table(lake / live.file.path, columns=columns, partitioning=None)
        dead = live.dead_from.get(copy)
        for row in table.to_pylist():
            mine = row["node_id"] == copy.node and (row["directory_id"] or "") == copy.directory
            if not mine or row["kind"] != "log" or row["file"].rpartition("/")[2] != name or row["crc"] is None:
                continue
            if dead is None or row["base_offset"] < dead:
                rows.append(row)
    for row in sorted(rows, key=lambda it: it["position"]):
        tail = row["position"], row["base_offset"], row["epoch"], row["crc"]
        yield tail, row["size"], row["last_offset"] + 1
