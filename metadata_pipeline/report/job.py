"""The job `report`: the page and its numbers as two files, each there whole or not at all."""

from __future__ import annotations

import json
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.progress import tracked
from metadata_pipeline.report.data import collect
from metadata_pipeline.report.page import render
from metadata_pipeline.tables.as_of import open_views
from metadata_pipeline.tables.views import FEW_ROWS, KEPT_ROWS, Views, rows_of


@dataclass(frozen=True, slots=True)
class Reported:
    page: Path
    numbers: Path
    clusters: int
    findings: int
    seconds: float


def report(
    lake: str | os.PathLike[str],
    spark: Any,
    page: str | os.PathLike[str] | None = None,
    title: str = "KRaft metadata report",
    views: Views | None = None,
) -> Reported:
    """Write `page` (LAKE/report.html when not given) and the same numbers beside it as .json. `views`: those of the
    session, when other jobs use them too.
    """
    started = time.monotonic()
    home = Path(lake).absolute()
    path = home / "report.html" if page is None else Path(page)
    with tracked(spark, "report"):
        # alone it asks for few columns of all records, three times: less than to hold them with all columns
        state = open_views(spark, home, views or Views(spark, home, keeps=FEW_ROWS))
        if not state.of("partitions"):
            raise PipelineError(f"{home} has no tables yet", f"kraft-pipeline tables --output {home}")
        made_ms = round(time.time() * 1000)
        data = collect(spark, audited=bool(state.of("findings")), now_ms=made_ms)
    numbers = path.with_suffix(".json")
    write_whole(numbers, json.dumps(data, indent=1, sort_keys=True))
    write_whole(path, render(data, title, made_ms))
    return Reported(path, numbers, len(data["clusters"]), data["findings_in_all"], time.monotonic() - started)


def is_little_work(state: LakeState) -> bool:
    """Whether a report costs more to plan than to compute: it has a few queries of few columns."""
    return rows_of(state) <= KEPT_ROWS


def write_whole(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as error:
        raise PipelineError(
            f"cannot write {path}: {error.strerror}", "give another place with --output or --page"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
