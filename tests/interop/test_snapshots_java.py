"""Snapshots between Apache Kafka 4.3.1 and us: dumped, fetched in both directions, and a disk whose log begins at one
taken over and back.

INT-06, INT-03.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import NewTopic
from controller_runtime.cli import dump_log
from controller_runtime.cli.metadata_shell import shell
from controller_runtime.identifiers import OffsetAndEpoch
from controller_runtime.storage.file_names import snapshot_file
from support.apache_kafka.java_kafka import JavaNode, require_java, run_tool
from support.disks.metadata_disk import image_of_log, image_of_snapshot, metadata_directory, snapshots_in
from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = [pytest.mark.interop, pytest.mark.usefixtures("java")]

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "4000", "metadata.max.idle.interval.ms": "50"}
TOPICS = [f"topic-{number}" for number in range(12)]
SECONDS = 120.0


@pytest.fixture(scope="module")
def java() -> str:
    return require_java()


def directory_of(node: NodeProcess) -> Path:
    return metadata_directory(node.properties["log.dirs"])


def create_topics(cluster: Cluster) -> None:
    async def create() -> None:
        async with cluster.admin(30.0) as admin:
            for name in TOPICS:
                await admin.create_topics([NewTopic(name, 8, 1)])

    asyncio.run(create())


def topics_seen_by(broker: NodeProcess) -> set[str]:
    async def ask() -> set[str]:
        async with AdminClient(bootstrap_servers=[broker.endpoint], timeout_seconds=20) as admin:
            return set(await admin.list_topics())

    return asyncio.run(ask())


@contextmanager
def running(node: NodeProcess) -> Iterator[JavaNode]:
    """Apache Kafka on this node's properties and disk."""
    node.write_properties()
    java = JavaNode(node.properties_file, node.directory / "java.log")
    try:
        yield java
    finally:
        java.stop(60)


def observer(cluster: Cluster, folder: Path) -> NodeProcess:
    """A third controller that is no voter: its log is empty, so it must fetch a snapshot."""
    with_one_more = Cluster(folder, controllers=3, extra=dict(cluster.extra))
    node = with_one_more.nodes[3]
    node.properties["controller.quorum.bootstrap.servers"] = cluster.bootstrap_controllers
    node.format("--no-initial-controllers")
    return node


def fetched_snapshot(node: NodeProcess) -> OffsetAndEpoch:
    return eventually(
        f"node {node.node_id} has a snapshot", lambda: next(iter(snapshots_in(directory_of(node))), None), SECONDS
    )


def wait_until_level(cluster: Cluster, node: NodeProcess) -> None:
    """The observer has what is committed now."""
    committed = cluster.quorum().high_watermark

    def level() -> bool:
        seen = {one.replica_id: one.log_end_offset for one in cluster.quorum().observers}
        return seen.get(node.node_id, -1) >= committed  # type: ignore[call-overload, no-any-return]

    eventually(f"node {node.node_id} is level", level, SECONDS)


def shows_in_the_shell(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """INT-03: Java's shell reads our newest snapshot as ours does."""
    latest = str(directory / snapshot_file(snapshots_in(directory)[-1]))
    tree = ("tree", "/image/topics", "/image/cluster", "/image/features")
    # Java's may show what it has read so far.
    asked = [run_tool("kafka-metadata-shell", "--snapshot", latest, *tree, timeout_s=240).out for _ in range(2)]
    assert shell.main(["--snapshot", latest, *tree]) == 0
    mine = capsys.readouterr().out
    assert mine == max(asked, key=len)
    assert mine.count("PartitionRegistration(replicas") > 1, "there are topics"


def test_java_dumps_the_snapshots_that_we_write_as_we_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1, extra=OFTEN) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topics(cluster)
        for node in cluster.nodes.values():
            eventually("two snapshots", lambda one=node: len(snapshots_in(directory_of(one))) > 1, SECONDS)  # type: ignore[misc]
        for node in (*cluster.broker_nodes, *cluster.controller_nodes):
            assert node.stop() == 0
    for node in cluster.nodes.values():
        latest = directory_of(node) / snapshot_file(snapshots_in(directory_of(node))[-1])
        said = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(latest))
        assert said.rc == 0, said.err
        assert dump_log.main(["--cluster-metadata-decoder", "--files", str(latest)]) == 0
        assert capsys.readouterr().out == said.out
        assert "isvalid: false" not in said.out
        assert said.out.count('"type":"PARTITION_RECORD"') >= 8, "topics of before the snapshot"
        for part in ("SnapshotHeader", "KRaftVersion", "KRaftVoters", "SnapshotFooter"):
            assert f"{part} " in said.out, part
    shows_in_the_shell(directory_of(cluster.nodes[1]), capsys)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_java_observer_fetches_our_snapshot_and_then_our_log(tmp_path: Path) -> None:
    with Cluster(tmp_path / "quorum", controllers=1, brokers=1, extra=OFTEN) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topics(cluster)
        ours = directory_of(cluster.nodes[1])
        eventually("a snapshot", lambda: snapshots_in(ours))
        node = observer(cluster, tmp_path / "observer")
        with running(node) as java:
            snapshot_id = fetched_snapshot(node)
            wait_until_level(cluster, node)
            theirs = directory_of(node)
            name = snapshot_file(snapshot_id)
            assert (theirs / name).read_bytes() == (ours / name).read_bytes()
            assert "ERROR" not in java.log.read_text(errors="replace")
        assert not (theirs / f"{0:020}.log").exists(), "its log begins at the snapshot"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_our_observer_fetches_javas_snapshot_and_then_javas_log(tmp_path: Path) -> None:
    with Cluster(tmp_path / "quorum", controllers=1, brokers=1, extra=OFTEN) as cluster:
        cluster.format()
        with running(cluster.nodes[1]):
            cluster.nodes[11].start()
            cluster.wait_until_unfenced(SECONDS)
            create_topics(cluster)
            theirs = directory_of(cluster.nodes[1])
            eventually("a snapshot of Java's", lambda: snapshots_in(theirs), SECONDS)
            node = observer(cluster, tmp_path / "observer")
            try:
                node.start()
                snapshot_id = fetched_snapshot(node)
                wait_until_level(cluster, node)
                assert node.stop() == 0
            finally:
                node.kill()
            name = snapshot_file(snapshot_id)
            assert (directory_of(node) / name).read_bytes() == (theirs / name).read_bytes()
        # Both kinds of snapshot say what the log says.
        kept = snapshots_in(theirs)[-1]
        assert image_of_snapshot(theirs, kept) == image_of_log(theirs, kept.offset)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_disk_whose_log_begins_at_a_snapshot_is_taken_over_by_java_and_back(tmp_path: Path) -> None:
    pruning = {**OFTEN, "metadata.max.retention.bytes": "1"}
    with Cluster(tmp_path, controllers=1, brokers=1, extra=pruning) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        create_topics(cluster)
        controller, broker = cluster.nodes[1], cluster.nodes[11]
        eventually("the log begins later", lambda: "the log begins at snapshot" in controller.log())
        for _ in range(2):
            assert broker.stop() == 0
            assert controller.stop() == 0
            with running(controller) as java:
                java.wait_for_log("Kafka Server started", SECONDS)
                shutil.rmtree(directory_of(broker))
                broker.start()
                cluster.wait_until_unfenced(SECONDS)
                assert topics_seen_by(broker) >= set(TOPICS)
                assert broker.stop() == 0
            controller.start()
            broker.start()
            cluster.wait_until_unfenced(SECONDS)
            assert topics_seen_by(broker) >= set(TOPICS)
