"""Whole processes write snapshots, start from them, fetch them and forget what they hold."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import NewTopic
from controller_runtime.protocol.control_records import ControlType, decode_control
from controller_runtime.protocol.messages.voters_record import VotersRecord
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.storage.file_names import parse_segment_file, snapshot_file
from support.disks.metadata_disk import image_of_log, image_of_snapshot, metadata_directory, snapshots_in
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "4000"}
PRUNING = {**OFTEN, "metadata.max.retention.bytes": "1", "metadata.max.idle.interval.ms": "100"}


def directory_of(node: NodeProcess) -> Path:
    return metadata_directory(node.properties["log.dirs"])


def create_topics(cluster: Cluster, names: list[str], at: NodeProcess | None = None) -> None:
    """`at` whom to ask, if some of the others do not answer."""

    async def create() -> None:
        async with AdminClient(bootstrap_controllers=[at.endpoint]) if at else cluster.admin(30.0) as admin:
            for name in names:
                await admin.create_topics([NewTopic(name, 8, 1)])

    asyncio.run(create())


@pytest.mark.parametrize("static", [False, True], ids=["kraft.version 1", "kraft.version 0"])
def test_every_controller_and_broker_writes_snapshots_that_say_what_the_log_says(tmp_path: Path, static: bool) -> None:
    """SNP-04: header first, footer last; voters and version from kraft.version 1 on, none before."""
    with Cluster(tmp_path, controllers=3, brokers=1, static_voters=static, extra=OFTEN) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topics(cluster, [f"topic-{number}" for number in range(12)])
        for node in cluster.nodes.values():
            eventually(f"node {node.node_id} writes two", lambda one=node: len(snapshots_in(directory_of(one))) > 1)  # type: ignore[misc]
        for node in (*cluster.broker_nodes, *cluster.controller_nodes):
            assert node.stop() == 0
        for node in cluster.nodes.values():
            directory = directory_of(node)
            for snapshot_id in snapshots_in(directory):
                assert image_of_snapshot(directory, snapshot_id) == image_of_log(directory, snapshot_id.offset)
                head = [
                    decode_control(record)
                    for record in decode_batches((directory / snapshot_file(snapshot_id)).read_bytes())[0].records
                ]
                expected = [ControlType.SNAPSHOT_HEADER]
                if not static:
                    expected += [ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]
                    voters = head[2].message
                    assert isinstance(voters, VotersRecord)
                    assert [voter.voter_id for voter in voters.voters] == [1, 2, 3]
                assert [control.type for control in head] == expected
            assert not list(directory.glob("*.part"))


def test_a_node_without_a_disk_fetches_the_leaders_snapshot_and_then_the_log(tmp_path: Path) -> None:
    """SNP-13, SNP-14: the log begins above zero everywhere, so a new disk can only be filled from a snapshot."""
    with Cluster(tmp_path, controllers=3, brokers=1, extra=PRUNING) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topics(cluster, [f"topic-{number}" for number in range(12)])
        leader = cluster.wait_for_leader()
        eventually("the log begins later", lambda: "the log begins at snapshot" in leader.log())
        followers = [node for node in cluster.controller_nodes if node is not leader]
        for lost in (followers[0], cluster.broker_nodes[0]):
            lost.kill()
            shutil.rmtree(directory_of(lost))
            directory_of(lost).mkdir()
            lost.start()
        create_topics(cluster, ["later"])
        for node in (followers[0], cluster.broker_nodes[0]):
            eventually(
                f"node {node.node_id} is level",
                lambda one=node: metric(one, "log_end_offset") >= metric(leader, "high_watermark") > 0,  # type: ignore[misc]
            )
            assert snapshots_in(directory_of(node))
        cluster.wait_until_unfenced()
        assert cluster.broker_nodes[0].stop() == 0
        broker = directory_of(cluster.broker_nodes[0])
        segments = [found for path in broker.glob("*.log") if (found := parse_segment_file(path.name))]
        assert min(offset for offset, _ in segments) > 0, "its log began at a snapshot"


def test_a_node_starts_from_its_snapshot_and_the_log_behind_it(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1, extra=PRUNING) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        names = [f"topic-{number}" for number in range(12)]
        create_topics(cluster, names)
        controller = cluster.nodes[1]
        eventually("the log begins later", lambda: "the log begins at snapshot" in controller.log())
        create_topics(cluster, ["after"])
        for kill in (True, False):
            if kill:
                controller.kill()
            else:
                assert controller.stop() == 0
            controller.start()
            cluster.wait_for_leader()
            eventually("all topics are there", lambda: metric(controller, "globaltopiccount") == len(names) + 1)


@pytest.mark.parametrize("role", ["broker", "standby"])
def test_a_node_that_slept_replaces_its_image_by_the_snapshot_while_it_runs(tmp_path: Path, role: str) -> None:
    """SNP-14: topics that were deleted meanwhile are gone from it, and those that came are there."""
    with Cluster(tmp_path, controllers=3, brokers=1, extra=PRUNING) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topics(cluster, ["goes", "stays"])
        leader = cluster.wait_for_leader()
        sleeper = cluster.broker_nodes[0]
        if role == "standby":
            sleeper = next(node for node in cluster.controller_nodes if node is not leader)
        level = metric(leader, "high_watermark")
        eventually("it is level", lambda: metric(sleeper, "log_end_offset") >= level)
        os.kill(sleeper.pid, signal.SIGSTOP)
        try:
            reached = metric(leader, "logendoffset")
            delete_topic(leader, "goes")
            if role == "standby":
                create_topics(cluster, [f"new-{number}" for number in range(8)], leader)
            eventually("the log begins later", lambda: metric(leader, "logstartoffset") > reached)
        finally:
            os.kill(sleeper.pid, signal.SIGCONT)
        eventually("it loads the snapshot", lambda: metric(sleeper, "handleloadsnapshotcount") == 1)
        eventually("it is level again", lambda: metric(sleeper, "log_end_offset") >= metric(leader, "high_watermark"))
        wanted = metric(leader, "globaltopiccount")
        if role == "standby":
            assert wanted == 9
            eventually("it counts the same topics", lambda: metric(sleeper, "globaltopiccount") == wanted)
        else:
            cluster.wait_until_unfenced()
            eventually("it knows what is left", lambda: topics_seen_by(sleeper) == {"stays"})


def delete_topic(leader: NodeProcess, name: str) -> None:
    async def delete() -> None:
        async with AdminClient(bootstrap_controllers=[leader.endpoint], timeout_seconds=30) as admin:
            await admin.delete_topics([name])

    asyncio.run(delete())


def topics_seen_by(broker: NodeProcess) -> set[str]:
    async def ask() -> set[str]:
        async with AdminClient(bootstrap_servers=[broker.endpoint], timeout_seconds=20) as admin:
            return set(await admin.list_topics())

    return asyncio.run(ask())


def metric(node: NodeProcess, name: str) -> float:
    _, text = node.http("/metrics")
    found = re.search(rf"^\S*{name}(?:{{\S*}})? (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else -1.0
