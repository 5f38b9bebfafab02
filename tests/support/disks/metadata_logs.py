"""Metadata records read from a log or snapshot of a real Kafka, and images made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from controller_runtime.protocol.record_batch import decode_batches

Batch = list[tuple[int, VersionedRecord]]
"""The data records of one batch, each with its offset."""


@cache
def batches_of(path: Path) -> tuple[Batch, ...]:
    """The data batches of a `.log` or `.checkpoint` file, in order."""
    return tuple(
        [(record.offset, decode_record(record.value or b"")) for record in batch.records]
        for batch in decode_batches(path.read_bytes())
        if not batch.header.is_control
    )


def records_of(path: Path) -> list[VersionedRecord]:
    return [record for batch in batches_of(path) for _, record in batch]


def image_of(records: Iterable[VersionedRecord], base: MetadataImage | None = None) -> MetadataImage:
    builder = (base or MetadataImage.empty()).builder()
    for record, _ in records:
        replay(builder, record)
    return builder.freeze()


def snapshots_of(directory: Path) -> dict[int, Path]:
    """Snapshot files by end offset, without the bootstrap snapshot."""
    found = {int(path.name[:20]): path for path in sorted(directory.glob("*.checkpoint"))}
    return {end: path for end, path in found.items() if end}


def logs_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.log") if re.fullmatch(r"\d{20}\.log", path.name))


def without_order(versioned: VersionedRecord) -> VersionedRecord:
    """Java keeps endpoints and features in hash maps, so their order in a record means nothing."""
    record, version = versioned
    match record:
        case RegisterBrokerRecord() | RegisterControllerRecord():
            ends = tuple(sorted(record.end_points, key=lambda it: it.name))
            features = tuple(sorted(record.features, key=lambda it: it.name))
            record = replace(cast("Any", record), end_points=ends, features=features)
        case _:
            pass
    return record, version
