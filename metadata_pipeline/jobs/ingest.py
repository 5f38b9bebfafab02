"""Ingest: what is new in a fleet's logs becomes files of the lake, exactly once, in one commit.

The lake remembers how far each file of each disk was read; tasks read on from there and write files that nobody sees;
the commit names them all at once. Whatever dies before it leaves orphans, which are written over or vacuumed. Two
ingests at once cannot both commit the same range: the second finds the commit taken, looks again and finds the work
done.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metadata_pipeline.jobs import changes
from metadata_pipeline.jobs.archived import with_archives
from metadata_pipeline.jobs.ingest_task import LEVELS, TaskResult, part_to_json, run_task
from metadata_pipeline.jobs.over_the_wire import WireSources, over_the_wire
from metadata_pipeline.jobs.plan import PACK_BYTES, Part, Sources, new_parts, packs, sources_of, vanished_tails
from metadata_pipeline.lake.commits import CommitConflict, read_commits, require_files, write_commit
from metadata_pipeline.lake.entries import Commit, CopyFacts, Trouble, Truncation
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError, reason
from metadata_pipeline.progress import tracked
from metadata_pipeline.redaction import new_key
from metadata_pipeline.sources.faults import ListingError
from metadata_pipeline.sources.segments import Listing, list_segments

if TYPE_CHECKING:
    from metadata_pipeline.wire.fleet import Quorum

ATTEMPTS: Final = 5
KEY: Final = "_redaction_key"
PLANS: Final = "_plans"
ALONE_BYTES: Final = 16 << 20
"""So much is decoded in this process sooner than workers of Spark are started."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What an ingest did. `commit` is None when there was nothing new."""

    commit: int | None
    files_read: int
    bytes_read: int
    rows: dict[str, int]
    truncations: tuple[Truncation, ...]
    troubles: tuple[Trouble, ...]
    seconds: float


def ingest(
    paths: Sequence[str] | str,
    lake: str | os.PathLike[str],
    spark: Any = None,
    *,
    pack_bytes: int = PACK_BYTES,
    quorums: Sequence[Quorum] = (),
    bytes_per_second: int | None = None,
) -> Ingested:
    """Read what is new below the paths, and of living quorums (each at this rate), into the lake.

    `spark` is a session, or a function that gives one: it is called when more is new than `ALONE_BYTES`. Without it the
    work is done in this process.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    given = [paths] if isinstance(paths, str) else list(paths)
    for _ in range(ATTEMPTS):
        try:
            with over_the_wire(quorums, lake_state(home), home, bytes_per_second) as wire:
                return _attempt(given, wire, home, spark=spark, pack_bytes=pack_bytes, started=started)
        except CommitConflict:
            continue
    raise PipelineError(f"{home}: other jobs kept committing for {ATTEMPTS} attempts", "run the same command again")


def lake_key(lake: Path) -> str:
    """The lake's redaction key, made with the lake: fingerprints of equal secrets are equal for as long as it lives."""
    path = lake / KEY
    try:
        lake.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            beside = path.with_name(f".{KEY}.{uuid.uuid4().hex}.tmp")
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(new_key())
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(beside, path)
            beside.unlink()
    except OSError as error:
        raise PipelineError(
            f"{lake} cannot be a lake: {error.strerror}", "give a directory that can be written, with --output"
        ) from error
    return str(path)


def lake_state(lake: str | os.PathLike[str]) -> LakeState:
    return replay(read_commits(Path(lake)))


def _attempt(
    paths: list[str], wire: WireSources | None, lake: Path, spark: Any, pack_bytes: int, started: float
) -> Ingested:
    state = lake_state(lake) if wire is None else wire.state
    sources = with_archives(_sources(paths, wire))
    cuts = [*changes.truncations(lake, state, sources), *vanished_tails(sources, state)]
    after = replay([Commit(state.version + 1, "ingest", 0, truncate=tuple(cuts))], state)
    parts = new_parts(sources, after.read)
    results = _run(lake, parts, lake_key(lake), spark, pack_bytes)
    files = tuple(file for result in results for file in result.files)
    troubles = _troubles(state, sources, parts, results)
    facts = _epochs_read_after(paths, sources)
    summary = {"paths": paths, "rows": {}, "bytes": 0, "quorums": {} if wire is None else wire.clusters}
    done = Ingested(
        None, len(parts), sum(part.size for part in parts),
        rows={level: sum(file.rows for file in files if file.table == level) for level in LEVELS},
        truncations=tuple(cuts), troubles=troubles, seconds=time.monotonic() - started,
    )  # fmt: skip
    if not (files or cuts or set(facts) != set(state.copies.values()) & set(facts) or troubles != state.troubles):
        return done
    commit = Commit(
        state.version + 1, "ingest", time_ms=round(time.time() * 1000), add=files, remove=(), truncate=tuple(cuts),
        copies=facts, troubles=troubles, summary={**summary, "rows": done.rows, "bytes": done.bytes_read},
    )  # fmt: skip
    require_files(lake, commit)
    write_commit(lake, commit)
    return Ingested(
        commit.number,
        done.files_read,
        done.bytes_read,
        rows=done.rows,
        truncations=done.truncations,
        troubles=troubles,
        seconds=time.monotonic() - started,
    )


def _sources(paths: list[str], wire: WireSources | None) -> Sources:
    try:
        listed = list_segments(paths) if paths or wire is None else Listing((), ())
    except ListingError as error:
        raise PipelineError(str(error), "name a directory that holds __cluster_metadata-0, or one above it") from error
    return sources_of(listed) if wire is None else wire.beside(sources_of(listed))


def _epochs_read_after(paths: list[str], sources: Sources) -> tuple[CopyFacts, ...]:
    """The small files once more, after the logs: a record counts for a node only if its epoch was not newer when it was
    stored.
    """
    try:
        again = {facts.copy: facts for facts in sources_of(list_segments(paths)).copies} if paths else {}
    except ListingError:
        again = {}
    return tuple(replace(again.get(facts.copy, facts), told=facts.told) for facts in sources.copies)


def _troubles(
    state: LakeState, sources: Sources, parts: Sequence[Part], results: Sequence[TaskResult]
) -> tuple[Trouble, ...]:
    """What is wrong now: found in this look, or known of files that were not looked into because they did
    not change.
    """
    looked = {part.segment.file for part in parts}
    listed = {segment.file for segment in sources.files.values()}
    fresh = [*sources.troubles, *(trouble for result in results for trouble in result.troubles)]
    known = [it for it in state.troubles if it.path not in looked and it.path not in {new.path for new in fresh}]
    kept = [it for it in known if it.path in listed and it.fault != "twice"]
    return tuple(sorted({*fresh, *kept}, key=lambda it: (it.path, it.position, it.fault)))


def _run(lake: Path, parts: Sequence[Part], key_file: str, spark: Any, pack_bytes: int) -> list[TaskResult]:
    planned = packs(parts, pack_bytes)
    if not planned:
        return []
    if callable(spark):
        spark = spark() if sum(part.size for part in parts) > ALONE_BYTES else None
    if spark is None:
        return [run_task(lake, pack, key_file) for pack in planned]
    from metadata_pipeline.jobs.ingest_source import IngestSource

    spark.dataSource.register(IngestSource)
    plan = lake / PLANS / f"{uuid.uuid4().hex}.json"
    try:
        plan.parent.mkdir(parents=True, exist_ok=True)
        plan.write_text(json.dumps([[part_to_json(part) for part in pack] for pack in planned]))
        with tracked(spark, "ingest"):
            rows = (
                spark.read.format("kraftlog_ingest").option("lake", str(lake)).option("plan", str(plan))
                .option("key_file", key_file).load().collect()
            )  # fmt: skip
    except PipelineError:
        raise
    except Exception as error:
        raise _explained(error) from error
    finally:
        plan.unlink(missing_ok=True)
    return [TaskResult.from_json(row["result"]) for row in rows]


def _explained(error: Exception) -> PipelineError:
    """A failed Spark job in one sentence: the last line of the worker's traceback, or Spark's own first line."""
    text = str(error)
    causes = [line.strip() for line in text.splitlines() if "PipelineError:" in line or "Error: " in line]
    why = causes[-1] if causes else reason(error)
    return PipelineError(
        f"a task failed, nothing was committed: {why.rpartition('PipelineError: ')[2]}",
        "mend the cause, then run the same command again",
    )
