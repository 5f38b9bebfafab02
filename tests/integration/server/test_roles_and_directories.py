"""Roles, listeners and directories of a process, as its configuration says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import NewTopic, TopicDescription
from controller_runtime.identifiers import Endpoint, NodeId, Uuid
from support.nodes.processes import CLUSTER_ID, Cluster, NodeProcess, eventually, free_ports

pytestmark = pytest.mark.integration


def combined(directory: Path) -> tuple[Cluster, NodeProcess]:
    """One process with both roles, two controller listeners, a metadata directory and two log directories."""
    cluster = Cluster(directory)
    node = cluster.nodes[1]
    second, plain = free_ports(2)
    home = directory / "node-1"
    node.properties |= {
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER,SECOND",
        "listeners": f"CONTROLLER://127.0.0.1:{node.port},SECOND://127.0.0.1:{second},PLAINTEXT://127.0.0.1:{plain}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SECOND:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": f"{home / 'a'},{home / 'b'}",
        "metadata.log.dir": str(home / "m"),
        "broker.rack": "rack-7",
        "num.network.threads": "4",
        "unknown.name": "x",
    }
    return cluster, node


def port_of(node: NodeProcess, listener: str) -> int:
    listeners = dict(one.split("://127.0.0.1:") for one in node.properties["listeners"].split(","))
    return int(listeners[listener])


async def make_topics(servers: str, count: int) -> None:
    async with AdminClient(bootstrap_servers=servers) as admin:
        made = await admin.create_topics([NewTopic(f"t{number}", 1, 1) for number in range(count)])
        assert all(isinstance(one, Uuid) for one in made.values()), made


async def leaders(servers: str) -> set[int]:
    async with AdminClient(bootstrap_servers=servers) as admin:
        found = await admin.describe_topics()
    return {one.leader for topic in found.values() if isinstance(topic, TopicDescription) for one in topic.partitions}


def test_both_roles_in_one_process_with_all_its_directories_and_listeners(tmp_path: Path) -> None:
    cluster, node = combined(tmp_path)
    with cluster:
        node.format("--standalone")
        node.wrapper = ("prlimit", "--nofile=300:4096")
        node.start()
        eventually("it is ready", lambda: node.http("/readyz")[0] == 200)
        servers = f"127.0.0.1:{port_of(node, 'PLAINTEXT')}"
        asyncio.run(make_topics(servers, 4))
        eventually("the partitions have their leader", lambda: asyncio.run(leaders(servers)) == {1})
        home = tmp_path / "node-1"

        def partitions() -> dict[str, int]:
            return {name: len(list((home / name).glob("t*-0"))) for name in ("a", "b", "m")}

        eventually(
            "partitions lie in both log directories, none beside the metadata",
            lambda: partitions() == {"a": 2, "b": 2, "m": 0},
        )
        assert (home / "m" / "__cluster_metadata-0").is_dir()
        assert not (home / "a" / "__cluster_metadata-0").exists()
        leads = "kafka_server_replicamanager_leadercount 4\n"
        eventually("their logs are open, so it leads them", lambda: leads in node.http("/metrics")[1])
        metrics = node.http("/metrics")[1]
        assert "kafka_controller_kafkacontroller_activecontrollercount 1\n" in metrics
        assert 'kafka_server_raftmetrics_current_state{current_state="leader"} 1\n' in metrics
        log = node.log()
        assert "num.network.threads is ignored: " in log
        assert "unknown.name is not a known configuration, it is ignored" in log
        limits = Path(f"/proc/{node.pid}/limits").read_text()
        soft, hard = next(line for line in limits.splitlines() if line.startswith("Max open files")).split()[3:5]
        assert soft == hard, "a node may open as many files as the system allows"
        assert node.stop() == 0


def test_every_controller_listener_answers_with_the_addresses_of_its_own_kind(tmp_path: Path) -> None:
    cluster, node = combined(tmp_path)

    async def seen_at(port: int) -> Endpoint:
        async with AdminClient(bootstrap_controllers=f"127.0.0.1:{port}", timeout_seconds=10) as admin:
            return (await admin.describe_cluster()).nodes[0].endpoint

    with cluster:
        node.format("--standalone")
        node.start()
        eventually("it is ready", lambda: node.http("/readyz")[0] == 200)
        for listener in ("CONTROLLER", "SECOND"):
            assert asyncio.run(seen_at(port_of(node, listener))) == Endpoint("127.0.0.1", port_of(node, listener))
        voters = eventually("the voter's listeners are known", lambda: cluster.quorum().endpoints[NodeId(1)])
        assert voters["CONTROLLER"] == node.endpoint


def test_the_rack_and_the_endpoint_of_a_broker_are_what_it_was_told_to_say(tmp_path: Path) -> None:
    with Cluster(tmp_path, brokers=1) as cluster:
        broker = cluster.nodes[11]
        broker.properties |= {"broker.rack": "rack-1", "advertised.listeners": f"PLAINTEXT://localhost:{broker.port}"}
        cluster.start()
        cluster.wait_until_unfenced()

        async def described() -> tuple[str | None, Endpoint]:
            async with AdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
                found = (await admin.describe_cluster()).nodes[0]
                return found.rack, found.endpoint

        assert asyncio.run(described()) == ("rack-1", Endpoint("localhost", broker.port))


def test_a_second_broker_with_the_same_id_stays_out_and_the_first_serves_on(tmp_path: Path) -> None:
    with Cluster(tmp_path / "first", brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        twin = Cluster(tmp_path / "twin", brokers=1).nodes[11]
        twin.properties["controller.quorum.bootstrap.servers"] = cluster.bootstrap_controllers
        twin.format()
        twin.start()
        try:
            twin.wait_for_log("DUPLICATE_BROKER_REGISTRATION", 60)
            assert twin.http("/readyz")[0] != 200
            eventually("the first serves on", lambda: cluster.nodes[11].http("/readyz")[0] == 200)
        finally:
            twin.kill()


def test_a_broker_asked_to_stop_leaves_under_control_and_is_fenced_at_once(tmp_path: Path) -> None:
    with Cluster(tmp_path, brokers=1) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        controller = cluster.nodes[1]
        assert "kafka_controller_kafkacontroller_activebrokercount 1\n" in controller.http("/metrics")[1]
        broker = cluster.nodes[11]
        assert broker.stop() == 0
        assert "kafka_controller_kafkacontroller_fencedbrokercount 1\n" in controller.http("/metrics")[1]
        mark = json.loads(Path(broker.properties["log.dirs"], ".kafka_cleanshutdown").read_text())
        assert mark["version"] == 0
        assert mark["brokerEpoch"] >= 0


def test_the_log_is_json_when_asked_for(tmp_path: Path) -> None:
    with Cluster(tmp_path, extra={"quorate.log.format": "json"}) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        entries = [json.loads(line) for line in cluster.nodes[1].log().splitlines()]
        assert {"time", "level", "logger", "message"} <= set(entries[0])
        assert any(
            entry["message"].startswith(f"Kafka Server started: node 1, cluster {CLUSTER_ID}") for entry in entries
        )
