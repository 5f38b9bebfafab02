"""Making an archive's directory fit to be written: whose it is, what a crash left is cut, what is damaged is refused.

Nothing that was synced is ever cut, overwritten or removed here. Another beginning sets the files aside, whole, under
`aside-N/`, where everything that reads a log directory can read them.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from controller_runtime.identifiers import METADATA_TOPIC_NAME
from controller_runtime.storage.errors import DirectoryLocked
from controller_runtime.storage.file_names import LOG
from controller_runtime.storage.filesystem import Lock, OsFileSystem
from controller_runtime.storage.meta_properties import META_PROPERTIES
from metadata_pipeline.archive.examining import Examined, examine, listed
from metadata_pipeline.archive.memory import Memory, Verified, load, save
from metadata_pipeline.archive.problems import ArchiveError, Standing
from metadata_pipeline.wire.files import log_name
from metadata_pipeline.wire.leader import Mark

DIRECTORY: Final = f"{METADATA_TOPIC_NAME}-0"
LOCK: Final = ".lock"
ASIDE: Final = "aside-"


@dataclass(frozen=True, slots=True)
class Opened:
    """An archive that may be written: nobody else has its lock."""

    home: Path
    lock: Lock
    memory: Memory
    examined: Examined

    @property
    def directory(self) -> Path:
        return self.home / DIRECTORY


def open_archive(home: Path, cluster_id: str | None, begin: str, now: float) -> Opened:
    """`begin`: which beginning is asked for; `now`: seconds since 1970. Raises ArchiveError, OSError, StorageError."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        lock = OsFileSystem().lock(str(home / LOCK))
    except DirectoryLocked as error:
        raise ArchiveError(Standing.IN_USE, f"another process writes {home}") from error
    try:
        memory = _beginning(home, cluster_id, begin)
        examined = _mended(home, memory)
        verified = Verified(examined.start, examined.mark.end, examined.mark.epoch, examined.digest, at=now)
        memory = replace(memory, kept=examined.mark, verified=verified)
        save(home, memory)
    except BaseException:
        lock.release()
        raise
    return Opened(home, lock, memory, examined)


def _beginning(home: Path, cluster_id: str | None, begin: str) -> Memory:
    memory = load(home)
    if memory is None:
        if (home / DIRECTORY).exists():
            raise ArchiveError(Standing.DAMAGED, f"{home} has a log, and nothing says whose archive it is")
        memory = Memory(cluster_id or "", begin)
        save(home, memory)
    if memory.begun != begin:
        set_aside(home)
        memory = Memory(cluster_id or "", begin)
        save(home, memory)
    if cluster_id is not None and memory.cluster_id not in ("", cluster_id):
        raise ArchiveError(
            Standing.ANOTHER_CLUSTER, f"{home} is the archive of cluster {memory.cluster_id}, not of {cluster_id}"
        )
    (home / DIRECTORY).mkdir(exist_ok=True, mode=0o700)
    return memory


def set_aside(home: Path) -> Path | None:
    """The log as it is goes under `aside-N/`, with a copy of what says whose it is. Interrupted, it is done again."""
    if not (home / DIRECTORY).exists():
        return None
    numbers = [int(each.name.removeprefix(ASIDE)) for each in asides(home)]
    target = home / f"{ASIDE}{max(numbers, default=0) + 1}"
    target.mkdir(mode=0o700)
    if (home / META_PROPERTIES).exists():
        shutil.copyfile(home / META_PROPERTIES, target / META_PROPERTIES)
    OsFileSystem().sync_directory(str(target))
    (home / DIRECTORY).rename(target / DIRECTORY)
    for each in (target, home):
        OsFileSystem().sync_directory(str(each))
    return target


def asides(home: Path) -> list[Path]:
    found = home.glob(f"{ASIDE}*")
    return [each for each in found if each.name.removeprefix(ASIDE).isdecimal()]


def _mended(home: Path, memory: Memory) -> Examined:
    """As it is once a torn tail was cut. Raises ArchiveError for what no crash explains."""
    directory = home / DIRECTORY
    examined = examine(directory, memory.verified)
    flaw = examined.flaw
    if flaw is not None and flaw.file.endswith(LOG) and examined.mark.end >= memory.kept.end:
        _cut(directory, flaw.file, flaw.position)
        examined = examine(directory, memory.verified)
        flaw = examined.flaw
    if flaw is not None:
        standing = Standing.TRUNCATED if flaw.missing else Standing.DAMAGED
        raise ArchiveError(standing, f"{flaw}; {_kept(memory.kept)}")
    if examined.mark.end < memory.kept.end:
        why = f"{directory} ends at offset {examined.mark.end}; {_kept(memory.kept)}"
        raise ArchiveError(Standing.TRUNCATED, why)
    return examined


def _kept(kept: Mark) -> str:
    return f"up to offset {kept.end} of epoch {kept.epoch} it was whole"


def _cut(directory: Path, file: str, position: int) -> None:
    """What lies behind was never promised: a crash came first."""
    bases = listed(directory).segments
    for base in (each for each in bases if log_name(each) > file):
        (directory / log_name(base)).unlink()
    with (directory / file).open("r+b") as opened:
        opened.truncate(position)
        opened.flush()
        os.fsync(opened.fileno())
    if position == 0:
        (directory / file).unlink()
    OsFileSystem().sync_directory(str(directory))
