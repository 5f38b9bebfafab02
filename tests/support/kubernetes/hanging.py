"""Processes of a pod that stand still: the kernel still accepts connections for them, so a probe of a port passes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def hanging(pod_uid: str) -> Iterator[None]:
    """Stopped from outside the pod, which needs the single-machine Kubernetes."""
    pids = processes_of(pod_uid)
    assert pids, f"no process of pod {pod_uid} was found on this machine"
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def processes_of(pod_uid: str) -> list[int]:
    """Of the node itself: whatever runs in the pod's control group and is no sandbox."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            mine = pod_uid in (folder / "cgroup").read_text()
            program = (folder / "comm").read_text().strip()
        except OSError:
            continue
        if mine and program not in ("pause", "tini"):
            found.append(int(folder.name))
    return found
