"""The amnesia schedule (KAFKA-14077): an entry is committed on the leader and x; y is paused; x loses its disk; the
leader dies; y wakes up.

If x is formatted again under its old directory id, x and y are a majority that has forgotten the entry, and elect a
leader without it: what was acknowledged is lost. With the guard in front of x's disk nobody formats it, y alone is no
majority, and the entry is there when its leader returns. Both halves run the same schedule with real nodes, so the
second is known to be worth something: switched off, the data is gone.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import ConfigChange, ConfigResource
from controller_runtime.identifiers import NodeId
from storage_guard.formats import DiskVerdict, Identity
from support.kubernetes.guard_pod import GuardPod
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration

OF_ALL_BROKERS = ConfigResource(4, "")
KEY, VALUE = "message.max.bytes", "1234567"


def volume(node: NodeProcess) -> Path:
    return node.directory / "volume"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, controllers=3) as found:
        for node in found.nodes.values():
            node.properties["log.dirs"] = str(volume(node) / "log")
        found.start()
        yield found


def acknowledged(nodes: list[NodeProcess]) -> None:
    """A change of the metadata that these nodes committed."""

    async def ask() -> dict[ConfigResource, ApiError | None]:
        async with AdminClient(bootstrap_controllers=[node.endpoint for node in nodes], timeout_seconds=10) as admin:
            return dict(await admin.incremental_alter_configs({OF_ALL_BROKERS: [ConfigChange(KEY, VALUE)]}))

    assert asyncio.run(ask()) == {OF_ALL_BROKERS: None}


def remembered(*nodes: NodeProcess) -> bool:
    async def ask() -> bool:
        async with AdminClient(bootstrap_controllers=[node.endpoint for node in nodes], timeout_seconds=5) as admin:
            found = (await admin.describe_configs([OF_ALL_BROKERS]))[OF_ALL_BROKERS]
        assert not isinstance(found, ApiError), found
        return any((each.name, each.value) == (KEY, VALUE) for each in found)

    return asyncio.run(ask())


def entry_on_two_of_three(cluster: Cluster) -> tuple[NodeProcess, NodeProcess, NodeProcess]:
    """The schedule up to its turn: the entry is on the leader and x, then x and its disk are gone, then the leader. y
    never saw it.
    """
    leader = cluster.wait_for_leader()
    x, y = (node for node in cluster.controller_nodes if node is not leader)
    eventually("x and y have caught up", lambda: len(set(cluster.log_end_offsets().values())) == 1)
    os.kill(y.pid, signal.SIGSTOP)
    node_id = NodeId(leader.node_id)
    end = cluster.log_end_offsets()[node_id]
    eventually("what y had asked for is answered", lambda: cluster.log_end_offsets()[node_id] > end + 1)
    acknowledged([leader, x])
    assert remembered(leader)
    x.kill()
    shutil.rmtree(volume(x) / "log")
    leader.kill()
    os.kill(y.pid, signal.SIGCONT)
    return leader, x, y


def format_as_before(cluster: Cluster, node: NodeProcess, directories: dict[int, str]) -> None:
    """What must never happen: the same directory id on an empty disk."""
    voters = ",".join(
        f"{each.node_id}@127.0.0.1:{each.port}:{directories[each.node_id]}" for each in cluster.controller_nodes
    )
    node.format("--initial-controllers", voters)


def test_without_the_guard_the_schedule_loses_what_was_acknowledged(cluster: Cluster) -> None:
    directories = directory_ids(cluster)
    leader, x, y = entry_on_two_of_three(cluster)
    format_as_before(cluster, x, directories)
    x.start()
    elected = cluster.wait_for_leader(other_than=leader.node_id)
    assert elected in (x, y)
    leader.start()
    leader.wait_for_log("Kafka Server started")
    eventually("the old leader follows", lambda: len(set(cluster.log_end_offsets().values())) == 1)
    assert not remembered(*cluster.controller_nodes)


def test_with_the_guard_nobody_formats_the_disk_and_nothing_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    directories = directory_ids(cluster)
    leader, x, y = entry_on_two_of_three(cluster)
    pod = GuardPod(tmp_path / "pod", volume(x), x.node_id, CLUSTER_ID)
    pod.write_ledger(Identity(CLUSTER_ID, x.node_id, directories[x.node_id]))
    seen = pod.run("inspect")
    assert (seen.verdict, seen.reason) == (DiskVerdict.EMPTY, "DiskLost")
    gate = pod.begin("gate")
    try:
        assert gate.stdout is not None
        assert "waiting: FormatRefused" in gate.stdout.readline()
        assert not (volume(x) / "log").exists()
        eventually("y asks x for its vote in vain", lambda: f"cannot reach {x.endpoint}" in y.log())
        with pytest.raises((AdminError, ApiError, OSError)):
            asyncio.run(describe(y))
        leader.start()
        cluster.wait_for_leader()
        assert remembered(leader, y)
        assert gate.poll() is None, "the gate still waits"
    finally:
        gate.kill()
        gate.communicate(timeout=20)


async def describe(node: NodeProcess) -> None:
    async with AdminClient(bootstrap_controllers=[node.endpoint], timeout_seconds=3) as admin:
        await admin.describe_quorum()


def directory_ids(cluster: Cluster) -> dict[int, str]:
    cluster.wait_for_leader()
    return {int(each.replica_id): str(each.directory_id) for each in cluster.quorum().voters}
