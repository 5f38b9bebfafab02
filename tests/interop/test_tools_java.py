"""Apache Kafka's own tools, unmodified, against our controllers and brokers, with each bootstrap flag that
they have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.java_kafka import ToolResult, require_java, run_tool
from support.processes import CLUSTER_ID, Cluster

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
    assert [re.sub(r".*Partition: (\d+)\tLeader: (\d+)\tReplicas: (\d+)\tIsr: (\d+).*", r"\1 \2 \3 \4", line) for line in lines[1:]] == [
        "0 11 11 11", "1 11 11 11", "2 11 11 11",
    ]  # fmt: skip
    gone = topics("--delete", "--topic", "java-made")
    assert (gone.rc, gone.out) == (0, ""), gone.err
    assert "java-made" not in topics("--list").out.split()
