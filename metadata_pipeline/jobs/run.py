"""The job `run`: ingest, tables, audit and report in one session, which starts while the new bytes are decoded.

Each step is the job of its name and commits by itself: what fails leaves the steps before it done, and the same command
goes on from there. What is committed is found once for all of them (`tables.views`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metadata_pipeline.audit.job import Audited, audit
from metadata_pipeline.jobs.ingest import Ingested, ingest
from metadata_pipeline.report.job import Reported, report
from metadata_pipeline.tables.build import Built, build_tables
from metadata_pipeline.tables.views import Views

if TYPE_CHECKING:
    from metadata_pipeline.wire.fleet import Quorum


@dataclass(frozen=True, slots=True)
class Ran:
    """What each job did, and the seconds of each step; `session` is how long the others waited for Spark."""

    ingested: Ingested
    built: Built
    audited: Audited
    reported: Reported
    seconds: dict[str, float]


def run(
    paths: Sequence[str],
    lake: str | os.PathLike[str],
    opened: Callable[[], Any],
    page: str | os.PathLike[str] | None = None,
    title: str = "KRaft metadata report",
    *,
    quorums: Sequence[Quorum] = (),
    bytes_per_second: int | None = None,
) -> Ran:
    """All four jobs. `opened` gives the session: it is called at once, in another thread."""
    home, seconds = Path(lake).absolute(), dict[str, float]()
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(opened)
        with _timed("ingest", seconds):
            ingested = ingest(paths, home, session.result, quorums=quorums, bytes_per_second=bytes_per_second)
        with _timed("session", seconds):
            spark = session.result()
    views = Views(spark, home)
    with _timed("tables", seconds):
        built = build_tables(home, spark, views=views)
    with _timed("audit", seconds):
        audited = audit(home, spark, views)
    with _timed("report", seconds):
        reported = report(home, spark, page, title, views)
    return Ran(ingested, built, audited, reported, seconds)


@contextmanager
def _timed(step: str, seconds: dict[str, float]) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[step] = time.monotonic() - started
