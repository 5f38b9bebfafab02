"""A network beside the single-machine Kubernetes: a namespace of its own with one link into the cluster's, and a route
to its nodes and to nothing else.

What runs in it is a client outside: it knows no name of the cluster's DNS and reaches no pod, only the nodes'
addresses.
"""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.devcluster import cluster, namespaces
from support.kubernetes.operator_process import DEVCLUSTER

LINK = "192.168.214"


@dataclass(frozen=True, slots=True)
class Outside:
    pid: int

    def run(self, *command: str) -> str:
        """A command of this machine in that network; its standard output."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.pid), "-n", *command], capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    def reaches(self, address: str, port: int) -> bool:
        code = f"import socket; socket.create_connection(({address!r}, {port}), 3)"
        command = ["nsenter", "-t", str(self.pid), "-n", "python3", "-c", code]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def outside(nodes: Sequence[str]) -> Iterator[Outside]:
    sleeper = subprocess.Popen([*DEVCLUSTER, "in", "unshare", "-n", "sleep", "900"])
    ours, theirs = f"q{secrets.token_hex(3)}", f"p{secrets.token_hex(3)}"
    try:
        found = Outside(_sleeping(sleeper.pid))
        # Inside, process ids are others: the link is made from here, and its end given to who keeps the cluster's
        # network.
        found.run("ip", "link", "add", theirs, "type", "veth", "peer", "name", ours, "netns", str(_keeper()))
        _in("ip", "address", "add", f"{LINK}.1/24", "dev", ours)
        _in("ip", "link", "set", ours, "up")
        found.run("ip", "link", "set", "lo", "up")
        found.run("ip", "address", "add", f"{LINK}.2/24", "dev", theirs)
        found.run("ip", "link", "set", theirs, "up")
        for node in nodes:
            found.run("ip", "route", "add", f"{node}/32", "via", f"{LINK}.1")
        yield found
    finally:
        subprocess.run([*DEVCLUSTER, "in", "ip", "link", "delete", ours], check=False, capture_output=True)
        for pid in (last_child(sleeper.pid), sleeper.pid):
            subprocess.run(["kill", str(pid)], check=False, capture_output=True)
        sleeper.wait(10)


def _keeper() -> int:
    pid = namespaces.keeper_is_alive(cluster.required(os.environ.get("QUORATE_DEVCLUSTER_NAME", "main")))
    assert pid is not None, "the single-machine Kubernetes does not run"
    return pid


def _in(*command: str) -> None:
    done = subprocess.run([*DEVCLUSTER, "in", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


def _sleeping(pid: int) -> int:
    """Of the process that sleeps at the end of the chain of wrappers, once it is there."""
    for _ in range(100):
        last = last_child(pid)
        if Path(f"/proc/{last}/comm").read_text().strip() == "sleep":
            return last
        subprocess.run(["sleep", "0.1"], check=True)
    raise AssertionError("the network outside did not come up")


def last_child(pid: int) -> int:
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid
