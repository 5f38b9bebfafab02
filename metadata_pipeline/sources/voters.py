"""Who the voters of a quorum are, as far as one replica's files tell.

With kraft.version 1 every change of the voter set is a VotersRecord: the newest snapshot has the set of its time, the
log behind it what came later. Before that the set is static and stands in `quorum-state`. A replica that lags tells an
older set, and the end of its log may not be committed: who needs certainty compares replicas.
"""

from __future__ import annotations

import json
from typing import Any

from controller_runtime.identifiers import DirectoryId, NodeId, ReplicaKey, Uuid
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import FileRange, read_ranges
from metadata_pipeline.sources.segments import LogDirectory

_VOTERS = "VotersRecord"


def voters_of(directory: LogDirectory, *, filesystem: Any = None) -> tuple[ReplicaKey, ...]:
    """The last voter set in the files of a directory; empty when they tell none."""
    snapshots = [each for each in directory.segments if each.kind == "snapshot"]
    newest = max(snapshots, key=lambda it: (it.snapshot_offset or 0, it.snapshot_epoch or 0), default=None)
    logs = [each for each in directory.segments if each.kind == "log"]
    start = 0 if newest is None else newest.snapshot_offset or 0
    options = ReadOptions(columns=("type", "extra"), types=frozenset((_VOTERS,)))
    found: tuple[ReplicaKey, ...] | None = None
    for segments, chosen in (([newest] if newest else [], options), (logs, _behind(options, start))):
        parts = [FileRange.whole(segment) for segment in segments]
        for batch in read_ranges("records", parts, chosen, filesystem=filesystem):
            for row in batch.to_pylist():
                if row["type"] == _VOTERS and row["extra"]:
                    found = _parsed(row["extra"])
    return directory.static_voters if found is None else found


def _behind(options: ReadOptions, offset: int) -> ReadOptions:
    return ReadOptions(columns=options.columns, types=options.types, from_offset=offset)


def _parsed(extra: str) -> tuple[ReplicaKey, ...]:
    return tuple(
        ReplicaKey(NodeId(voter["voterId"]), DirectoryId(Uuid.parse(voter["voterDirectoryId"])))
        for voter in json.loads(extra).get("voters", ())
    )
