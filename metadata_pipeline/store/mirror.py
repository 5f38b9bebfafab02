"""A lake in an object store and its copy here: what is new is brought here before a job, and back behind it.

The copy is a cache: what the store does not have counts for nothing, so a job whose commit was refused, or that died
before it, left nothing. Commits are asked for by number and not listed (a listing may be late). Files go up before the
commit that names them, and their sizes are asked for; the commit goes last, by a put that fails where there is one, and
is read back: a store may lose what it acknowledged.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from metadata_pipeline.lake.commits import COMMITS, commit_path, numbers
from metadata_pipeline.lake.entries import Commit, from_json
from metadata_pipeline.lake.state import replay
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.store.bucket import Bucket, Exists

KEY: Final = "_redaction_key"
PAGES: Final = ("report.html", "report.json")
CACHE: Final = "QUORATE_LAKE_CACHE"


@contextmanager
def mirrored(url: str) -> Iterator[Path]:
    """The lake's copy here, as the store has it; what the block commits is in the store when it ends without an error.
    Raises PipelineError, also when another writer committed meanwhile: then nothing of the block is in the store.
    """
    bucket = Bucket(url)
    home = _home(url)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (home / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = pull(bucket, home)
            yield home
            push(bucket, home, known)
    except OSError as error:
        raise PipelineError(
            f"{home}: {error.strerror or error}", f"free space or rights, or name another place with {CACHE}"
        ) from error


def _home(url: str) -> Path:
    root = os.environ.get(CACHE)
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quorate" / "lakes"
    return base / hashlib.sha256(url.encode()).hexdigest()[:20]


def pull(bucket: Bucket, home: Path) -> int:
    """Make the copy what the store has; the number of its commits."""
    commits = _agreed(bucket, home)
    while (text := bucket.get(_commit_name(len(commits)))) is not None:
        commits.append(_commit(bucket, text))
        _write(commit_path(home, len(commits) - 1), text)
    if commits and not (home / KEY).exists():
        key = bucket.get(KEY)
        if key is None:
            raise _lost(bucket, KEY, len(commits) - 1)
        _write(home / KEY, key)
    for path, live in replay(commits).files.items():
        if not _is_here(home / path, live.file.size):
            data = bucket.get(path)
            if data is None or len(data) != live.file.size:
                raise _lost(bucket, path, live.commit)
            _write(home / path, data)
    return len(commits)


def _agreed(bucket: Bucket, home: Path) -> list[Commit]:
    """The commits here that the store has too. What is here alone was never committed, and goes."""
    agreed: list[Commit] = []
    found = numbers(home)
    for number in found:
        path = commit_path(home, number)
        text = path.read_bytes()
        is_last = number == found[-1]
        if bucket.size(_commit_name(number)) != len(text) or (is_last and bucket.get(_commit_name(number)) != text):
            for other in found[number:]:
                commit_path(home, other).unlink()
            break
        agreed.append(_commit(bucket, text))
    return agreed


def push(bucket: Bucket, home: Path, known: int) -> None:
    """What was committed here behind the first `known` commits, in order."""
    new = numbers(home)[known:]
    if new and known == 0:
        _put_key(bucket, home)
    for number in new:
        text = commit_path(home, number).read_bytes()
        for file in _commit(bucket, text).add:
            bucket.put(file.path, home / file.path)
            if bucket.size(file.path) != file.size:
                raise _forgotten(bucket, file.path)
        _put_commit(bucket, number, text)
    for page in PAGES:
        if (home / page).exists():
            bucket.put(page, home / page)
            if bucket.size(page) != (home / page).stat().st_size:
                raise _forgotten(bucket, page)


def _put_commit(bucket: Bucket, number: int, text: bytes) -> None:
    """A store may lose what it acknowledged, and its answer may be lost: what is there counts."""
    name = _commit_name(number)
    with suppress(Exists):
        bucket.put_new(name, text)
    there = bucket.get(name)
    if there is None:
        raise _forgotten(bucket, name)
    if there != text:
        raise PipelineError(
            f"{bucket.url}: another writer made commit {number} meanwhile, nothing of this job is in it",
            "run the same command again",
        )


def _put_key(bucket: Bucket, home: Path) -> None:
    """Fingerprints are made with the key that was there first: whose files were made with another one starts anew."""
    key = (home / KEY).read_bytes()
    with suppress(Exists):
        bucket.put_new(KEY, key)
    there = bucket.get(KEY)
    if there is None:
        raise _forgotten(bucket, KEY)
    if there != key:
        for number in numbers(home):
            commit_path(home, number).unlink()
        (home / KEY).unlink()
        raise PipelineError(f"{bucket.url}: another writer began this lake meanwhile", "run the same command again")


def _commit_name(number: int) -> str:
    return f"{COMMITS}/{number:020d}.json"


def _commit(bucket: Bucket, text: bytes) -> Commit:
    try:
        return from_json(text.decode())
    except (ValueError, KeyError, TypeError) as error:
        raise PipelineError(f"{bucket.url}: a commit cannot be read ({error!r})", "restore it from a backup") from error


def _is_here(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size == size


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    beside.replace(path)


def _forgotten(bucket: Bucket, name: str) -> PipelineError:
    return PipelineError(
        f"{bucket.url} acknowledged {name} and does not have it whole",
        "run the same command again; if it stays so, use another store",
    )


def _lost(bucket: Bucket, name: str, number: int) -> PipelineError:
    return PipelineError(
        f"{bucket.url}: commit {number} names {name}, which the store does not have whole",
        "restore it from a backup, or make a new lake from the logs",
    )
