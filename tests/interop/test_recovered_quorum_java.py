"""A quorum made of one copy of a log that ours wrote is led by Apache Kafka, and by ours: every acknowledged change is
there.

Three controllers are killed under load; two of their disks are read and judged as the operator does it, which proves
that nothing is missing; the seed becomes the only voter under a new directory id.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from controller_runtime.storage.filesystem import OsFileSystem
from kraft_operator.operations.verdict import CopyRole, Judged, LogCopy, common_start, compared_at, judge
from storage_guard.copies import CopyReport
from storage_guard.recover import Order, recover
from storage_guard.survey import survey
from support.apache_kafka.java_kafka import JavaNode
from support.clients.config_load import ConfigLoad, read_back
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

NEW = "Kn1Zq8WyQ3SoV0m2b3c4dA"


def copy_of(found: CopyReport, digests: dict[int, str]) -> LogCopy:
    assert found.node_id is not None
    return LogCopy(
        found.node_id, CopyRole.VOTER, found.cluster_id, found.directory_id, found.end, found.last_epoch, found.start,
        found.known, found.promised, found.voters, digests,
    )  # fmt: skip


def judged(disks: dict[int, Path]) -> LogCopy:
    """The seed, as the operator finds it from two readings of every disk."""
    files = OsFileSystem()
    first = {node: survey(files, str(disk)) for node, disk in disks.items()}
    plain = [copy_of(found, {}) for found in first.values()]
    start, points = common_start(plain), compared_at(plain)
    both = [copy_of(first[node], dict(survey(files, str(disk), start, points).digests)) for node, disk in disks.items()]
    verdict = judge(both)
    assert verdict.judged is Judged.PROVEN_COMPLETE, verdict
    assert verdict.seed is not None
    return verdict.seed


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["java", "ours"])
def test_the_seed_of_a_lost_quorum_is_led_with_everything_that_was_acknowledged(tmp_path: Path, kind: str) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        with ConfigLoad(cluster.bootstrap_controllers) as load:
            load.wait_for(100)
            for node in cluster.nodes.values():
                node.kill()
        disks = {node: Path(cluster.nodes[node].properties["log.dirs"]) for node in (2, 3)}
        seed = judged(disks)
        node = cluster.nodes[seed.node_id]
        order = Order(
            seed.cluster_id, seed.node_id, 1, NEW, "nonce-1", seed.promised + 5, seed.end, seed.last_epoch,
            "CONTROLLER", "127.0.0.1", node.port,
        )  # fmt: skip
        data = str(disks[seed.node_id])
        recover(OsFileSystem(), data, data, order, "pod", int(time.time() * 1000), "Sun Nov 22 00:00:00 UTC 2026")
        if kind == "ours":
            node.start()
            told(node, load, order)
            return
        node.write_properties()
        java = JavaNode(node.properties_file, tmp_path / "java.log")
        try:
            java.wait_for_log("Kafka Server started", 180)
            told(node, load, order)
        finally:
            java.stop()


def told(node: NodeProcess, load: ConfigLoad, order: Order) -> None:
    eventually("every acknowledged change is told", lambda: load.names <= read_back(str(node.endpoint), 5.0), 60)
    alone = Cluster(node.directory / "none", controllers=0)
    alone.nodes = {node.node_id: node}
    found = alone.quorum()
    assert found.leader_epoch > order.epoch
    assert [(int(each.replica_id), str(each.directory_id)) for each in found.voters] == [(order.node_id, NEW)]
    with ConfigLoad(str(node.endpoint), first=100_000) as more:
        more.wait_for(5)
