"""A single-machine Kubernetes of a test's own, beside the one that the whole run shares, and what a machine may keep of
it.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.devcluster import cgroups, cluster, namespaces
from deploy.devcluster.instance import Instance
from support.kubernetes.cluster import ROOT

# What a kubelet would change for the whole machine if it could.
KERNEL_SETTINGS = [Path("/proc/sys") / setting for setting in namespaces.KERNEL_SETTINGS]


@dataclass(frozen=True, slots=True)
class Devcluster:
    name: str

    @property
    def instance(self) -> Instance:
        return cluster.required(self.name)

    def run(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """`python deploy/devcluster --name … arguments`; its standard output."""
        command = [sys.executable, str(ROOT / "deploy" / "devcluster"), "--name", self.name, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"{' '.join(arguments)} -> {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.run("kubectl", *arguments, stdin=stdin)

    def eventually(self, what: str, done: Callable[[], bool], patience_seconds: float = 120) -> None:
        deadline = time.monotonic() + patience_seconds
        while not done():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{what}: not within {patience_seconds} s\n{self.run('logs', check=False)[-6000:]}"
                )
            time.sleep(0.5)


@contextmanager
def own_devcluster(nodes: int) -> Iterator[Devcluster]:
    own = Devcluster(f"t{secrets.token_hex(3)}")
    try:
        own.run("up", "--nodes", str(nodes))
        yield own
    finally:
        own.run("down")


def remains(instance: Instance) -> list[str]:
    """Every trace of an instance that ended: processes, mounts, cgroups, folders."""
    needle = str(instance.state).encode()
    found = [f"process {pid}" for pid, command in processes().items() if needle in command]
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(instance.state) in line]
    for root in cgroups.mounted().everywhere:
        found += map(str, root.glob(f"{instance.cgroup_prefix}*"))
    return found + ([str(instance.state)] if instance.state.exists() else [])


def processes() -> dict[int, bytes]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = (folder / "cmdline").read_bytes()
        except OSError:
            continue
    return found


def why_not_here() -> str:
    """Why a cluster of one's own cannot run on this machine; empty when it can."""
    if os.environ.get("QUORATE_E2E_CONTEXT"):
        return "QUORATE_E2E_CONTEXT names the Kubernetes to use"
    return why_no_kubernetes()


def why_no_kubernetes() -> str:
    """Why end-to-end tests cannot run at all; empty when they can."""
    if os.environ.get("QUORATE_E2E_CONTEXT") or os.geteuid() == 0:
        return ""
    return "a single-machine Kubernetes needs root, and no QUORATE_E2E_CONTEXT names another"
