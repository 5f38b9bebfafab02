"""What one task of an ingest does: read its parts, write one Parquet file of batches and one of records, say what is in
them.

Runs in a worker (or in the caller's process) and needs no Spark. Memory is bounded by the source's chunk and Parquet's
row group. A part ends where the source has no whole batch any more: that end is what the lake remembers, and the next
ingest goes on there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metadata_pipeline.canon.credible import believed_runs
from metadata_pipeline.copies import CopyKey, VoterSet
from metadata_pipeline.jobs.epochs import Epochs, voters_in
from metadata_pipeline.jobs.plan import Part
from metadata_pipeline.lake.entries import LakeFile, SourceRange, Trouble, range_from
from metadata_pipeline.lake.files import ParquetFile, file_path
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.redaction import Redactor, load_key
from metadata_pipeline.schemas import Level, arrow_schema
from metadata_pipeline.sources.columns import listed
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import FileRange, read_ranges
from metadata_pipeline.sources.segments import Segment

LEVELS: Final[tuple[Level, ...]] = ("batches", "records")
DECODER: Final = 1
"""Part of every file's name: a decoder that gives other rows writes other files."""
_LOST: Final = listed(("torn", "zeros", "shrunk", "empty", "length", "unreadable"), pa.string())
"""Faults of bytes that are not consumed: the next ingest looks at them again."""
_FALSE: Final = listed([False], pa.bool_())[0]


@dataclass(frozen=True, slots=True)
class TaskResult:
    files: tuple[LakeFile, ...]
    troubles: tuple[Trouble, ...]

    def to_json(self) -> str:
        return json.dumps(
            {"files": [asdict(it) for it in self.files], "troubles": [asdict(it) for it in self.troubles]}
        )

    @classmethod
    def from_json(cls, text: str) -> TaskResult:
        stored = json.loads(text)
        files = tuple(
            LakeFile(it["path"], it["table"], it["rows"], it["size"], tuple(map(range_from, it["ranges"])))
            for it in stored["files"]
        )
        return cls(files, tuple(trouble_from(it) for it in stored["troubles"]))


def trouble_from(stored: Mapping[str, Any]) -> Trouble:
    copy = stored["copy"]
    return Trouble(**{**stored, "copy": None if copy is None else CopyKey(**copy)})


def part_to_json(part: Part) -> dict[str, Any]:
    return asdict(part)


def part_from_json(stored: Mapping[str, Any]) -> Part:
    return Part(CopyKey(**stored["copy"]), Segment(**stored["segment"]), stored["start"], stored["end"])


@dataclass(slots=True)
class _Seen:
    """What the batches of one part said."""

    part: Part
    end: int
    tail: tuple[int, int, int, int] | None = None
    troubles: list[Trouble] = field(default_factory=list)
    epochs: Epochs = field(default_factory=Epochs)
    voters: list[VoterSet] = field(default_factory=list)
    damaged: bool = False

    def take(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Look at rows of batches; give those that stay."""
        whole = rows if rows["fault"].null_count == rows.num_rows else self._whole(rows)
        if whole.num_rows:
            last = whole.slice(whole.num_rows - 1).select(["position", "base_offset", "epoch", "crc"]).to_pylist()[0]
            if last["crc"] is not None:
                self.tail = last["position"], last["base_offset"], last["epoch"], last["crc"]
            valid = whole if whole["fault"].null_count == whole.num_rows else whole.filter(pc.is_null(whole["fault"]))
            self.epochs.add(valid)
            self.damaged = self.damaged or valid.num_rows < whole.num_rows
        return whole

    def _whole(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Those without bytes that are not consumed, which are noted."""
        lost = pc.is_in(rows["fault"], _LOST)
        for row in rows.filter(lost).select(["position", "size", "fault", "detail"]).to_pylist():
            place = row["position"] or 0, row["size"] or 0
            self.troubles.append(
                Trouble(self.part.segment.file, row["fault"], row["detail"] or "", *place, self.part.copy)
            )
            self.end = min(self.end, place[0])
        return rows.filter(pc.invert(lost))

    def look_for_voters(self, rows: pa.RecordBatch) -> None:
        """In control records, which are few: leader changes and voter sets."""
        for row in rows.select(["type", "position", "batch_offset", "offset", "epoch", "extra"]).to_pylist():
            if row["type"] == "LeaderChangeMessage" and row["offset"] == row["batch_offset"]:
                self.epochs.led(row["position"])
            if (found := voters_in(row, self.part.segment)) is not None:
                self.voters.append(found)

    def range(self) -> SourceRange | None:
        """None when nothing whole was read."""
        part = self.part
        if self.end <= part.start:
            return None
        where = part.copy, part.segment.name, part.start, self.end
        if part.segment.kind != "log":
            return SourceRange(*where, -1, -1, None, (), tuple(self.voters), self.damaged)
        claims = tuple(self.epochs.claims)
        runs = tuple(believed_runs(claims))
        damaged = self.damaged or sum(it.end - it.start for it in runs) < sum(it.end - it.start for it in claims)
        start, end = (runs[0].start, max(run.end for run in runs)) if runs else (-1, -1)
        return SourceRange(*where, start, end, self.tail, runs, tuple(self.voters), damaged, claims)


def run_task(lake: Path, parts: Sequence[Part], key_file: str | None) -> TaskResult:
    """Read the parts and write their files. Running it again writes the same files."""
    options = ReadOptions(redactor=Redactor(load_key(key_file)))
    cluster = parts[0].copy.cluster
    made_from = [DECODER, *((it.copy, it.segment.file, it.start, it.end) for it in parts)]
    with ExitStack() as stack:
        try:
            written = {
                level: stack.enter_context(
                    ParquetFile(lake, file_path(level, cluster, *made_from), arrow_schema(level))
                )
                for level in LEVELS
            }
            seen = _read_parts(parts, written, options)
            ranges = tuple(found for it in seen.values() if (found := it.range()) is not None)
            files = tuple(
                LakeFile(file.path, level, file.rows, file.commit(), ranges)
                for level, file in written.items()
                if ranges
            )
        except OSError as error:
            raise PipelineError(
                f"cannot write to the lake {lake}: {error.strerror or error}",
                "free space or rights, then run the same command again",
            ) from error
    return TaskResult(files, tuple(trouble for it in seen.values() for trouble in it.troubles))


def _read_parts(
    parts: Sequence[Part], written: Mapping[Level, ParquetFile], options: ReadOptions
) -> Mapping[str, _Seen]:
    """Batches first: they tell where the whole ones end, and records are read up to there, so both tables hold the
    same.
    """
    seen = {part.segment.file: _Seen(part, part.end) for part in parts}
    for rows in read_ranges("batches", [FileRange(it.segment, it.start, it.end) for it in parts], options):
        for file, some in _by_file(rows):
            written["batches"].write(seen[file].take(some))
    whole = [FileRange(it.part.segment, it.part.start, it.end) for it in seen.values() if it.end > it.part.start]
    for rows in read_ranges("records", whole, options):
        written["records"].write(rows)
        control = rows.filter(pc.fill_null(rows["is_control"], _FALSE))
        for file, some in _by_file(control):
            seen[file].look_for_voters(some)
    return seen


def _by_file(rows: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of several files, which lie one after another."""
    runs = pc.run_end_encode(rows["file"])
    start = 0
    for file, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield file, rows.slice(start, end - start)
        start = end
