"""The log of commits: `_commits/<20 digits>.json`, each created exclusively, so two writers can never both be commit N.

A commit is written beside, flushed, then linked to its name (a link fails when the name exists), so a name is there
with its whole content or not at all, whatever kills the writer. Who loses the race gets `CommitConflict` and must look
at the new state before trying again. The lake lies on a file system that driver and workers share (a disk, a network
volume).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metadata_pipeline.lake.entries import Commit, from_json, to_json
from metadata_pipeline.problems import PipelineError

COMMITS: Final = "_commits"
_NAME: Final = re.compile(r"(\d{20})\.json")


class CommitConflict(Exception):
    """Another writer made this commit first."""


def commit_path(lake: Path, number: int) -> Path:
    return lake / COMMITS / f"{number:020d}.json"


def is_lake(lake: Path) -> bool:
    return (lake / COMMITS).is_dir()


def numbers(lake: Path) -> list[int]:
    """The commits there are, in order. A hole means that somebody deleted one: refused, since what it removed would
    count again.
    """
    found = sorted(int(match[1]) for entry in _entries(lake) if (match := _NAME.fullmatch(entry)))
    if found != list(range(len(found))):
        missing = next(n for n, seen in enumerate([*found, -1]) if n != seen)
        raise PipelineError(
            f"{lake}: commit {missing} is missing",
            "restore _commits/ from a backup; the lake cannot be read without it",
        )
    return found


def _entries(lake: Path) -> list[str]:
    try:
        return os.listdir(lake / COMMITS)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise PipelineError(
            f"{lake} cannot be a lake: {error.strerror}", "name a directory that can be read, with --output"
        ) from error


def read_commits(lake: Path) -> Iterator[Commit]:
    for number in numbers(lake):
        path = commit_path(lake, number)
        try:
            yield from_json(path.read_text())
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise PipelineError(f"{path} is not a commit ({error!r})", "restore it from a backup") from error


def write_commit(lake: Path, commit: Commit) -> None:
    """Make it commit `commit.number`, durably, or raise CommitConflict. Nothing else than the final name is
    ever read.
    """
    directory = lake / COMMITS
    directory.mkdir(parents=True, exist_ok=True)
    beside = directory / f".{commit.number:020d}.{uuid.uuid4().hex}.tmp"
    try:
        with beside.open("x") as file:
            file.write(to_json(commit))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(beside, commit_path(lake, commit.number))
        except FileExistsError as taken:
            raise CommitConflict(f"commit {commit.number} of {lake} exists") from taken
        sync_directory(directory)
    except OSError as error:
        raise PipelineError(
            f"cannot commit to {lake}: {error.strerror}", "free space or rights, then run the same command again"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def require_files(lake: Path, commit: Commit) -> None:
    """What a job is about to commit must still be there: a `vacuum` whose clock jumped ahead, or that was told to take
    files of any age, takes what no commit names yet.
    """
    for file in commit.add:
        if not (lake / file.path).is_file():
            raise PipelineError(
                f"{file.path} is gone from {lake} before it was committed: another process removed it",
                "run the same command again, and no vacuum beside it; check the clocks of all machines of the lake",
            )


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
