"""What our tools print is what Kafka's print: its recorded transcripts are read into values and printed again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from controller_runtime.admin.results import (
    ConfigEntry,
    NodeDescription,
    PartitionDescription,
    QuorumDescription,
    ReplicaDescription,
    TopicDescription,
)
from controller_runtime.cli.cluster import endpoints
from controller_runtime.cli.metadata_quorum import replication, status
from controller_runtime.cli.topics import describe
from controller_runtime.identifiers import NO_DIRECTORY, DirectoryId, Endpoint, Epoch, NodeId, Offset, Uuid
from support.golden import json_lines

pytestmark = pytest.mark.unit

CALLS = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "tool-calls-4.3.1.jsonl").read_text().splitlines()
]
QUORUMS = [
    json.loads(line)
    for line in (Path(__file__).parent / "testdata" / "quorum-calls-4.3.1.jsonl").read_text().splitlines()
]

STORY = json_lines("cluster/tools.jsonl.gz")
"""Of a whole cluster, with brokers and with controllers that stop, come and go."""


def said(tool: str, *words: str) -> list[list[str]]:
    return [
        call["out"].rstrip("\n").split("\n")
        for call in CALLS + QUORUMS + STORY
        if call["tool"] == tool
        and call["rc"] == 0
        and all(word in call["args"] for word in words)
        and call["out"].strip()
    ]


def read_replica(cells: list[str]) -> ReplicaDescription:
    directory = DirectoryId(Uuid.parse(cells[1]))
    return ReplicaDescription(NodeId(int(cells[0])), directory, Offset(int(cells[2])), int(cells[4]), int(cells[5]))


@pytest.mark.parametrize(
    "transcript", [one for one in said("kafka-metadata-quorum", "--replication") if "ago" not in one[1]]
)
def test_replication_is_printed_as_kafka_does(transcript: list[str]) -> None:
    rows = [[cell.strip() for cell in line.split("\t")] for line in transcript[1:]]
    voters = [read_replica(row) for row in rows if row[6] != "Observer"]
    observers = [read_replica(row) for row in rows if row[6] == "Observer"]
    quorum = QuorumDescription(voters[0].replica_id, Epoch(1), Offset(0), tuple(voters), tuple(observers), {})
    assert list(replication(quorum, None)) == transcript


def test_times_are_relative_when_a_person_reads_them() -> None:
    one = ReplicaDescription(NodeId(1), NO_DIRECTORY, Offset(33), 1000, 996)
    never = ReplicaDescription(NodeId(2), NO_DIRECTORY, Offset(-1), -1, -1)
    quorum = QuorumDescription(NodeId(1), Epoch(1), Offset(33), (one, never), (), {})
    cells = [[cell.strip() for cell in line.split("\t")] for line in replication(quorum, 1004)]
    assert cells[1][2:7] == ["33", "0", "4 ms ago", "8 ms ago", "Leader"]
    assert cells[2][2:7] == ["-1", "34", "-1", "-1", "Follower"]


@pytest.mark.parametrize("transcript", said("kafka-metadata-quorum", "--status"))
def test_status_is_printed_as_kafka_does(transcript: list[str]) -> None:
    fields = dict(line.split(":", 1) for line in transcript)
    leader, lag, lag_ms = (int(fields[name]) for name in ("LeaderId", "MaxFollowerLag", "MaxFollowerLagTimeMs"))
    voters = json.loads(fields["CurrentVoters"])
    slowest = next((one["id"] for one in voters if one["id"] != leader), leader) if lag or lag_ms else leader

    def replica(one: dict[str, object]) -> ReplicaDescription:
        behind, late = (lag, lag_ms) if one["id"] == slowest else (0, 0)
        at = Offset(1000 - behind) if one["id"] == slowest or one["id"] == leader else Offset(1000)
        directory = DirectoryId(Uuid.parse(str(one["directoryId"]))) if "directoryId" in one else NO_DIRECTORY
        return ReplicaDescription(NodeId(int(str(one["id"]))), directory, at, 5000, 5000 - late)

    endpoints_of = {
        NodeId(one["id"]): {
            name: Endpoint(*(part if index == 0 else int(part) for index, part in enumerate(address.rsplit(":", 1))))  # type: ignore[arg-type]
            for name, address in (text.split("://") for text in one["endpoints"])
        }
        for one in voters
    }
    quorum = QuorumDescription(
        NodeId(leader), Epoch(int(fields["LeaderEpoch"])), Offset(int(fields["HighWatermark"])),
        tuple(map(replica, voters)), tuple(map(replica, json.loads(fields["CurrentObservers"]))), endpoints_of,
    )  # fmt: skip
    if slowest != leader and lag == 0:
        quorum = QuorumDescription(
            quorum.leader_id, quorum.leader_epoch, quorum.high_watermark,
            tuple(sorted(quorum.voters, key=lambda one: one.replica_id != slowest)), quorum.observers, endpoints_of,
        )  # fmt: skip
        shown = list(status(fields["ClusterId"].strip(), quorum))
        assert shown[:6] == transcript[:6]
    else:
        assert list(status(fields["ClusterId"].strip(), quorum)) == transcript


@pytest.mark.parametrize("transcript", said("kafka-cluster", "list-endpoints"))
def test_endpoints_are_printed_as_kafka_does(transcript: list[str]) -> None:
    if transcript == ["The node does not support METADATA"]:
        return
    brokers = "STATE" in transcript[0]
    nodes = []
    for line in transcript[1:]:
        node_id, host, port, rack, *state = line.split()
        known = None if rack == "null" else rack
        nodes.append(NodeDescription(NodeId(int(node_id)), Endpoint(host, int(port)), known, state[0] == "fenced"))
    assert list(endpoints(nodes, brokers=brokers)) == transcript


@pytest.mark.parametrize(
    "transcript", [one for one in said("kafka-topics", "--describe") if one[0].startswith("Topic:")]
)
def test_topics_are_described_as_kafka_does(transcript: list[str]) -> None:
    shown: list[str] = []
    at = 0
    while at < len(transcript):
        head = transcript[at]
        at += 1
        lines = []
        while at < len(transcript) and transcript[at].startswith("\t"):
            lines.append(transcript[at])
            at += 1
        fields = dict(re.split(r": ?", part, maxsplit=1) for part in head.split("\t"))
        pairs = [pair.split("=", 1) for pair in re.split(r",(?=[a-z.]+=)", fields["Configs"]) if pair]
        configs = [ConfigEntry(name, value, source=1) for name, value in pairs]
        topic = TopicDescription(
            fields["Topic"], Uuid.parse(fields["TopicId"]), False, tuple(map(read_partition, lines))
        )
        if lines:
            shown += describe(topic, configs)
        else:
            count = int(fields["PartitionCount"])
            filled = tuple(
                PartitionDescription(n, 0, 0, (0,) * int(fields["ReplicationFactor"]), ()) for n in range(count)
            )
            topic = TopicDescription(topic.name, topic.topic_id, False, filled)
            shown += describe(topic, configs, ("topics-with-overrides",))
    assert shown == transcript


def read_partition(line: str) -> PartitionDescription:
    fields = dict(re.split(r": ?", part, maxsplit=1) for part in line.strip("\t").split("\t"))

    def ids(text: str) -> tuple[int, ...]:
        return tuple(int(one) for one in text.split(",") if one)

    leader = -1 if fields["Leader"] == "none" else int(fields["Leader"])
    return PartitionDescription(
        int(fields["Partition"]), leader, 0, ids(fields["Replicas"]), ids(fields["Isr"]), ids(fields["Elr"]),
        ids(fields["LastKnownElr"]),
    )  # fmt: skip


def test_reports_show_only_the_partitions_they_are_about() -> None:
    whole = PartitionDescription(0, 1, 0, (1, 2), (1, 2), (), ())
    lagging = PartitionDescription(1, 1, 0, (1, 2), (1,), (), ())
    leaderless = PartitionDescription(2, -1, 0, (1, 2), (), (2,), (2,))
    topic = TopicDescription("t", Uuid.of(1, 2), False, (whole, lagging, leaderless))
    least = [ConfigEntry("min.insync.replicas", "1", 5)]

    def reported(report: str) -> list[int]:
        return [int(line.split("Partition: ")[1].split("\t")[0]) for line in describe(topic, least, (report,))]

    assert reported("under-replicated-partitions") == [1, 2]
    assert reported("unavailable-partitions") == [2]
    assert reported("under-min-isr-partitions") == [2]
    assert reported("at-min-isr-partitions") == [1]
