"""Apache Kafka's own tools, unmodified, against our controllers and brokers, with each bootstrap flag that
they have.

INT-04.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.apache_kafka.java_kafka import ToolResult, require_java, run_tool
from support.nodes.processes import CLUSTER_ID, Cluster, kraft

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TIMEOUT_S = 180.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    require_java()
    with Cluster(tmp_path_factory.mktemp("java-tools"), controllers=3, brokers=1) as running:
        running.start()
        running.wait_until_unfenced()
        yield running


def java(tool: str, *arguments: str) -> ToolResult:
    return run_tool(tool, *arguments, timeout_s=TIMEOUT_S)


def by(cluster: Cluster, kind: str) -> list[str]:
    if kind == "controller":
        return ["--bootstrap-controller", cluster.bootstrap_controllers]
    return ["--bootstrap-server", cluster.bootstrap_servers]


BOTH = pytest.mark.parametrize("kind", ["controller", "server"])


@BOTH
def test_metadata_quorum_describes_the_status(cluster: Cluster, kind: str) -> None:
    said = java("kafka-metadata-quorum", *by(cluster, kind), "describe", "--status")
    assert said.rc == 0, said.err
    fields = {name: value.strip() for name, value in (line.split(":", 1) for line in said.out.strip().splitlines())}
    assert fields["ClusterId"] == CLUSTER_ID
    assert int(fields["LeaderId"]) == cluster.quorum().leader_id
    assert [one["id"] for one in json.loads(fields["CurrentVoters"])] == [1, 2, 3]
    assert json.loads(fields["CurrentVoters"])[0]["endpoints"] == [f"CONTROLLER://{cluster.nodes[1].endpoint}"]
    assert [one["id"] for one in json.loads(fields["CurrentObservers"])] == [11]
    assert int(fields["HighWatermark"]) > 0


@BOTH
def test_metadata_quorum_describes_the_replication(cluster: Cluster, kind: str) -> None:
    said = java("kafka-metadata-quorum", *by(cluster, kind), "describe", "--replication")
    assert said.rc == 0, said.err
    rows = [[cell.strip() for cell in line.split("\t")] for line in said.out.strip().splitlines()[1:]]
    assert sorted(int(row[0]) for row in rows) == [1, 2, 3, 11]
    assert [row[6] for row in rows] == ["Leader", "Follower", "Follower", "Observer"]
    assert all(int(row[2]) > 0 and int(row[3]) >= 0 for row in rows)


@BOTH
def test_cluster_tells_its_id(cluster: Cluster, kind: str) -> None:
    said = java("kafka-cluster", "cluster-id", *by(cluster, kind))
    assert (said.rc, said.out.strip()) == (0, f"Cluster ID: {CLUSTER_ID}"), said.err


@BOTH
def test_cluster_lists_the_endpoints_of_the_kind_that_was_asked(cluster: Cluster, kind: str) -> None:
    said = java("kafka-cluster", "list-endpoints", *by(cluster, kind))
    assert said.rc == 0, said.err
    rows = [line.split() for line in said.out.strip().splitlines()[1:]]
    nodes = cluster.controller_nodes if kind == "controller" else cluster.broker_nodes
    assert sorted((int(row[0]), int(row[2])) for row in rows) == sorted((node.node_id, node.port) for node in nodes)
    assert {row[-1] for row in rows} == {"controller" if kind == "controller" else "broker"}


@BOTH
def test_unregistering_an_unknown_broker_is_refused_with_its_exception(cluster: Cluster, kind: str) -> None:
    said = java("kafka-cluster", "unregister", *by(cluster, kind), "--id", "99")
    assert said.rc == 1
    assert "BrokerIdNotRegisteredException: Broker ID 99 is not currently registered" in said.err


@BOTH
def test_features_are_described_lowered_and_raised(cluster: Cluster, kind: str) -> None:
    said = java("kafka-features", *by(cluster, kind), "describe")
    assert said.rc == 0, said.err
    levels = {line.split()[1]: line.split()[7] for line in said.out.splitlines()}
    assert (levels["metadata.version"], levels["kraft.version"], levels["transaction.version"]) == ("4.3-IV0", "1", "2")
    lowered = java("kafka-features", *by(cluster, kind), "downgrade", "--feature", "transaction.version=1")
    assert (lowered.rc, lowered.out) == (0, "transaction.version was downgraded to 1.\n"), lowered.err
    raised = java("kafka-features", *by(cluster, kind), "upgrade", "--release-version", "4.3")
    assert raised.rc == 0, raised.out + raised.err
    assert "transaction.version was upgraded to 2." in raised.out


@BOTH
def test_removing_a_voter_that_is_none_is_refused_with_its_exception(cluster: Cluster, kind: str) -> None:
    directory = "HicD3j6ebzCx6rlWrdITbw"
    name = ["--controller-id", "9", "--controller-directory-id", directory]
    said = java("kafka-metadata-quorum", *by(cluster, kind), "remove-controller", *name)
    assert said.rc == 1
    assert f"VoterNotFoundException: Cannot remove voter ReplicaKey(id=9, directoryId={directory})" in said.err


def test_a_controller_flag_that_meets_a_broker_is_a_mismatch(cluster: Cluster) -> None:
    said = java("kafka-cluster", "cluster-id", "--bootstrap-controller", cluster.bootstrap_servers)
    assert said.rc == 1
    words = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    assert f"MismatchedEndpointTypeException: {words}" in said.err


def test_a_server_flag_that_meets_a_controller_is_refused(cluster: Cluster) -> None:
    said = java("kafka-cluster", "cluster-id", "--bootstrap-server", cluster.bootstrap_controllers)
    assert said.rc == 1
    assert "UnsupportedVersionException: The node does not support METADATA" in said.err


def test_topics_are_created_listed_described_and_deleted(cluster: Cluster) -> None:
    def topics(*arguments: str) -> ToolResult:
        return java("kafka-topics", *by(cluster, "server"), *arguments)

    made = topics("--create", "--topic", "java-made", "--partitions", "3", "--replication-factor", "1")
    assert (made.rc, made.out.strip()) == (0, "Created topic java-made."), made.err
    with ThreadPoolExecutor(3) as pool:
        again = pool.submit(topics, "--create", "--topic", "java-made")
        listed = pool.submit(topics, "--list")
        too_many = pool.submit(topics, "--create", "--topic", "two", "--replication-factor", "3")
    assert again.result().rc == 1
    assert "Topic 'java-made' already exists." in again.result().out
    assert "java-made" in listed.result().out.split()
    assert too_many.result().rc == 1
    assert "Error while executing topic command" in too_many.result().out
    described = topics("--describe", "--topic", "java-made")
    assert described.rc == 0, described.err
    lines = described.out.strip("\n").splitlines()
    assert re.match(r"Topic: java-made\tTopicId: \S{22}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: ", lines[0])
    shape = r".*Partition: (\d+)\tLeader: (\d+)\tReplicas: (\d+)\tIsr: (\d+).*"
    shown = [re.sub(shape, r"\1 \2 \3 \4", line) for line in lines[1:]]
    assert shown == ["0 11 11 11", "1 11 11 11", "2 11 11 11"]
    gone = topics("--delete", "--topic", "java-made")
    assert (gone.rc, gone.out) == (0, ""), gone.err
    assert "java-made" not in topics("--list").out.split()


def test_delete_records_and_log_dirs_of_a_broker(cluster: Cluster, tmp_path: Path) -> None:
    topic, server = "cut-by-java", ["--bootstrap-server", cluster.bootstrap_servers]
    assert java("kafka-topics", *server, "--create", "--topic", topic, "--partitions", "1").rc == 0

    def held() -> dict[str, int]:
        """As kafka-log-dirs says it: bytes of each partition."""
        said = java("kafka-log-dirs", *server, "--describe", "--topic-list", topic)
        assert said.rc == 0, said.err
        told = json.loads(said.out[said.out.index("{") :].splitlines()[0])
        (directory,) = told["brokers"][0]["logDirs"]
        assert (directory["error"], directory["logDir"]) == (None, cluster.nodes[11].properties["log.dirs"])
        return {one["partition"]: one["size"] for one in directory["partitions"]}

    assert held() == {f"{topic}-0": 0}
    sent = run_tool("kafka-console-producer", *server, "--topic", topic, stdin="one\ntwo\nthree\n", timeout_s=TIMEOUT_S)
    assert sent.rc == 0, sent.err
    assert held()[f"{topic}-0"] > 0
    wanted = {"partitions": [{"topic": topic, "partition": 0, "offset": 2}], "version": 1}
    (tmp_path / "offsets.json").write_text(json.dumps(wanted))
    said = java("kafka-delete-records", *server, "--offset-json-file", str(tmp_path / "offsets.json"))
    assert said.rc == 0, said.err
    assert f"partition: {topic}-0\tlow_watermark: 2" in said.out
    starts = java("kafka-get-offsets", *server, "--topic", topic, "--time", "-2")
    assert starts.out.strip() == f"{topic}:0:2", starts.err
    wanted["partitions"] = [{"topic": topic, "partition": 0, "offset": 9}]
    (tmp_path / "offsets.json").write_text(json.dumps(wanted))
    refused = java("kafka-delete-records", *server, "--offset-json-file", str(tmp_path / "offsets.json"))
    assert "OffsetOutOfRangeException" in refused.out


FRAMES = re.compile(r"\n(?:\tat |\t\.\.\. |Caused by: |(?:java|org)\.[\w.]+: ).*")
OUR_QUESTIONS = (
    ("kafka-get-offsets", "server", "--topic asked"),
    ("kafka-get-offsets", "server", "--topic asked --time earliest"),
    ("kafka-log-dirs", "server", "--describe --topic-list none"),
    ("kafka-leader-election", "server", "--election-type preferred --topic asked --partition 0"),
    ("kafka-leader-election", "server", "--election-type unclean --topic none-such --partition 0"),
    ("kafka-topics", "server", "--alter --topic asked --partitions 1"),
    ("kafka-configs", "server", "--describe --topic asked --all"),
    ("kafka-configs", "server", "--describe --entity-type users"),
    ("kafka-configs", "controller", "--describe --broker 1 --all"),
    ("kafka-configs", "controller", "--describe --broker-logger 1"),
    ("kafka-acls", "server", "--list"),
    ("kafka-acls", "controller", "--add --allow-principal User:a --operation Read --topic asked"),
    ("kafka-reassign-partitions", "server", "--list"),
    ("kafka-reassign-partitions", "controller", "--list"),
    ("kafka-client-metrics", "server", "--list"),
    ("kafka-broker-api-versions", "server", ""),
)


def test_our_tools_and_kafkas_say_the_same_of_our_cluster(cluster: Cluster) -> None:
    """INT-04: the same arguments to both, the same output and exit code."""
    server = by(cluster, "server")
    assert kraft("topics", *server, "--create", "--topic", "asked", "--partitions", "2").returncode == 0
    assert kraft("configs", *server, "--alter", "--topic", "asked", "--add-config", "retention.ms=5").returncode == 0
    quota = ["--alter", "--user", "u", "--add-config", "producer_byte_rate=5"]
    assert kraft("configs", *server, *quota).returncode == 0
    for tool, kind, words in OUR_QUESTIONS:
        said = java(tool, *by(cluster, kind), *words.split())
        own = kraft(tool.removeprefix("kafka-"), *by(cluster, kind), *words.split())
        assert own.returncode == said.rc, (tool, words, own.stdout, own.stderr, said.out, said.err)
        lines = [FRAMES.sub("", text).rstrip() for text in (own.stdout, said.out)]
        assert sorted(lines[0].splitlines()) == sorted(lines[1].splitlines()), (tool, words)
