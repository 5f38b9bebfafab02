"""The job `tables`: the history tables from the committed records, what is provisional settled, all in one commit.

A small lake, some tables alone, and what was read anew or retracted are made whole. Of a cluster whose history goes on
(`memory`) the new records are read, and what was still so before them; the closed intervals of earlier builds stay
where they are. Nothing is made of a cluster of which nothing is new. What is replaced is replaced by the same commit,
so a reader sees one build or the other. A job that dies leaves the last build in place.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from metadata_pipeline.canon.provisional import Standing, settle
from metadata_pipeline.lake.commits import CommitConflict, read_commits, require_files, write_commit
from metadata_pipeline.lake.entries import Commit, LakeFile, Rebuilt
from metadata_pipeline.lake.reading import rows_of_file
from metadata_pipeline.lake.rows import arrow_rows, write_rows
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.progress import tracked
from metadata_pipeline.tables.committed import BUILT, Cluster, clusters
from metadata_pipeline.tables.history_files import clusters_without_topic, merge, write_history
from metadata_pipeline.tables.memory import Scope, scope_of, to_remember
from metadata_pipeline.tables.queries import TABLES, name_topics, queries, remember_what_was_so
from metadata_pipeline.tables.views import FEW_ROWS, Views, is_small
from metadata_pipeline.together import together

PROVISIONAL: Final = (
    "cluster_id string, from_offset bigint, to_offset bigint, epoch int, nodes array<int>, "
    "status string, since bigint, until bigint"
)
STRETCHES: Final = (
    "cluster_id string, stretch int, from_offset bigint, to_offset bigint, "
    "base_snapshot string, proven_by string, open boolean"
)


@dataclass(frozen=True, slots=True)
class Built:
    """What a build made: rows of each table, and per cluster how far it is committed."""

    commit: int
    rows: Mapping[str, int]
    committed: Mapping[str, int]
    provisional: int
    retracted: int
    seconds: float


def build_tables(
    lake: str | os.PathLike[str],
    spark: Any,
    only: Sequence[str] | None = None,
    views: Views | None = None,
    *,
    anew: bool = False,
) -> Built:
    """Bring all tables of a lake up to date, or make those named. Raises PipelineError when nothing was ingested or
    another job commits meanwhile. `views`: those of the session, when other jobs use them too; `anew`: whole, as if
    there were none yet.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    number = state.version + 1
    chosen = _chosen(only)
    known = clusters(state)
    scope = _scope(state, known, anew=anew or only is not None)
    made, pending = _Made((), ()), frozenset[str]()
    if scope.since:
        with tracked(spark, "tables"):
            views = views or Views(spark, home)
            made = _make(spark, home, state, scope=scope, chosen=chosen, views=views)
            pending = views.registered.pending
    standings = {it.cluster: settle(remembered(state, it.cluster), it.canon, number) for it in known}
    run = uuid.uuid4().hex
    files = [*made.files, *write_rows(home, "provisional", run, _provisional(standings))]
    files += write_rows(home, "stretches", run, _stretches(known))
    everything = set(scope.whole) == {it.cluster for it in known}
    replaced = {"provisional", "stretches", *(chosen if everything else ())}
    gone = [live.file.path for live in state.files.values() if live.file.table in replaced]
    summary = {
        "proven": {it.cluster: {"end": it.canon.end, "epoch": it.canon.epoch} for it in known},
        "standings": {cluster: [asdict(it) for it in some] for cluster, some in standings.items()},
        BUILT: {} if only is not None else _to_remember(state, known, scope, number, pending | set(made.nameless)),
    }
    commit = Commit(
        number, "tables", round(time.time() * 1000), tuple(files), (*gone, *made.merged), summary=summary,
        rebuilt=Rebuilt(chosen, scope.whole, scope.further) if scope.since else None,
    )  # fmt: skip
    require_files(home, commit)
    try:
        write_commit(home, commit)
    except CommitConflict as conflict:
        raise PipelineError(f"another job committed to {home} meanwhile", "run the same command again") from conflict
    after = replay([commit], state)
    statuses = [it.status for some in standings.values() for it in some]
    return Built(
        number, {name: sum(rows_of_file(home, live) for live in after.of(name)) for name in (*chosen, *replaced)},
        {it.cluster: it.canon.end for it in known}, provisional=statuses.count("provisional"),
        retracted=statuses.count("retracted"), seconds=time.monotonic() - started,
    )  # fmt: skip


def is_little_work(state: LakeState) -> bool:
    """Whether the next build of all tables is a matter of planning."""
    return is_small(state) or _scope(state, clusters(state), anew=False).rows(state, "records") <= FEW_ROWS


@dataclass(frozen=True, slots=True)
class _Made:
    """Files of history tables; `merged` are those that they replace beside what `Rebuilt` says; `nameless` clusters
    have partitions of topics without a name.
    """

    files: tuple[LakeFile, ...]
    merged: tuple[str, ...]
    nameless: tuple[str, ...] = ()


def _scope(state: LakeState, known: Sequence[Cluster], *, anew: bool) -> Scope:
    if not state.of("records"):
        raise PipelineError("the lake holds nothing yet", "kraft-pipeline ingest PATH --output LAKE")
    if anew or is_small(state) or not state.of("partitions"):
        return Scope({it.cluster: 0 for it in known})
    return scope_of(state, known)


def _make(spark: Any, lake: Path, state: LakeState, scope: Scope, chosen: Sequence[str], views: Views) -> _Made:
    views.prepare(state, None if len(scope.whole) == len(state.clusters) else scope)
    name_topics(spark, lake, state, scope.further)
    rows = scope.rows(state, "records")
    if scope.further:
        rows += remember_what_was_so(spark, lake, state, scope.further, chosen)
    asked = queries(chosen, with_clears=views.registered.clears, further=bool(scope.further))
    run, small = uuid.uuid4().hex, rows <= FEW_ROWS

    def made(name: str) -> list[LakeFile]:
        return write_history(lake, name, run, spark.sql(asked[name]), small=small)

    files = [file for some in together([partial(made, name) for name in chosen]) for file in some]
    merging = [] if len(scope.whole) == len(state.clusters) else merge(lake, state, scope, chosen, run)
    nameless = [clusters_without_topic(lake, file) for file in files if file.table == "partitions"]
    return _Made(
        (*files, *(file for file, _ in merging)), tuple(path for _, paths in merging for path in paths),
        tuple(sorted({cluster for some in nameless for cluster in some})),
    )  # fmt: skip


def _to_remember(
    state: LakeState, known: Sequence[Cluster], scope: Scope, number: int, anew: AbstractSet[str]
) -> dict[str, Any]:
    before = state.summaries.get("tables", {}).get(BUILT, {})
    now: dict[str, Any] = {}
    for it in known:
        if (since := scope.since.get(it.cluster)) is None:
            now[it.cluster] = before[it.cluster]
        else:
            whole = before[it.cluster]["whole"] if since > 0 else number
            now[it.cluster] = to_remember(it, number, whole=whole, anew=it.cluster in anew)
    return now


def _chosen(only: Sequence[str] | None) -> tuple[str, ...]:
    unknown = sorted(set(only or ()) - set(TABLES))
    if unknown:
        raise PipelineError(f"there is no table {', '.join(unknown)}", f"choose among {', '.join(TABLES)}")
    return tuple(name for name in TABLES if only is None or name in only)


def remembered(state: LakeState, cluster: str) -> list[Standing]:
    stored = state.summaries.get("tables", {}).get("standings", {}).get(cluster, [])
    return [Standing(**{**it, "nodes": tuple(it["nodes"])}) for it in stored]


def _provisional(standings: Mapping[str, list[Standing]]) -> pa.Table:
    rows = [
        (cluster, it.start, it.end, it.epoch, list(it.nodes), it.status, it.since, it.until)
        for cluster, some in standings.items()
        for it in some
    ]
    return arrow_rows(rows, PROVISIONAL)


def _stretches(known: list[Cluster]) -> pa.Table:
    rows = []
    for it in known:
        for stretch in it.stretches:
            base = None if stretch.base is None else stretch.base.file
            why = it.canon.proofs[-1].why if it.canon.proofs else ""
            rows.append(
                (it.cluster, stretch.number, stretch.start, stretch.end, base, why, stretch is it.stretches[-1])
            )
    return arrow_rows(rows, STRETCHES)
