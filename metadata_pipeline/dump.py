"""`dump`: one file or directory as text, JSON lines or Parquet, without Spark.

Text is what `kafka-dump-log --cluster-metadata-decoder` prints, letter for letter, but for secrets; `--include-secrets`
prints those too, here and nowhere else. JSON and Parquet hold the rows of the table `records` (or `batches`), the same
that Spark reads. A file that it writes appears under its name when it is whole, or not at all; decoding and writing of
Parquet take turns on two threads.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TextIO

import pyarrow as pa

from controller_runtime.metadata.dump_lines import batch_line, control_text, metadata_payload, record_line
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.record_batch import BatchHeader, CorruptBatch, Record, RecordBatch, crc_of, read_header
from metadata_pipeline.allocator import keep_freed_memory
from metadata_pipeline.parquet import TableWriter
from metadata_pipeline.redaction import REDACTED, InvalidKey, Redactor, load_key
from metadata_pipeline.schemas import Level, arrow_schema
from metadata_pipeline.sources.chunks import Flaw, Piece, pieces
from metadata_pipeline.sources.describe import json_of
from metadata_pipeline.sources.faults import Fault, InvalidOption, ListingError, SourceError
from metadata_pipeline.sources.files import OpenFile
from metadata_pipeline.sources.options import CHUNK_BYTES, ReadOptions, parse_level, parse_options
from metadata_pipeline.sources.reading import read
from metadata_pipeline.sources.segments import Segment, list_segments

FORMATS: Final = ("text", "json", "parquet")
WAITING: Final = 2
"""Blocks decoded ahead of the writer."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a .log or .checkpoint file, or a directory of them")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text as kafka-dump-log prints it, JSON lines, or Parquet"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="where to write; needed for parquet, else standard output"
    )
    parser.add_argument("--level", choices=("records", "batches"), default="records", help="rows of json and parquet")
    for name in ("columns", "types", "kinds", "from-offset", "to-offset", "from-time"):
        parser.add_argument(
            f"--{name}", metavar="VALUE", help="as the option of the same name of the Spark source (json, parquet)"
        )
    parser.add_argument(
        "--include-secrets", action="store_true", help="show SCRAM keys, token ids and sensitive configurations"
    )
    parser.add_argument("--redaction-key-file", metavar="FILE", help="the key for fingerprints of secrets")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="kraft-pipeline dump", description=__doc__)
    add_arguments(parser)
    keep_freed_memory()
    return run(parser.parse_args(argv), sys.stdout)


def run(arguments: argparse.Namespace, out: TextIO) -> int:
    """Dump what the arguments name; returns the exit code. Errors go to stderr, one line each."""
    try:
        options = _options(arguments)
        level = parse_level(vars(arguments))
        match arguments.format:
            case "parquet":
                if arguments.output is None:
                    raise InvalidOption("output: parquet needs a file to be written to")
                rows = write_parquet(arguments.paths, arguments.output, options, level)
                print(f"{rows} rows in {arguments.output}", file=out)
            case form:
                write = partial(write_text, arguments.paths, options.redactor) if form == "text" else partial(
                    write_json, arguments.paths, options, level
                )  # fmt: skip
                if arguments.output is None:
                    return 1 if write(out) else 0
                with _whole(arguments.output) as part, part.open("w", encoding="utf-8") as file:
                    failed = write(file)
                return 1 if failed else 0
    except (SourceError, InvalidKey, OSError) as error:
        print(f"{error}\n  next: {_next(error)}", file=sys.stderr)
        return 1
    return 0


def _next(error: Exception) -> str:
    match error:
        case ListingError():
            return "name a .log or .checkpoint file, or a directory that holds some"
        case OSError():
            return "free space or rights, then run the same command again"
        case _:
            return "kraft-pipeline dump --help tells what can be given"


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A file beside the target that takes its name in the end; after a failure there is none, and the error names the
    target. A device is written itself.
    """
    special = target.exists() and not target.is_file()
    part = target if special else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        if not special:
            os.replace(part, target)
    except OSError as error:
        raise OSError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if not special:
            part.unlink(missing_ok=True)


def _options(arguments: argparse.Namespace) -> ReadOptions:
    given = {name: value for name, value in vars(arguments).items() if isinstance(value, str)}
    options = parse_options(given)
    return replace(options, redactor=Redactor(load_key(arguments.redaction_key_file), arguments.include_secrets))


def write_parquet(paths: Sequence[str], target: Path, options: ReadOptions, level: Level = "records") -> int:
    """Write the rows into one Parquet file; returns their number. After a failure there is no file."""
    rows = 0
    with _whole(target) as part:
        file = TableWriter(part, arrow_schema(level, options.columns))
        with closing(file), ThreadPoolExecutor(1) as one:
            waiting: list[Future[None]] = []
            for batch in read(level, paths, options):
                rows += batch.num_rows
                waiting.append(one.submit(file.write, batch))
                if len(waiting) > WAITING:
                    waiting.pop(0).result()
            for left in waiting:
                left.result()
    return rows


def write_json(paths: Sequence[str], options: ReadOptions, level: Level, out: TextIO) -> bool:
    """One JSON object per row, without what is null. Never says that anything is wrong: rows do."""
    for batch in read(level, paths, options):
        texts = [field.name for field in batch.schema if pa.types.is_timestamp(field.type)]
        blobs = [field.name for field in batch.schema if pa.types.is_binary(field.type)]
        for row in batch.to_pylist():
            shown = {name: value for name, value in row.items() if value is not None}
            shown |= {name: shown[name].isoformat(timespec="milliseconds") for name in texts if name in shown}
            shown |= {name: shown[name].hex() for name in blobs if name in shown}
            if "extra" in shown:
                shown["extra"] = json.loads(shown["extra"])
            print(json.dumps(shown, separators=(",", ":"), ensure_ascii=False), file=out)
    return False


def write_text(paths: Sequence[str], redactor: Redactor, out: TextIO) -> bool:
    """The files as kafka-dump-log prints them, gaps at the end and on stderr; returns whether something could not be
    read.
    """
    listing = list_segments(paths)
    for problem in listing.problems:
        print(f"{problem.path}: {problem.detail}", file=sys.stderr)
    dumps = [_TextDump(segment, redactor) for segment in listing.segments]
    failed = bool(listing.problems)
    for dump in dumps:
        failed |= dump.write(out)
    for dump in dumps:
        if dump.gaps:
            print(f"Non-consecutive offsets in {dump.segment.file}", file=sys.stderr)
        for first, second in dump.gaps:
            print(f"  {first} is followed by {second}", file=sys.stderr)
    return failed


class _TextDump:
    """One file on its way to text."""

    def __init__(self, segment: Segment, redactor: Redactor) -> None:
        self.segment = segment
        self.gaps: list[tuple[int, int]] = []
        self._redactor = redactor
        self._shown = partial(_shown, redactor)
        self._last_offset = -1

    def write(self, out: TextIO) -> bool:
        """Print the file; returns whether the file system got in the way."""
        segment = self.segment
        print(f"Dumping {segment.file}", file=out)
        if segment.snapshot_offset is not None:
            print(f"Snapshot end offset: {segment.snapshot_offset}, epoch: {segment.snapshot_epoch}", file=out)
        elif segment.kind == "log":
            print(f"Log starting offset: {segment.base_offset}", file=out)
        try:
            file = OpenFile(segment.file)
        except OSError as error:
            print(f"{segment.file}: {error}", file=sys.stderr)
            return True
        with file:
            for found in pieces(file, 0, segment.size, CHUNK_BYTES):
                match found:
                    case Flaw(fault=Fault.UNREADABLE | Fault.SHRUNK):
                        print(f"{segment.file}: {found.detail}", file=sys.stderr)
                        return True
                    case Flaw():
                        print(
                            f"Found {segment.size - found.position} invalid bytes at the end of {segment.name}",
                            file=out,
                        )
                    case Piece():
                        out.writelines(f"{line}\n" for line in self._lines(found))
        return False

    def _lines(self, piece: Piece) -> Iterator[str]:
        for start, end in pairwise([*piece.starts, piece.end]):
            data = piece.data[start:end]
            try:
                header = read_header(data)
            except CorruptBatch as error:
                yield f"position: {piece.position + start} size: {end - start}: {error.reason}"
                continue
            yield batch_line(header, piece.position + start, valid=crc_of(data, header) == header.crc)
            try:
                records = RecordBatch(header, data).records
            except CorruptBatch:
                yield "| the records cannot be read"
                continue
            for record in records:
                yield self._record(header, record)

    def _record(self, header: BatchHeader, record: Record) -> str:
        if record.offset != self._last_offset + 1:
            self.gaps.append((self._last_offset, record.offset))
        self._last_offset = record.offset
        if record.headers and not self._redactor.include_secrets:
            record = record._replace(
                headers=((REDACTED, None),)
            )  # the metadata log has none: nobody knows what they say
        text = record_line(header, record)
        explained = _explained(self._redactor)
        if not header.is_control:
            return f"{text} {metadata_payload(record, self._shown, explained)}"
        try:
            return f"{text} {control_text(record, self._shown)}"
        except ProtocolError as error:
            return f"{text} {explained(error)}"


def _shown(redactor: Redactor, message: Any, version: int) -> dict[str, Any]:
    return json_of(message, version, redactor)


def _explained(redactor: Redactor) -> Any:
    """An error may quote what was read, so its words are for those who may see secrets."""
    return str if redactor.include_secrets else lambda error: f"{type(error).__name__}: the bytes do not fit the layout"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
