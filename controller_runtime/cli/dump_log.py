"""`kafka-dump-log`: what lies in log segments, snapshots and indexes, printed as Apache Kafka's DumpLogSegments prints
it.

Files are read batch by batch, never changed. A batch that is not whole or does not keep its checksum is shown with
`isvalid: false` or counted as invalid bytes at the end; neither is an error, as in Kafka.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from controller_runtime.cli import dump_decoders
from controller_runtime.cli.dump_decoders import STRING_DECODER, Decoder, Undecodable
from controller_runtime.cli.dump_indexes import CorruptIndex, Faults, How, dump_offset_index, dump_time_index
from controller_runtime.cli.dump_producers import producer_snapshot_lines, transaction_index_lines
from controller_runtime.cli.options import BadOption, Given, Option, Table
from controller_runtime.metadata.dump_lines import batch_line, control_text, record_line
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.record_batch import BatchHeader, Record, RecordBatch, read_header, verify_crc
from controller_runtime.storage import file_names
from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.formatting import BOOTSTRAP_CHECKPOINT
from controller_runtime.storage.log.batches import scan
from controller_runtime.values import dataclass, field

_EVERYTHING: Final = (1 << 31) - 1
_DECODERS: Final[dict[str, Callable[[], Decoder]]] = {
    "offsets-decoder": dump_decoders.offsets_decoder,
    "transaction-log-decoder": dump_decoders.transaction_decoder,
    "cluster-metadata-decoder": dump_decoders.metadata_decoder,
    "remote-log-metadata-decoder": dump_decoders.remote_decoder,
    "share-group-state-decoder": dump_decoders.share_decoder,
}
"""In the order in which they win over each other."""

OPTIONS: Final = Table(
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly "
    "corrupt log segment.",
    [
        Option("files", "REQUIRED: the data and index files to print, with commas between them.", "file1, file2, ..."),
        Option("print-data-log", "Print keys and values; any decoder does that, too."),
        Option("deep-iteration", "Print each record, not only batches; printing data does that, too."),
        Option("skip-record-metadata", "Print only keys and values of records; control records are empty lines."),
        Option("cluster-metadata-decoder", "Values are records of the metadata log."),
        Option("offsets-decoder", "Records are those of __consumer_offsets."),
        Option("transaction-log-decoder", "Records are those of __transaction_state."),
        Option("share-group-state-decoder", "Records are those of __share_group_state."),
        Option("remote-log-metadata-decoder", "Values are records of the remote log metadata topic."),
        Option("key-decoder-class", "StringDecoder, LongDecoder or IntegerDecoder of Kafka.", "String", optional=True),
        Option("value-decoder-class", "The same for values.", "String", optional=True),
        Option("max-bytes", "Read no more of a log than this.", "Integer: size"),
        Option("max-message-size", "Accepted: batches of any size are read.", "Integer: size"),
        Option("index-sanity-check", "Only check whether a start would build an index anew."),
        Option("verify-index-only", "Verify indexes without printing them."),
    ],
)


@dataclass(slots=True)
class Dump:
    """One file being printed, and what is remembered for the end."""

    path: str
    skip_record_metadata: bool
    deep: bool
    decoder: Decoder | None
    max_bytes: int = _EVERYTHING
    last_offset: int = -1
    gaps: list[tuple[int, int]] = field(default_factory=list)


def main(argv: Sequence[str]) -> int:
    """Run the tool; returns the exit code."""
    try:
        given = OPTIONS.parse(argv)
        OPTIONS.require(given, "files")
        return _run(given)
    except BadOption as error:
        return _ended(f"{error.java}: {error}")
    except Undecodable as error:
        return _ended(str(error))


def _ended(why: str) -> int:
    sys.stdout.flush()
    print(f'Exception in thread "main" {why}', file=sys.stderr)
    return 1


def _run(given: Given) -> int:
    failed: list[Dump] = []
    how = How(sanity=given.has("index-sanity-check"), silent=given.has("verify-index-only"))
    faults = Faults()
    for path in (given.value("files") or "").split(","):
        print(f"Dumping {path}")
        try:
            dump = _dump_of(path, given)
            _dump_file(dump, how, faults)
            if dump.gaps:
                failed.append(dump)
        except FileNotFoundError:
            return _ended(f"java.nio.file.NoSuchFileException: {path}")
        except CorruptIndex as error:
            print(error, file=sys.stderr)
            return 1
        except (ValueError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
    faults.tell()
    for dump in failed:
        print(f"Non-consecutive offsets in {dump.path}", file=sys.stderr)
        for first, second in dump.gaps:
            print(f"  {first} is followed by {second}", file=sys.stderr)
    return 0


def _dump_of(path: str, given: Given) -> Dump:
    """Raises Undecodable when a decoder's class is not known."""
    decoder = next((made() for name, made in _DECODERS.items() if given.has(name)), None)
    classes = ("key-decoder-class", "value-decoder-class")
    if decoder is None and (given.has("print-data-log") or any(map(given.has, classes))):
        key, value = (given.value(name) or STRING_DECODER for name in classes)
        decoder = dump_decoders.plain_decoder(key, value)
    return Dump(
        path,
        given.has("skip-record-metadata"),
        decoder is not None or given.has("deep-iteration"),
        decoder,
        given.number("max-bytes", _EVERYTHING),
    )


def _dump_file(dump: Dump, how: How, faults: Faults) -> None:
    suffix = dump.path[dump.path.rfind(".") :]
    match suffix:
        case file_names.LOG | file_names.SNAPSHOT:
            _dump_batches(dump)
        case file_names.OFFSET_INDEX:
            dump_offset_index(dump.path, how, faults)
        case file_names.TIME_INDEX:
            dump_time_index(dump.path, how, faults)
        case file_names.PRODUCER_SNAPSHOT:
            _print_lines(producer_snapshot_lines(dump.path))
        case file_names.TRANSACTION_INDEX:
            _print_lines(transaction_index_lines(dump.path))
        case _:
            print(f"Ignoring unknown file {dump.path}", file=sys.stderr)


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _dump_batches(dump: Dump) -> None:
    name = os.path.basename(dump.path)
    if (snapshot := file_names.parse_snapshot_file(name)) is not None:
        print(f"Snapshot end offset: {snapshot.offset}, epoch: {snapshot.epoch}")
    elif (segment := file_names.parse_segment_file(name)) is not None:
        print(f"Log starting offset: {segment[0]}")
    elif name == BOOTSTRAP_CHECKPOINT:
        print("KRaft bootstrap snapshot")
    elif name.endswith(file_names.LOG) and not name.partition(".")[0].isdigit():
        raise Undecodable(f'java.lang.NumberFormatException: For input string: "{name.partition(".")[0]}"')
    if dump.max_bytes < 0:
        raise Undecodable(
            f"java.lang.IllegalArgumentException: Invalid size: {dump.max_bytes} in read from {dump.path}"
        )
    file = OsFileSystem().open(dump.path, write=False)
    valid = 0
    try:
        for item in scan(file, verify=False):
            if not isinstance(item, BatchHeader):
                continue
            if item.end_position > dump.max_bytes:
                break
            data = file.read_at(item.position, item.size_in_bytes)
            _print_batch(dump, RecordBatch(read_header(data), data), item.position)
            valid = item.end_position
        if valid < file.size() and dump.max_bytes == _EVERYTHING:
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
            _print_record(dump, batch, record)


def _print_record(dump: Dump, batch: RecordBatch, record: Record) -> None:
    is_control = batch.header.is_control
    parts: list[str] = []
    if not dump.skip_record_metadata:
        parts.append(record_line(batch.header, record))
        if is_control:
            parts.append(control_text(record))
    if dump.decoder is not None and not is_control:
        try:
            content = dump.decoder(record)
        except Undecodable:
            print(" ".join(parts), end="")
            raise
        if content and dump.skip_record_metadata:
            parts.append("|")
        parts += content
    print(" ".join(parts))
