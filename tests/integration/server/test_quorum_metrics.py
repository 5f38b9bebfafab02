"""/metrics of real nodes: each value is provoked, and whatever dashboard and rules ask for is there."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_runtime.admin.client import ApiError
from controller_runtime.admin.results import NewTopic
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.vote_request import PartitionData, TopicData, VoteRequest
from support.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration
MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
RAFT = "kafka_server_raftmetrics_"
CONTROLLER = "kafka_controller_kafkacontroller_"
EVENTS = "kafka_controller_controllereventmanager_"

Metrics = dict[str, float]


def metrics(node: NodeProcess) -> Metrics:
    """By name, or `name{labels}`."""
    status, text = node.http("/metrics")
    assert status == 200, text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def becomes(node: NodeProcess, what: str, holds: Callable[[Metrics], bool]) -> Metrics:
    def seen() -> Metrics | None:
        if node.http("/livez")[0] != 200:
            return None  # it is starting
        found = metrics(node)
        return found if holds(found) else None

    return eventually(f"node {node.node_id}: {what}", seen)


def malformed_vote(node: NodeProcess) -> None:
    """A Vote for epoch 5 of one whose log ends in epoch 9: 42 (INVALID_REQUEST)."""
    asked = PartitionData(
        replica_epoch=5,
        replica_id=2,
        replica_directory_id=b"\x01" * 16,  # type: ignore[arg-type]
        voter_directory_id=bytes(16),  # type: ignore[arg-type]
        last_offset_epoch=9,
        last_offset=1,
    )
    request = VoteRequest(voter_id=-1, topics=(TopicData(topic_name="__cluster_metadata", partitions=(asked,)),))
    head = RequestHeader(request_api_key=52, request_api_version=2, correlation_id=1, client_id="t")
    content = encode(head, 2) + encode(request, 2)
    with socket.create_connection(("127.0.0.1", node.port), 10) as connection:
        connection.sendall(struct.pack(">i", len(content)) + content)
        assert len(connection.recv(4096)) > 4


def test_every_value_is_provoked_and_dashboard_and_rules_find_what_they_ask_for(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3, brokers=1) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        cluster.wait_until_unfenced()
        follower = next(node for node in cluster.controller_nodes if node is not leader)
        broker = cluster.broker_nodes[0]

        metrics(leader)
        timed = EVENTS + "eventqueueprocessingtimems_count"  # since the first look
        led = becomes(leader, "appends", lambda m: m[RAFT + "append_records_rate"] > 0 and m[timed] > 0)
        assert led[RAFT + "current_leader"] == led[RAFT + "current_vote"] == leader.node_id
        assert any(name.startswith(RAFT + "current_vote_directory_id{") for name in led)
        assert led[RAFT + 'current_state{current_state="leader"}'] == 1
        assert (led[RAFT + "number_of_voters"], led[RAFT + "number_of_observers"]) == (3, 1)
        assert led[RAFT + "uncommitted_voter_change"] == 0
        assert led[RAFT + "commit_latency_max"] >= led[RAFT + "commit_latency_avg"] > 0
        assert led[RAFT + "election_latency_max"] > 0
        assert 0 <= led[RAFT + "poll_idle_ratio_avg"] <= 1
        assert led[CONTROLLER + "activecontrollercount"] == led[CONTROLLER + "newactivecontrollerscount"] == 1
        assert (led[CONTROLLER + "activebrokercount"], led[CONTROLLER + "fencedbrokercount"]) == (1, 0)
        assert led[CONTROLLER + 'brokerregistrationstate{broker="11"}'] == 30
        assert led[CONTROLLER + 'timesincelastheartbeatreceivedms{broker="11"}'] < 60_000
        assert led[CONTROLLER + "eventqueueoperationsstartedcount"] > 0, "registrations and heartbeats"
        assert led[EVENTS + "eventqueueprocessingtimems_max"] > 0
        assert led["kafka_log_logflushstats_logflushrateandtimems_count"] > 0
        lags = [value for name, value in led.items() if name.startswith("quorate_raft_replica_lag{")]
        assert len(lags) == 3, "two voters and the broker"

        metrics(follower)
        followed = becomes(follower, "fetches", lambda m: m[RAFT + "fetch_records_rate"] > 0)
        assert followed[RAFT + 'current_state{current_state="follower"}'] == 1
        assert followed[RAFT + "append_records_rate"] == 0
        channel = "kafka_server_raftchannelmetrics_"
        assert followed[channel + "request_total"] > followed[channel + "connection_creation_total"] > 0
        assert followed[channel + "connection_count"] > 0
        assert RAFT + "number_of_observers" not in followed
        becomes(follower, "applies", lambda m: m[CONTROLLER + "lastappliedrecordoffset"] > 3)
        assert followed[CONTROLLER + "lastappliedrecordtimestamp"] > 1_600_000_000_000
        assert followed[CONTROLLER + "lastappliedrecordlagms"] < 60_000

        malformed_vote(follower)
        refused = 'kafka_network_requestmetrics_errorspersec_count{request="Vote",error="INVALID_REQUEST"}'
        assert metrics(follower)[refused] == 1

        served = metrics(broker)
        assert served[RAFT + 'current_state{current_state="observer"}'] == 1
        assert served["kafka_server_brokermetadatametrics_last_applied_record_offset"] > 0

        shown = {name.partition("{")[0] for one in (leader, follower, broker) for name in metrics(one)}
        asked = names_in(MONITORING / "rules.yaml") | names_in(MONITORING / "dashboard.json")
        assert len(asked) > 30
        assert asked - shown == set()

        leader.kill()
        survivors = [node for node in cluster.controller_nodes if node is not leader]
        for node in survivors:
            becomes(node, "learns of the next leader", lambda m: m[CONTROLLER + "newactivecontrollerscount"] == 2)


def names_in(file: Path) -> set[str]:
    return set(re.findall(r"\b(?:kafka|quorate|process)_[a-z0-9_]+", file.read_text()))


def test_many_topics_are_counted_without_holding_up_the_quorum(tmp_path: Path) -> None:
    """The first count of an image goes to a thread; the next finds what did not change already counted."""
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()

        async def create() -> None:
            async with cluster.admin(60) as admin:
                made = await admin.create_topics([NewTopic(f"t{n}", 20, 1) for n in range(60)])
                assert not [one for one in made.values() if isinstance(one, ApiError)]

        asyncio.run(create())
        node = cluster.controller_nodes[0]
        seen = becomes(node, "all topics", lambda m: m[CONTROLLER + "globaltopiccount"] == 60)
        assert seen[CONTROLLER + "globalpartitioncount"] == 1200
        assert seen[CONTROLLER + "offlinepartitionscount"] == seen[CONTROLLER + "preferredreplicaimbalancecount"] == 0
        cluster.broker_nodes[0].kill()
        gone = becomes(node, "a fenced broker", lambda m: m[CONTROLLER + "fencedbrokercount"] == 1)
        assert gone[CONTROLLER + "offlinepartitionscount"] == 1200
        assert gone[CONTROLLER + "preferredreplicaimbalancecount"] == 1200


def test_the_dashboard_is_whole() -> None:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids) > 20
    for panel in board["panels"]:
        if panel["type"] != "row":
            assert panel["targets"]
            assert all(target["expr"].count("(") == target["expr"].count(")") for target in panel["targets"])


def test_snapshots_are_told_when_they_are_written_and_when_they_are_loaded(tmp_path: Path) -> None:
    with Cluster(tmp_path, extra={"metadata.log.max.record.bytes.between.snapshots": "2000"}) as cluster:
        cluster.start()
        node = cluster.wait_for_leader()
        emitter, loader = "kafka_server_snapshotemitter_", "kafka_server_metadataloader_"
        fresh = metrics(node)
        assert fresh[emitter + "latestsnapshotgeneratedagems"] >= 0
        wrote = becomes(node, "a snapshot", lambda m: m[emitter + "latestsnapshotgeneratedbytes"] > 0)
        assert wrote[loader + "handleloadsnapshotcount"] == 0
        assert wrote[CONTROLLER + "metadataerrorcount"] == 0
        node.kill()
        node.start()
        becomes(node, "the snapshot is loaded", lambda m: m[loader + "handleloadsnapshotcount"] == 1)
