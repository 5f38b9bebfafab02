"""Our tools against an unmodified Apache Kafka node: what they print is what Kafka's own tools print there."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import parse_bootstrap
from controller_runtime.identifiers import NodeId
from metadata_pipeline import cli as pipeline
from metadata_pipeline.jobs.ingest import lake_state
from metadata_pipeline.tables.committed import clusters
from support.apache_kafka.java_kafka import JavaNode, ToolResult, require_java, run_tool
from support.nodes.processes import CLUSTER_ID, free_ports, kraft
from support.pipeline.lake_rows import log_rows

pytestmark = [pytest.mark.interop, pytest.mark.slow]

EPOCH = re.compile(r"Epoch: \d+")
MOVING = re.compile(r"(HighWatermark|LeaderEpoch|MaxFollowerLagTimeMs): *\d+")


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """One Java node with both roles: `controller` and `server` are its addresses."""
    require_java()
    home = tmp_path_factory.mktemp("java-node")
    controller, broker = free_ports(2)
    properties = home / "server.properties"
    properties.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={home / "data"}
offsets.topic.replication.factor=1
broker.rack=rack-a
"""
    )
    formatted = run_tool(
        "kafka-storage", "format", "-c", str(properties), "-t", CLUSTER_ID, "--standalone", timeout_s=180
    )
    assert formatted.rc == 0, formatted.err
    node = JavaNode(properties, Path(home / "log"))
    try:
        node.wait_for_log("Kafka Server started", 180)
        yield {
            "controller": f"127.0.0.1:{controller}", "server": f"127.0.0.1:{broker}", "data": str(home / "data"),
        }  # fmt: skip
    finally:
        node.stop(120)


def both(tool: str, *arguments: str) -> tuple[ToolResult, ToolResult]:
    """(Kafka's tool, ours), at the same time."""
    with ThreadPoolExecutor(2) as pool:
        java = pool.submit(run_tool, tool, *arguments, timeout_s=240)
        ours = pool.submit(kraft, tool.removeprefix("kafka-"), *arguments, timeout=240)
    done = ours.result()
    return java.result(), ToolResult(done.returncode, done.stdout, done.stderr)


def first_line(text: str) -> str:
    return text.split("\n", 1)[0]


@pytest.mark.parametrize("kind", ["controller", "server"])
def test_the_quorum_and_the_cluster_are_described_alike(addresses: dict[str, str], kind: str) -> None:
    flag = [f"--bootstrap-{kind}", addresses[kind]]
    java, ours = both("kafka-metadata-quorum", *flag, "describe", "--status")
    assert (ours.rc, ours.err) == (0, "")
    assert MOVING.sub(r"\1", ours.out.rstrip()) == MOVING.sub(r"\1", java.out.rstrip())
    java, ours = both("kafka-cluster", "list-endpoints", *flag)
    assert (ours.rc, ours.out.rstrip("\n")) == (java.rc, java.out.rstrip("\n"))
    java, ours = both("kafka-cluster", "cluster-id", *flag)
    assert (ours.rc, ours.out.rstrip("\n")) == (java.rc, java.out.rstrip("\n"))


@pytest.mark.parametrize("kind", ["controller", "server"])
def test_features_and_voters_are_told_and_refused_alike(addresses: dict[str, str], kind: str) -> None:
    flag = [f"--bootstrap-{kind}", addresses[kind]]
    java, ours = both("kafka-features", *flag, "describe")
    assert (ours.rc, EPOCH.sub("", ours.out), ours.err) == (java.rc, EPOCH.sub("", java.out), java.err)
    for arguments in (
        ["upgrade", "--feature", "transaction.version=7", "--dry-run"],
        ["downgrade", "--feature", "transaction.version=1", "--dry-run"],
        ["downgrade", "--feature", "kraft.version=0"],
        ["disable", "--feature", "streams.version", "--dry-run"],
    ):
        java, ours = both("kafka-features", *flag, *arguments)
        assert ours == java
    stranger = ["--controller-id", "7", "--controller-directory-id", "HicD3j6ebzCx6rlWrdITbw"]
    java, ours = both("kafka-metadata-quorum", *flag, "remove-controller", *stranger)
    assert (ours.rc, first_line(ours.err)) == (java.rc, first_line(java.err)) != (0, "")


def test_wrong_kinds_and_unknown_brokers_are_refused_alike(addresses: dict[str, str]) -> None:
    for arguments in (
        ["cluster-id", "--bootstrap-controller", addresses["server"]],
        ["cluster-id", "--bootstrap-server", addresses["controller"]],
        ["unregister", "--bootstrap-controller", addresses["controller"], "--id", "99"],
    ):
        java, ours = both("kafka-cluster", *arguments)
        assert (ours.rc, first_line(ours.err)) == (java.rc, first_line(java.err)) != (0, "")


def test_topics_are_made_and_described_alike(addresses: dict[str, str]) -> None:
    flag = ["--bootstrap-server", addresses["server"]]
    made = kraft(
        "topics",
        *flag,
        "--create",
        "--topic",
        "made-by-us",
        "--partitions",
        "2",
        "--config",
        "retention.ms=1000",
        timeout=240,
    )
    assert (made.returncode, made.stdout) == (0, "Created topic made-by-us.\n"), made.stderr
    java, ours = both("kafka-topics", *flag, "--describe", "--topic", "made-by-us")
    assert (ours.rc, ours.out.rstrip("\n")) == (java.rc, java.out.rstrip("\n"))
    java, ours = both("kafka-topics", *flag, "--create", "--topic", "made-by-us")
    assert (ours.rc, ours.out.rstrip("\n")) == (java.rc, java.out.rstrip("\n"))
    java, ours = both("kafka-topics", *flag, "--create", "--topic", "too-many", "--replication-factor", "3")
    assert (ours.rc, ours.out.rstrip("\n")) == (java.rc, java.out.rstrip("\n"))
    java, ours = both("kafka-topics", *flag, "--list")
    assert (ours.rc, ours.out.rstrip("\n")) == (java.rc, java.out.rstrip("\n"))
    gone = kraft("topics", *flag, "--delete", "--topic", "made-by-us", timeout=240)
    assert (gone.returncode, gone.stdout) == (0, "")


def test_our_pipeline_reads_a_java_quorum_as_it_reads_its_disk(addresses: dict[str, str], tmp_path: Path) -> None:
    """Fetch as a non-replica below the high watermark, twice: each committed record once, all of them proven."""
    wire, disk = tmp_path / "wire", tmp_path / "disk"
    command = ["ingest", "--bootstrap-controller", addresses["controller"], "--output", str(wire)]
    assert pipeline.main(command) == 0
    first = len(log_rows(wire))
    kraft("topics", "--bootstrap-controller", addresses["controller"], "--create", "--topic", "later", timeout=240)
    assert pipeline.main(command) == 0
    pipeline.main(["ingest", addresses["data"], "--output", str(disk), "--master", "none"])
    seen = log_rows(wire)
    assert 0 < first < len(seen)
    assert seen == log_rows(disk, 1)[: len(seen)]
    (known,) = clusters(lake_state(wire))
    assert (known.cluster, known.canon.end) == (CLUSTER_ID, len(seen))
    assert known.canon.proofs[-1].why == "high watermark of node 1, leader of epoch 1"


def test_our_admin_client_reads_a_java_quorum(addresses: dict[str, str]) -> None:
    async def ask() -> None:
        controller = parse_bootstrap(addresses["controller"])[0]
        async with AdminClient(bootstrap_controllers=[controller], timeout_seconds=60) as admin:
            seen = await admin.raft_fetch_as_non_replica(controller)
            quorum = await admin.describe_quorum()
            features = await admin.describe_features()
        assert (seen.leader_id, seen.endpoint) == (1, controller)
        assert (seen.epoch, quorum.leader_id) == (quorum.leader_epoch, 1)
        assert quorum.endpoints[NodeId(1)] == {"CONTROLLER": controller}
        assert features.finalized["metadata.version"] == 30

    asyncio.run(ask())
