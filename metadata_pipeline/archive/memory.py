"""`archive.json`: what an archive remembers beside its files, replaced whole after each sync.

Below `kept` every byte was synced, so what is missing or wrong there is damage, while what a crash left behind it may
be cut.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from controller_runtime.storage.filesystem import OsFileSystem
from controller_runtime.storage.small_files import write_atomically
from metadata_pipeline.archive.problems import ArchiveError, Standing
from metadata_pipeline.wire.leader import Mark

FILE: Final = "archive.json"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Verified:
    """All batches from `start` to `end` were read from the disk and found whole. `digest`: the first 16 hexadecimal
    digits of the SHA-256 of their bytes, as `storage-guard survey` makes it of a node's log. `at`: seconds since 1970.
    """

    start: int
    end: int
    epoch: int
    digest: str
    at: float


@dataclass(frozen=True, slots=True)
class Memory:
    cluster_id: str = ""
    begun: str = ""
    """Which beginning this is: another one sets the files aside."""
    kept: Mark = field(default_factory=Mark)
    leader_epoch: int = 0
    """The highest that a leader named."""
    verified: Verified | None = None


def is_unproven(verified: Verified | None, start: int, end: int) -> bool:
    """Whether there is a log, and nobody has read anything of it from the disk."""
    return start < end and (verified is None or verified.end <= start)


def load(home: Path) -> Memory | None:
    """None for a directory that is no archive yet. Raises ArchiveError."""
    path = home / FILE
    try:
        return decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(Standing.DAMAGED, f"{path} cannot be understood: {error!r}") from error


def save(home: Path, memory: Memory) -> None:
    """Return when it is durable. Raises OSError, StorageError."""
    write_atomically(OsFileSystem(), str(home / FILE), encode(memory))


def encode(memory: Memory) -> bytes:
    seen = memory.verified
    found: dict[str, Any] = {
        "version": VERSION,
        "clusterID": memory.cluster_id,
        "begun": memory.begun,
        "end": memory.kept.end,
        "epoch": memory.kept.epoch,
        "leaderEpoch": memory.leader_epoch,
    }
    if seen is not None:
        found["verified"] = [seen.start, seen.end, seen.epoch, seen.digest, seen.at]
    return json.dumps(found, indent=1).encode()


def decode(data: bytes) -> Memory:
    found = json.loads(data)
    if found["version"] != VERSION:
        raise ValueError(f"version {found['version']!r} is not known")
    verified = None
    if (seen := found.get("verified")) is not None:
        start, end, epoch, digest, at = seen
        verified = Verified(int(start), int(end), int(epoch), str(digest), float(at))
    return Memory(
        str(found["clusterID"]),
        str(found["begun"]),
        Mark(int(found["end"]), int(found["epoch"])),
        int(found["leaderEpoch"]),
        verified,
    )
