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
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.vote_request import PartitionData, TopicData, VoteRequest
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import World
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration
MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
RAFT = "kafka_server_raftmetrics_"
CONTROLLER = "kafka_controller_kafkacontroller_"
EVENTS = "kafka_controller_controllereventmanager_"
PROCESSOR = "quorate_request_processor_seconds_total"
REQUESTS = "kafka_network_requestmetrics_"
SAID = ("request", "allowed", "denied")
STATS = "kafka_controller_controllerstats_"

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
    ask(node, request, 2)


def ask(node: NodeProcess, request: Message, version: int) -> Message:
    """On a connection of its own."""
    with socket.create_connection(("127.0.0.1", node.port), 10) as connection:
        connection.sendall(encode_request(request, version, 1, "t"))
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + struct.unpack(">i", answer[:4])[0]:
            piece = connection.recv(1 << 16)
            assert piece, "the connection was closed"
            answer += piece
    assert request.KEY is not None
    return decode_response(answer[4:], request.KEY, version).body


def heartbeat(node: NodeProcess, epoch: int, *, fence: bool) -> None:
    """As a broker that has read everything."""
    asked = BrokerHeartbeatRequest(broker_id=21, broker_epoch=epoch, current_metadata_offset=1 << 40, want_fence=fence)
    told = ask(node, asked, 1)
    assert isinstance(told, BrokerHeartbeatResponse)
    assert (told.error_code, told.is_fenced) == (0, fence)


def test_elections_of_partition_leaders_are_counted_by_who_won(tmp_path: Path) -> None:
    """A broker that was away is elected from the ELR; one that came back from a crash as the last known leader, which
    may lack records.
    """
    with Cluster(tmp_path, controllers=1, extra={"broker.session.timeout.ms": "2000"}) as cluster:
        cluster.start()
        node = cluster.wait_for_leader()
        epoch = registered(node, incarnation=1)
        heartbeat(node, epoch, fence=False)
        topics = (topic("lossy", "true"), topic("safe", "false"))
        created = ask(node, CreateTopicsRequest(topics=topics), 7)
        assert isinstance(created, CreateTopicsResponse)
        assert {one.error_message for one in created.topics} == {None}
        assert elections(node) == (0, 0)
        heartbeat(node, epoch, fence=True)
        heartbeat(node, epoch, fence=False)
        assert elections(node) == (0, 2)
        epoch = eventually("its session is over", lambda: registered(node, incarnation=2))
        heartbeat(node, epoch, fence=False)
        assert elections(node) == (2, 2)


def registered(node: NodeProcess, incarnation: int) -> int:
    """Its epoch; 0 when it is refused."""
    told = ask(node, World().registration(21, incarnation, cluster_id=CLUSTER_ID), 4)
    assert isinstance(told, BrokerRegistrationResponse)
    return 0 if told.error_code else told.broker_epoch


def topic(name: str, unclean: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=(CreatableReplicaAssignment(partition_index=0, broker_ids=(21,)),),
        configs=(CreatableTopicConfig(name="unclean.leader.election.enable", value=unclean),),
    )


def elections(node: NodeProcess) -> tuple[float, float]:
    """Unclean ones, and those from the eligible leader replicas."""
    seen = metrics(node)
    return (
        seen[STATS + "uncleanleaderelectionspersec_count"],
        seen[STATS + "electionfromeligibleleaderreplicaspersec_count"],
    )


def test_every_value_is_provoked_and_dashboard_and_rules_find_what_they_ask_for(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=3, brokers=1) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        cluster.wait_until_unfenced()
        follower = next(node for node in cluster.controller_nodes if node is not leader)
        broker = cluster.broker_nodes[0]

        metrics(leader)
        metrics(broker)
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
        assert led[CONTROLLER + "activecontrollercount"] == 1
        assert led[CONTROLLER + "newactivecontrollerscount"] >= 1
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
        busy = becomes(follower, "asks on", lambda m: m[channel + "response_rate"] > 0)
        assert busy[channel + "request_rate"] > 0
        assert busy[channel + "request_total"] >= busy[channel + "response_total"] > 0
        assert busy[channel + "network_io_total"] > busy[channel + "request_total"]
        assert busy[channel + "request_size_max"] >= busy[channel + "request_size_avg"] > 20
        assert busy[channel + "outgoing_byte_total"] > 20 * busy[channel + "request_total"]
        assert min(busy[channel + "incoming_byte_total"], busy[channel + "incoming_byte_rate"]) > 0
        assert RAFT + "number_of_observers" not in followed
        becomes(follower, "applies", lambda m: m[CONTROLLER + "lastappliedrecordoffset"] > 3)
        assert followed[CONTROLLER + "lastappliedrecordtimestamp"] > 1_600_000_000_000
        assert followed[CONTROLLER + "lastappliedrecordlagms"] < 60_000

        malformed_vote(follower)
        refused = (
            'kafka_network_requestmetrics_errorspersec_count{request="Vote",error="INVALID_REQUEST",role="controller"}'
        )
        assert metrics(follower)[refused] == 1

        ask(broker, MetadataRequest(), 12)
        asked_for = MetadataRequest(topics=(MetadataRequestTopic(name="x y"),), allow_auto_topic_creation=False)
        ask(broker, asked_for, 12)
        served = metrics(broker)
        assert served[REQUESTS + 'requestspersec_count{request="Metadata",version="12",role="broker"}'] == 2
        invalid = 'errorspersec_count{request="Metadata",error="INVALID_TOPIC_EXCEPTION",role="broker"}'
        assert served[REQUESTS + invalid] == 1
        assert served[PROCESSOR + '{request="Metadata",role="broker"}'] > 0
        assert {name for name in served if 'role="controller"' in name} == set(), "it serves nothing of a controller"
        fetches = PROCESSOR + '{request="Fetch",role="controller"}'
        becomes(leader, "answers its followers", lambda m: m[fetches] > 0)
        assert served[RAFT + 'current_state{current_state="observer"}'] == 1
        assert served["kafka_server_brokermetadatametrics_last_applied_record_offset"] > 0
        sizes = "kafka_server_brokermetadatalistener_metadatabatchsizes"
        assert served[sizes + "_count"] > 2
        assert served[sizes + "_max"] > 4 > served[sizes + '{quantile="0.5"}'], "the bootstrap records, and single ones"

        batches = "kafka_server_brokermetadatametrics_"
        assert served[batches + "record_batch_size_byte_max"] > served[batches + "record_batch_size_byte_avg"] > 60
        replayed = becomes(broker, "replays", lambda m: m[batches + "pending_record_processing_time_us_avg"] > 0)
        assert replayed[batches + "pending_record_processing_time_us_max"] > 0
        assert replayed["kafka_controller_kafkaserver_metadatalag"] >= 0
        led = becomes(leader, "commits", lambda m: m[CONTROLLER + "metadatacommitratepersec"] > 0)
        assert led[CONTROLLER + "metadatacommitlatencyms_max"] >= led[CONTROLLER + "metadatacommitlatencyms"] > 0
        assert led[CONTROLLER + "metadatasnapshotoffsetlag"] > 3, "there is no snapshot yet"
        assert led[CONTROLLER + "metadatalag"] >= 0

        shown = {name.partition("{")[0] for one in (leader, follower, broker) for name in metrics(one)}
        asked = names_in(MONITORING / "rules.yaml") | names_in(MONITORING / "dashboard.json")
        assert len(asked) > 30
        assert asked - shown == set()

        ended = metrics(follower)[channel + "connection_close_total"]
        survivors = [node for node in cluster.controller_nodes if node is not leader]
        known = {node.node_id: metrics(node)[CONTROLLER + "newactivecontrollerscount"] for node in survivors}
        leader.kill()
        for node in survivors:
            known_of_it = known[node.node_id]
            becomes(
                node,
                "learns of the next leader",
                lambda m, known=known_of_it: m[CONTROLLER + "newactivecontrollerscount"] > known,  # type: ignore[misc]
            )
        becomes(follower, "lost its connections", lambda m: m[channel + "connection_close_total"] > ended)
        becomes(follower, "made others", lambda m: m[channel + "connection_creation_rate"] > 0)


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


def test_what_the_authorizer_says_is_measured(tmp_path: Path) -> None:
    """As a plugin of Apache Kafka's (KIP-877), in the names that its JMX exporter gives."""
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    settings = {"authorizer.class.name": authorizer, "super.users": "User:admin"}
    with Cluster(tmp_path, controllers=1, extra=settings) as cluster:
        cluster.start()
        (node,) = cluster.controller_nodes
        becomes(node, "leads", lambda found: found.get(CONTROLLER + "activecontrollercount") == 1)
        refused = ask(node, CreateTopicsRequest(topics=(topic("theirs", "true"),)), 7)
        assert isinstance(refused, CreateTopicsResponse)
        assert refused.topics[0].error_code == 29
        whose = '{class="StandardAuthorizer",config="authorizer.class.name",role="controller"}'
        rate = {said: f"kafka_server_plugins_authorization_{said}_rate_per_minute{whose}" for said in SAID}
        found = becomes(node, "denied", lambda found: found.get(rate["denied"], 0) > 0)
        assert found[rate["allowed"]] == 0
        assert found[rate["request"]] == found[rate["denied"]]
        assert found[f"kafka_server_plugins_acls_total_count{whose}"] == 0
