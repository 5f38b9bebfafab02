"""Classes of Spark's JVMs, ready to map (Java's AppCDS): a JVM that has them starts in a third of the time.

The first run on a machine records: a JVM of each kind leaves an archive when it ends. It is named by all that Java
compares before it maps one, its own build and every jar's place, size and time, so what has changed makes another.
Nothing depends on an archive: a JVM without one reads the jars.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

QUICK: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
"""For a JVM that lives for a minute: it gains nothing from the second compiler. An archive is of one collector."""
KEPT: Final = 6
"""So many archives, of 200 MB each, are left on a machine: those that were used last."""


class SparkClasses:
    """The archive of one kind of process: used when it is there, else recorded by the process that is started with
    `options`. Raises OSError where no cache can be kept.
    """

    def __init__(self, kind: str, java_home: Path) -> None:
        folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quorate" / "spark-classes"
        folder.mkdir(parents=True, exist_ok=True)
        self.archive: Final = folder / f"{kind}-{_fingerprint(java_home)}.jsa"
        self.recorded: Final = self.archive.with_suffix(f".{os.getpid()}")
        self.is_recording: Final = not self.archive.exists()
        if self.is_recording and not os.access(folder, os.W_OK):
            raise PermissionError(f"{folder} cannot be written")
        if not self.is_recording:
            with suppress(OSError):  # somebody else's
                self.archive.touch()

    @property
    def options(self) -> str:
        """Java's, with no word about classes that cannot be mapped."""
        use = f"ArchiveClassesAtExit={self.recorded}" if self.is_recording else f"SharedArchiveFile={self.archive}"
        return f"-XX:{use} -Xlog:disable {QUICK}"

    @property
    def of_others(self) -> str:
        """Java's options for processes that may use the archive and leave none."""
        return QUICK if self.is_recording else self.options

    def keep(self) -> None:
        """Call it when the process has ended: what it has recorded, if it has, is for those that come."""
        keep(self.recorded, self.archive)


def keep(recorded: Path, archive: Path) -> None:
    """What a process that has ended recorded becomes the archive; the oldest ones go."""
    with suppress(OSError):
        if recorded.exists():
            recorded.replace(archive)
        oldest_last = sorted(archive.parent.glob("*.jsa"), key=lambda one: one.stat().st_mtime, reverse=True)
        for old in oldest_last[KEPT:]:
            old.unlink(missing_ok=True)


def _fingerprint(java_home: Path) -> str:
    told = hashlib.sha256(QUICK.encode())
    told.update(_version(java_home))
    jars = Path(str(find_spec("pyspark").origin)).resolve().parent / "jars"  # type: ignore[union-attr]
    for jar in sorted(jars.iterdir()):
        found = jar.stat()
        told.update(f"{jar} {found.st_size} {found.st_mtime_ns}\n".encode())
    return told.hexdigest()[:16]


def _version(java_home: Path) -> bytes:
    return subprocess.run([java_home / "bin" / "java", "-version"], capture_output=True, check=False).stderr
