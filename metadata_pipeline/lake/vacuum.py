"""Removing what no commit names: temporaries and files of jobs that died before they committed, and files that a later
commit replaced.

Only files older than `older_than_s` go, because a job that runs now writes before it commits. Replaced files are kept
as long, for readers that hold an older state. Commits are never removed. Age is what a clock says: where it jumped
ahead, files of a job that runs now are taken for old ones, and that job refuses to commit what is gone.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from metadata_pipeline.lake.commits import COMMITS, read_commits
from metadata_pipeline.lake.files import DATA
from metadata_pipeline.lake.state import replay

DEFAULT_AGE_S: Final = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Vacuumed:
    removed: tuple[str, ...]
    size: int
    kept_young: int


def vacuum(
    lake: Path, older_than_s: float = DEFAULT_AGE_S, *, dry_run: bool = False, now: float | None = None
) -> Vacuumed:
    """Remove old orphans. `now` is the clock's time when not given."""
    now = time.time() if now is None else now
    candidates = list(_candidates(lake))
    live = set(replay(read_commits(lake)).files)  # read last: what was committed meanwhile counts
    removed, size, young = [], 0, 0
    for path in candidates:
        name = str(path.relative_to(lake))
        if name in live:
            continue
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        if now - facts.st_mtime < older_than_s:
            young += 1
            continue
        if not dry_run:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        removed.append(name)
        size += facts.st_size
    return Vacuumed(tuple(sorted(removed)), size, young)


def _candidates(lake: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(lake / DATA):
        yield from (Path(directory) / name for name in names if name.endswith((".parquet", ".tmp")))
    commits = lake / COMMITS
    if commits.is_dir():
        yield from (path for path in commits.iterdir() if path.name.endswith(".tmp"))
