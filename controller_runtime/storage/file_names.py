"""The names of a log directory's files: offsets as 20 digits, epochs as 10, so that names sort as numbers do."""

from __future__ import annotations

import re
from typing import Final

from controller_runtime.identifiers import Epoch, Offset, OffsetAndEpoch

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
SNAPSHOT: Final = ".checkpoint"
PART: Final = ".part"
DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
TRANSACTION_INDEX: Final = ".txnindex"
PRODUCER_SNAPSHOT: Final = ".snapshot"

_SEGMENT: Final = re.compile(r"(\d{20})(\.log|\.index|\.timeindex|\.snapshot|\.txnindex)\Z")
_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint\Z")
_LEFTOVER: Final = re.compile(r"\d{20}.*(\.part|\.deleted)\Z")


def segment_file(base_offset: int, suffix: str) -> str:
    return f"{base_offset:020d}{suffix}"


def parse_segment_file(name: str) -> tuple[Offset, str] | None:
    """(base offset, suffix) of a segment's file, or None for other names."""
    match = _SEGMENT.match(name)
    return (Offset(int(match[1])), match[2]) if match else None


def snapshot_file(snapshot_id: OffsetAndEpoch) -> str:
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}{SNAPSHOT}"


def snapshot_part_file(snapshot_id: OffsetAndEpoch) -> str:
    """Of a snapshot that is fetched from the leader."""
    return snapshot_file(snapshot_id) + PART


def own_part_file(snapshot_id: OffsetAndEpoch) -> str:
    """Of a snapshot that this node writes: it may go on beside a fetch. Apache Kafka, too, puts an infix there."""
    return f"{snapshot_file(snapshot_id).removesuffix(SNAPSHOT)}-own{SNAPSHOT}{PART}"


def parse_snapshot_file(name: str) -> OffsetAndEpoch | None:
    """The id of a frozen snapshot's file, or None for other names."""
    match = _SNAPSHOT.match(name)
    return OffsetAndEpoch(Offset(int(match[1])), Epoch(int(match[2]))) if match else None


def is_unfinished(name: str, suffix: str) -> bool:
    """Of a segment that was cleaned: `CLEANED` or `SWAP` after the name of a file."""
    return name.endswith(suffix) and _SEGMENT.match(name.removesuffix(suffix)) is not None


def is_leftover(name: str) -> bool:
    """What an unfinished or delayed operation leaves behind, ours or Java's: deleted at start."""
    return _LEFTOVER.match(name) is not None


def partition_directory(topic: str, partition: int) -> str:
    """The name of a partition's directory."""
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """(topic, partition) of a directory name; None for names that are no partition's."""
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not partition.isdecimal() or name.endswith((DELETED, "-delete", "-stray")):
        return None
    return topic, int(partition)
