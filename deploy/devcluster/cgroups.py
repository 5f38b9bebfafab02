"""A cgroup per node, under cgroup v1 (one hierarchy per controller) and v2 (one hierarchy).

Each kubelet takes its node's cgroup for its root, so that three kubelets on one machine do not kill each other's pods.
Version 1: the cgroup must exist under every hierarchy, and a new cpuset is empty and must be filled before use.
Version 2: the parent must hand its controllers down. Nothing is ever remounted.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NEEDED_V2 = ("cpu", "cpuset", "io", "memory", "pids")
MOST_OF_THE_PROCESSOR = {"cpu.shares": "262144", "cpu.weight": "10000"}
CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")


class CgroupError(Exception):
    """The machine's cgroups cannot carry a kubelet; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where cgroups are mounted: one root in version 2, a root per controller in version 1.

    `others` is the v2 root of a hybrid machine: it controls nothing, but runc leaves its mark there too.
    """

    version: int
    roots: tuple[Path, ...]
    others: tuple[Path, ...] = ()

    @property
    def everywhere(self) -> tuple[Path, ...]:
        return self.roots + self.others


def parse(mounts: str) -> Hierarchies:
    """From the text of /proc/self/mounts. A hybrid machine (v1 with an empty v2 beside it) counts as version 1."""
    entries = [(fields[1], fields[2]) for line in mounts.splitlines() if len(fields := line.split()) >= 3]
    v1 = tuple(dict.fromkeys(Path(where) for where, kind in entries if kind == "cgroup"))
    v2 = tuple(dict.fromkeys(Path(where) for where, kind in entries if kind == "cgroup2"))
    if v1:
        return Hierarchies(1, v1, v2)
    if v2:
        return Hierarchies(2, v2[:1])
    raise CgroupError("no cgroup file system is mounted; a kubelet cannot work here")


def mounted() -> Hierarchies:
    return parse(Path("/proc/self/mounts").read_text())


def create(hierarchies: Hierarchies, name: str) -> None:
    for root in hierarchies.roots:
        folder = root / name
        if hierarchies.version == 2:
            _hand_down(root)
        folder.mkdir(exist_ok=True)
        for file in CPUSET_FILES if hierarchies.version == 1 else ():
            if (root / file).exists():
                (folder / file).write_text((root / file).read_text())


def _hand_down(root: Path) -> None:
    enabled = (root / "cgroup.subtree_control").read_text().split()
    available = (root / "cgroup.controllers").read_text().split()
    if missing := [name for name in NEEDED_V2 if name not in available]:
        raise CgroupError(f"cgroup v2 at {root} lacks the controllers {', '.join(missing)}")
    if wanted := [name for name in NEEDED_V2 if name not in enabled]:
        try:
            (root / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in wanted))
        except OSError as error:
            raise CgroupError(
                f"cgroup v2 at {root} does not hand {', '.join(wanted)} down ({error.strerror}): inside a container, "
                "move its processes into a child cgroup first"
            ) from error


def members(hierarchies: Hierarchies, prefix: str) -> set[int]:
    """The processes in all cgroups whose name begins so."""
    pids: set[int] = set()
    for folder in _folders(hierarchies.everywhere, prefix):
        for parent, _, files in os.walk(folder):
            if "cgroup.procs" in files:
                with contextlib.suppress(OSError):
                    pids.update(int(line) for line in (Path(parent) / "cgroup.procs").read_text().split())
    return pids


def hurry(hierarchies: Hierarchies, prefix: str) -> None:
    """Gives the cgroups the largest share of the processor: a killed process needs some to end.

    A pod without requests has the smallest share there is; on a busy machine its end, for which everything waits that
    is ended with it, would take minutes.
    """
    for folder in _folders(hierarchies.everywhere, prefix):
        for parent, _, files in os.walk(folder):
            for name in files:
                if name in MOST_OF_THE_PROCESSOR:
                    with contextlib.suppress(OSError):
                        (Path(parent) / name).write_text(MOST_OF_THE_PROCESSOR[name])


def remove(hierarchies: Hierarchies, prefix: str, *, patience_seconds: float = 15) -> None:
    """Ends what still runs in the cgroups and removes them; a cgroup is busy for a moment after its last process."""
    deadline = time.monotonic() + patience_seconds
    while _folders(hierarchies.everywhere, prefix):
        for pid in members(hierarchies, prefix):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for folder in _folders(hierarchies.everywhere, prefix):
            for parent, _, _ in os.walk(folder, topdown=False):
                with contextlib.suppress(OSError):
                    Path(parent).rmdir()
        if time.monotonic() > deadline:
            left = ", ".join(str(folder) for folder in _folders(hierarchies.everywhere, prefix))
            raise CgroupError(f"these cgroups cannot be removed: {left}")
        time.sleep(0.05)


def _folders(roots: Iterable[Path], prefix: str) -> list[Path]:
    return [folder for root in roots for folder in root.glob(f"{prefix}*") if folder.is_dir()]
