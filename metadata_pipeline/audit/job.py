"""The job `audit`: everything that is wrong with a fleet's logs, as the table `findings`."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metadata_pipeline.audit import batches, copies, history, snapshots
from metadata_pipeline.audit.findings import FINDINGS_DDL, AuditFinding, merged, row_of
from metadata_pipeline.audit.looking import LOOKED, Look, look_of, to_keep, whole_look
from metadata_pipeline.lake.commits import CommitConflict, read_commits, require_files, write_commit
from metadata_pipeline.lake.entries import Commit
from metadata_pipeline.lake.rows import arrow_rows, write_rows
from metadata_pipeline.lake.state import LakeState, replay
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.progress import tracked
from metadata_pipeline.tables.committed import Cluster, clusters
from metadata_pipeline.tables.memory import remembered
from metadata_pipeline.tables.views import FEW_ROWS, Views, is_small
from metadata_pipeline.together import together


@dataclass(frozen=True, slots=True)
class Audited:
    commit: int
    findings: tuple[AuditFinding, ...]
    seconds: float

    @property
    def errors(self) -> int:
        return sum(it.severity == "error" for it in self.findings)

    @property
    def counts(self) -> Mapping[str, int]:
        kinds = [it.kind for it in self.findings]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def audit(lake: str | os.PathLike[str], spark: Any, views: Views | None = None, *, anew: bool = False) -> Audited:
    """Look for everything in `findings.KINDS`. The tables must be of the last ingest. `views`: those of the session,
    when other jobs use them too; `anew`: at everything, as if there had been no audit.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    state = replay(read_commits(home))
    _require_tables(home, state)
    known = clusters(state)
    look = whole_look(known) if anew or is_small(state) else look_of(state, known)
    views = views or Views(spark, home)
    with tracked(spark, "audit"):
        found = _found(spark, state, known, look, views)
        if doubtful := {it.cluster for it in found} & set(look.scope.further):
            again = _found(spark, state, known, look.whole(doubtful), views)
            found = [*(it for it in found if it.cluster not in doubtful), *again]
    found = [*dict.fromkeys((*found, *look.kept))]
    findings = merged([*copies.judge(state, known), *found])
    files = write_rows(home, "findings", uuid.uuid4().hex, arrow_rows([row_of(it) for it in findings], FINDINGS_DDL))
    replaced = tuple(live.file.path for live in state.of("findings"))
    number = state.version + 1
    done = Audited(number, findings, time.monotonic() - started)
    summary = {"counts": dict(done.counts), LOOKED: to_keep(number, known, remembered(state), found)}
    commit = Commit(number, "audit", round(time.time() * 1000), tuple(files), replaced, summary=summary)
    require_files(home, commit)
    try:
        write_commit(home, commit)
    except CommitConflict as conflict:
        raise PipelineError(f"another job committed to {home} meanwhile", "run the same command again") from conflict
    return done


def is_little_work(state: LakeState) -> bool:
    """Whether the next audit is a matter of planning, if it finds nothing new."""
    return is_small(state) or look_of(state, clusters(state)).scope.rows(state, "records") <= FEW_ROWS


def _found(spark: Any, state: LakeState, known: Sequence[Cluster], look: Look, views: Views) -> list[AuditFinding]:
    """What is wrong with the data in scope."""
    if not look.scope.since:
        return []
    everything = set(look.scope.whole) == {it.cluster for it in known}
    scope = None if everything else look.scope
    views.prepare(state, scope)
    views.batches(state, scope)
    views.tables(state, None if everything else look)
    believed = [copy for it in known if it.cluster in look.scope.since for copy in it.evidence.copies]
    unequal, broken, differing = together(
        (
            lambda: batches.compare(spark, spark.table("batches"), believed),
            lambda: history.check(spark, doubts=bool(look.scope.further)),
            lambda: snapshots.compare(spark),
        )
    )
    return [*unequal, *broken, *_explained_by_nothing_else(differing, unequal)]


def _explained_by_nothing_else(of_snapshots: list[AuditFinding], unequal: list[AuditFinding]) -> Iterator[AuditFinding]:
    """Behind a place where disks hold different bytes under one offset and epoch, the history is that of one of them:
    it accuses no snapshot.
    """
    first: dict[str, int] = {}
    for each in unequal:
        if each.kind == "divergence" and each.offset is not None:
            first[each.cluster] = min(each.offset, first.get(each.cluster, each.offset))
    for each in of_snapshots:
        if each.cluster not in first or each.offset is None or each.offset <= first[each.cluster]:
            yield each


def _require_tables(lake: Path, state: LakeState) -> None:
    if not state.of("partitions"):
        raise PipelineError(f"{lake} has no tables yet", f"kraft-pipeline tables --output {lake}")
