"""`kafka-dump-log`: what lies in log segments, snapshots and indexes, printed as Apache Kafka's DumpLogSegments prints
it.

Files are read batch by batch, never changed. A batch that is not whole or does not keep its checksum is shown with
`isvalid: false` or counted as invalid bytes at the end; neither is an error, as in Kafka.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from controller_runtime.cli.dump_indexes import CorruptIndex, Faults, How, dump_offset_index, dump_time_index
from controller_runtime.metadata.dump_lines import batch_line, control_text, metadata_payload, record_line
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.record_batch import Record, RecordBatch, read_header, verify_crc
from controller_runtime.storage import file_names
from controller_runtime.storage.batch_scan import BatchPlace, scan
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.values import dataclass, field


@dataclass(slots=True)
class Dump:
    """One file being printed, and what is remembered for the end."""

    path: str
    metadata: bool
    skip_record_metadata: bool
    deep: bool
    print_data: bool
    last_offset: int = -1
    gaps: list[tuple[int, int]] = field(default_factory=list)


def main(argv: Sequence[str]) -> int:
    """Run the tool; returns the exit code."""
    options = _parser().parse_args(argv)
    failed: list[Dump] = []
    how, faults = How(sanity=options.index_sanity_check, silent=options.verify_index_only), Faults()
    for path in options.files.split(","):
        print(f"Dumping {path}")
        try:
            dump = Dump(
                path, options.cluster_metadata_decoder, options.skip_record_metadata, _deep(options), _data(options)
            )
            _dump_file(dump, how, faults)
            if dump.gaps:
                failed.append(dump)
        except FileNotFoundError:
            print(f'Exception in thread "main" java.nio.file.NoSuchFileException: {path}', file=sys.stderr)
            return 1
        except CorruptIndex as error:
            print(error, file=sys.stderr)
            return 1
        except ValueError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
    faults.tell()
    for dump in failed:
        print(f"Non-consecutive offsets in {dump.path}", file=sys.stderr)
        for first, second in dump.gaps:
            print(f"  {first} is followed by {second}", file=sys.stderr)
    return 0


def _deep(options: argparse.Namespace) -> bool:
    return bool(options.deep_iteration or options.print_data_log or options.cluster_metadata_decoder)


def _data(options: argparse.Namespace) -> bool:
    return bool(options.print_data_log or options.cluster_metadata_decoder)


def _dump_file(dump: Dump, how: How, faults: Faults) -> None:
    suffix = dump.path[dump.path.rfind(".") :]
    match suffix:
        case file_names.LOG | file_names.SNAPSHOT:
            _dump_batches(dump)
        case file_names.OFFSET_INDEX:
            dump_offset_index(dump.path, how, faults)
        case file_names.TIME_INDEX:
            dump_time_index(dump.path, how, faults)
        case _:
            print(f"Ignoring unknown file {dump.path}", file=sys.stderr)


def _dump_batches(dump: Dump) -> None:
    name = os.path.basename(dump.path)
    if (snapshot := file_names.parse_snapshot_file(name)) is not None:
        print(f"Snapshot end offset: {snapshot.offset}, epoch: {snapshot.epoch}")
    elif (segment := file_names.parse_segment_file(name)) is not None:
        print(f"Log starting offset: {segment[0]}")
    file = OsFileSystem().open(dump.path, write=False)
    valid = 0
    try:
        for item in scan(file, verify=False):
            if not isinstance(item, BatchPlace):
                continue
            data = file.read_at(item.position, item.size)
            _print_batch(dump, RecordBatch(read_header(data), data), item.position)
            valid = item.end
        if valid < file.size():
            print(f"Found {file.size() - valid} invalid bytes at the end of {name}")
    finally:
        file.close()


def _print_batch(dump: Dump, batch: RecordBatch, position: int) -> None:
    header = batch.header
    try:
        verify_crc(batch.data, header)
        valid = True
    except ProtocolError:
        valid = False
    print(batch_line(header, position, valid=valid))
    if dump.deep:
        for record in batch.records:
            if record.offset != dump.last_offset + 1:
                dump.gaps.append((dump.last_offset, record.offset))
            dump.last_offset = record.offset
            print(_record_line(dump, batch, record))


def _record_line(dump: Dump, batch: RecordBatch, record: Record) -> str:
    is_control = batch.header.is_control
    parts: list[str] = []
    if not dump.skip_record_metadata:
        parts.append(record_line(batch.header, record))
        if is_control:
            parts.append(control_text(record))
    if dump.print_data and not is_control:
        prefix = "| " if dump.skip_record_metadata else ""
        parts.append(prefix + (metadata_payload(record) if dump.metadata else _plain_payload(record)))
    return " ".join(parts)


def _plain_payload(record: Record) -> str:
    parts = (("key", record.key), ("payload", record.value))
    return " ".join(f"{name}: {text.decode(errors='replace')}" for name, text in parts if text is not None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-dump-log",
        description="This tool helps to parse a log file and dump its contents to the console, useful for debugging a "
        "seemingly corrupt log segment.",
    )
    parser.add_argument(
        "--files", required=True, help="REQUIRED: The comma separated list of data and index log files."
    )
    parser.add_argument("--print-data-log", action="store_true", help="Print the messages' content.")
    parser.add_argument("--deep-iteration", action="store_true", help="Iterate over the records of each batch.")
    parser.add_argument("--cluster-metadata-decoder", action="store_true", help="Decode records of the metadata log.")
    parser.add_argument(
        "--index-sanity-check", action="store_true", help="Only check whether an index would be rebuilt."
    )
    parser.add_argument("--verify-index-only", action="store_true", help="Verify indexes without printing them.")
    parser.add_argument("--skip-record-metadata", action="store_true", help="Skip metadata when printing records.")
    return parser
