"""A controller that is left alone is not ready and is never restarted for it: for ten minutes in `make soak`, and with
the periods cut to a sixtieth otherwise.

The probes are those of the operator's own manifest, asked as a kubelet asks them: so often, with this patience, and a
container is restarted after so many failures in a row. That such a kubelet does restart a process that hangs is the
second test.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from kraft_operator.actions import ApplyChild
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.operator_model.world import World

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

SOAK = bool(os.environ.get("QUORATE_SOAK"))
WINDOW_S = 600.0
FASTER = 1 if SOAK else 60
"""Periods and the window are divided by it; patience and thresholds are not."""


def probes_of_a_controller() -> dict[str, dict[str, Any]]:
    """Of the container that the operator's StatefulSet of a controller has."""
    world = World()
    for _ in range(3):
        for action in world.reconcile().actions:
            if isinstance(action, ApplyChild) and action.manifest["metadata"]["name"] == "c-controller-0":
                if action.manifest["kind"] == "StatefulSet":
                    found = action.manifest["spec"]["template"]["spec"]["containers"][0]
                    return {kind: found[kind] for kind in ("readinessProbe", "livenessProbe")}
    raise AssertionError("no StatefulSet of controller 0 was applied")


@dataclass(slots=True)
class Prober:
    """One probe of one container, as a kubelet keeps it."""

    node: NodeProcess
    probe: dict[str, Any]
    timeout: float
    asked: int = 0
    failures: int = 0
    in_a_row: int = 0
    reached_threshold: int = 0
    """How often it failed so many times in a row that a kubelet acts."""

    def ask(self) -> None:
        self.asked += 1
        if self._succeeds():
            self.in_a_row = 0
            return
        self.failures += 1
        self.in_a_row += 1
        if self.in_a_row == self.probe["failureThreshold"]:
            self.reached_threshold += 1
            self.in_a_row = 0

    def _succeeds(self) -> bool:
        path = self.probe["httpGet"]["path"]
        try:
            with urlopen(f"http://127.0.0.1:{self.node.http_port}{path}", timeout=self.timeout) as answer:
                return bool(200 <= answer.status < 400)
        except HTTPError as refused:
            refused.close()
            return False
        except (URLError, OSError, HTTPException):
            return False


def prober(node: NodeProcess, kind: str, timeout: float | None = None) -> Prober:
    probe = probes_of_a_controller()[kind]
    return Prober(node, probe, timeout or float(probe["timeoutSeconds"]))


def test_a_controller_without_a_majority_is_not_ready_and_never_restarted(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    survivor = random.Random(run_seed).choice(["the leader", "a follower"])
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        followers = [node for node in cluster.controller_nodes if node is not leader]
        left, lost = (leader, followers) if survivor == "the leader" else (followers[0], [leader, followers[1]])
        eventually("it is ready", lambda: left.http("/readyz")[0] == 200)
        pid = left.pid
        for node in lost:
            node.kill()
        eventually("it is not ready", lambda: left.http("/readyz")[0] == 503)
        alive, ready = prober(left, "livenessProbe"), prober(left, "readinessProbe")
        period = alive.probe["periodSeconds"] / FASTER
        for _ in range(int(WINDOW_S / FASTER / period)):
            time.sleep(period)
            alive.ask()
            ready.ask()
        assert alive.reached_threshold == 0
        assert (ready.failures, ready.asked) == (ready.asked, alive.asked)
        for node in lost:
            node.start()
        for node in cluster.nodes.values():
            eventually("it is ready again", lambda one=node: one.http("/readyz")[0] == 200)  # type: ignore[misc]
        assert (left.is_running, left.pid) == (True, pid)
        sampled(
            f"{survivor} alone for {WINDOW_S / FASTER:g} s: {alive.asked} times alive "
            f"but for {alive.failures}, never ready"
        )


def test_a_controller_that_hangs_is_restarted(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        (node,) = cluster.controller_nodes
        alive = prober(node, "livenessProbe", timeout=0.2)
        os.kill(node.pid, signal.SIGSTOP)
        try:
            for _ in range(alive.probe["failureThreshold"]):
                alive.ask()
        finally:
            os.kill(node.pid, signal.SIGCONT)
        assert alive.reached_threshold == 1
