"""A guard reads a directory that a node is writing to: it sees a whole log end, and the node does not notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage_guard.formats import DiskVerdict
from support.kubernetes.guard_pod import CLUSTER_ID, GuardPod
from support.nodes.processes import Cluster, eventually, kraft

pytestmark = pytest.mark.integration


def test_inspect_of_a_live_directory_sees_a_growing_log_and_leaves_the_node_its_lock(tmp_path: Path) -> None:
    home = tmp_path / "node-1"
    with Cluster(tmp_path, extra={"log.dirs": str(home / "log"), "metadata.max.idle.interval.ms": "50"}) as cluster:
        cluster.start()
        node = cluster.nodes[1]
        node.wait_for_log("active controller")
        pod = GuardPod(tmp_path / "pod", home, cluster_id=CLUSTER_ID)
        before = {path.name for path in (home / "log").iterdir()}

        ends: list[int] = []

        def grown() -> bool:
            report = pod.run("inspect")
            assert (report.verdict, report.reason) == (DiskVerdict.FORMATTED, "NotInLedger")
            ends.append(report.log_end_offset or 0)
            return len(set(ends)) >= 3

        eventually("the log grows", grown)
        assert ends == sorted(ends)
        assert {path.name for path in (home / "log").iterdir()} == before
        second = kraft("server-start", str(node.properties_file))  # the lock is still held
        assert second.returncode != 0
        assert "lock" in second.stdout + second.stderr
        assert node.is_running
        assert node.stop() == 0
