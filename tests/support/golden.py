"""Where the golden data of Apache Kafka 4.3.1 lies (its README says how it was made), and copies to play with."""

from __future__ import annotations

import gzip
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any, Final

GOLDEN: Final = Path(__file__).parent.parent / "golden" / "kafka-4.3.1"

METADATA_LOGS: Final = sorted(path.parent for path in GOLDEN.glob("**/__cluster_metadata-0/*.log"))
"""Every metadata log directory that Java left behind."""


def json_lines(name: str) -> list[dict[str, Any]]:
    """The rows of a `.jsonl.gz` file below the golden directory."""
    with gzip.open(GOLDEN / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def copy_of(directory: Path, target: Path) -> str:
    """A writable copy of a golden directory, as a path for `FileSystem`."""
    shutil.copytree(directory, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return str(target)


def broker_data(broker: int, target: Path) -> Path:
    """The unpacked log directories of a golden broker."""
    with tarfile.open(GOLDEN / "cluster" / f"broker-{broker}" / "data.tar.gz") as archive:
        archive.extractall(target, filter="data")
    return target / f"broker-{broker}"
