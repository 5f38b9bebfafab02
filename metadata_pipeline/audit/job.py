"""The job `audit`: everything that is wrong with a fleet's logs, as the table `findings`."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metadata_pipeline.audit import batches, copies, history, snapshots
from metadata_pipeline.audit.findings import FINDINGS_DDL, AuditFinding, merged, row_of
from metadata_pipeline.lake.commits import CommitConflict, write_commit
from metadata_pipeline.lake.entries import Commit
from metadata_pipeline.lake.rows import arrow_rows, write_rows
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.progress import tracked
from metadata_pipeline.tables.as_of import open_views
from metadata_pipeline.tables.committed import clusters
from metadata_pipeline.tables.views import Views
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


def audit(lake: str | os.PathLike[str], spark: Any, views: Views | None = None) -> Audited:
    """Look for everything in `findings.KINDS`. The tables must be of the last ingest. `views`: those of the session,
    when other jobs use them too.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    with tracked(spark, "audit"):
        state = open_views(spark, home, views)
        _require_tables(home, state)
        known = clusters(state)
        believed = [copy for it in known for copy in it.evidence.copies]
        unequal, broken, differing = together(
            (
                lambda: batches.compare(spark, spark.table("batches"), believed),
                lambda: history.check(spark),
                lambda: snapshots.compare(spark),
            )
        )
        own = _explained_by_nothing_else(differing, unequal)
        findings = merged([*copies.judge(state, known), *unequal, *broken, *own])
    files = write_rows(home, "findings", uuid.uuid4().hex, arrow_rows([row_of(it) for it in findings], FINDINGS_DDL))
    replaced = tuple(live.file.path for live in state.of("findings"))
    number = state.version + 1
    done = Audited(number, findings, time.monotonic() - started)
    commit = Commit(
        number, "audit", round(time.time() * 1000), tuple(files), replaced, summary={"counts": dict(done.counts)}
    )
    try:
        write_commit(home, commit)
    except CommitConflict as conflict:
        raise PipelineError(f"another job committed to {home} meanwhile", "run the same command again") from conflict
    return done


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
