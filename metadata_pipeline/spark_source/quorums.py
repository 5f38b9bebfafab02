"""What a living quorum gave, as work of Spark's tasks: its bytes travel with the task, its credentials do not.

Options of the source: `bootstrap.controllers` with `command_config` and `cluster_id`, or `fleet`, and `rate_limit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from controller_runtime.identifiers import METADATA_TOPIC_NAME
from controller_runtime.storage.file_names import parse_segment_file, parse_snapshot_file
from metadata_pipeline.copies import WIRE_DIRECTORY, WIRE_NODE
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.schemas import Level
from metadata_pipeline.sources.faults import Fault, InvalidOption
from metadata_pipeline.sources.files import HeldFiles
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import FileRange, read_ranges
from metadata_pipeline.sources.segments import Problem, Segment
from metadata_pipeline.spark_source.paths import number_of

if TYPE_CHECKING:
    from metadata_pipeline.wire.fleet import Quorum
    from metadata_pipeline.wire.following import Followed, Held

ONCE_BYTES = 1 << 30
"""So much is read of all quorums for one query: it is held beside the driver. A lake has no such bound."""


@dataclass(frozen=True)
class HeldLog:
    """One file of a quorum's log, and what it is called."""

    quorum: str
    cluster_id: str | None
    name: str
    data: bytes


def quorums_of(options: Mapping[str, str]) -> tuple[Quorum, ...]:
    """The quorums that the options name. Raises InvalidOption."""
    from metadata_pipeline.wire.fleet import Quorum, read_fleet

    found: tuple[Quorum, ...] = ()
    try:
        if fleet := options.get("fleet"):
            found = read_fleet(fleet)
    except PipelineError as error:
        raise InvalidOption(f"fleet: {error}") from error
    if address := options.get("bootstrap.controllers"):
        found = (*found, Quorum(address, address, options.get("cluster_id"), options.get("command_config")))
    return found


def followed(options: Mapping[str, str]) -> Followed | None:
    """What reads them, or None when the options name none."""
    quorums = quorums_of(options)
    if not quorums:
        return None
    from metadata_pipeline.wire.following import Followed

    return Followed(quorums, number_of(options, "rate_limit"))


def read_once(options: Mapping[str, str], clusters: frozenset[str] | None) -> tuple[list[HeldLog], list[Problem]]:
    """Everything that the quorums have committed."""
    reader = followed(options)
    if reader is None:
        return [], []
    marks = reader.advance({}, ONCE_BYTES)
    logs, problems = work_of(reader.between({}, marks), clusters)
    if sum(len(log.data) for log in logs) >= ONCE_BYTES:
        raise PipelineError("the quorums have more than fits beside the driver", "read them with kraft-pipeline ingest")
    return logs, problems


def work_of(held: Iterable[Held], clusters: frozenset[str] | None) -> tuple[list[HeldLog], list[Problem]]:
    logs: list[HeldLog] = []
    problems: list[Problem] = []
    for one in held:
        if clusters is None or one.cluster_id in clusters:
            logs += [HeldLog(one.quorum.name, one.cluster_id, name, data) for name, data in one.files]
        if one.fault:
            problems.append(Problem(f"quorum {one.quorum}", Fault(one.fault), one.why))
    return logs, problems


def rows_of_held(level: Level, logs: Iterable[HeldLog], options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """On an executor."""
    for log in logs:
        segment = _segment(log)
        if segment.kind in options.kinds:
            files = HeldFiles({segment.file: log.data})
            yield from read_ranges(level, (FileRange.whole(segment),), options, filesystem=files)


def _segment(log: HeldLog) -> Segment:
    file = f"wire:{log.quorum}/{log.name}"
    snapshot, parsed = parse_snapshot_file(log.name), parse_segment_file(log.name)
    return Segment(
        file,
        "log" if snapshot is None else "snapshot",
        len(log.data),
        base_offset=0 if parsed is None else int(parsed[0]),
        snapshot_offset=None if snapshot is None else int(snapshot.offset),
        snapshot_epoch=None if snapshot is None else int(snapshot.epoch),
        cluster_id=log.cluster_id,
        node_id=WIRE_NODE,
        directory_id=WIRE_DIRECTORY,
        partition=f"{METADATA_TOPIC_NAME}-0",
    )


__all__ = ["HeldLog", "followed", "quorums_of", "read_once", "rows_of_held", "work_of"]
