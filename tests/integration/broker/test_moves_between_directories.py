"""A broker process whose replicas are moved between its log directories by the tool while they are written to, and that
is killed meanwhile: nothing acknowledged is lost.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller_runtime.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from controller_runtime.protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from support.clients.client_requests import fetch, produce, values
from support.nodes.processes import Cluster, NodeProcess, eventually, kraft
from support.nodes.strangers import ask

pytestmark = pytest.mark.integration

BROKER = 11


def write(broker: NodeProcess, value: bytes) -> bool:
    answer = ask(broker, produce("orders", value, timeout_ms=10_000), 9)
    assert isinstance(answer, ProduceResponse)
    return answer.responses[0].partition_responses[0].error_code == 0


def read(broker: NodeProcess) -> list[bytes | None]:
    found: list[bytes | None] = []
    while True:
        answer = ask(broker, fetch("orders", len(found)), 12)
        assert isinstance(answer, FetchResponse)
        if not (new := values(answer)):
            return found
        found += new


def places(broker: NodeProcess) -> list[tuple[str, bool]]:
    """Where the tool says that the replica lies, and whether as a copy."""
    answer = ask(broker, DescribeLogDirsRequest(topics=None), 4)
    assert isinstance(answer, DescribeLogDirsResponse)
    return [
        (Path(each.log_dir).name, one.is_future_key)
        for each in answer.results
        for topic in each.topics
        if topic.name == "orders"
        for one in topic.partitions
    ]


def test_a_replica_is_moved_by_the_tool_and_kills_on_the_way_lose_nothing(tmp_path: Path) -> None:
    """DIR-05, DIR-09."""
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        broker = cluster.nodes[BROKER]
        broker.properties["log.dirs"] = f"{broker.directory}/disk0,{broker.directory}/disk1"
        cluster.start()
        cluster.wait_until_unfenced()
        where = ("--bootstrap-server", str(broker.endpoint))
        assert kraft("topics", *where, "--create", "--topic", "orders", "--partitions", "1").returncode == 0
        eventually("it is led", lambda: write(broker, b"begin"))
        written = [b"begin"]

        def moves(disk: str) -> None:
            plan = tmp_path / "plan.json"
            row = {"topic": "orders", "partition": 0, "replicas": [BROKER], "log_dirs": [f"{broker.directory}/{disk}"]}
            plan.write_text(json.dumps({"version": 1, "partitions": [row]}))
            done = kraft("reassign-partitions", *where, "--execute", "--reassignment-json-file", str(plan))
            assert done.returncode == 0, done.stderr

        ((first, _),) = places(broker)
        other = {"disk0": "disk1", "disk1": "disk0"}
        for turn, kills in enumerate((False, True, True)):
            for number in range(50):
                written.append(b"%d %d" % (turn, number))
                assert write(broker, written[-1])
            target = other[first]
            moves(target)
            if kills:
                broker.kill()
                broker.start()
                cluster.wait_until_unfenced()
                eventually("it is led", lambda turn=turn: write(broker, b"after kill %d" % turn))  # type: ignore[misc]
                written.append(b"after kill %d" % turn)
            eventually("it is there, or stays", lambda: len(places(broker)) == 1)
            ((first, is_copy),) = places(broker)
            assert not is_copy
            assert kills or first == target
            assert read(broker) == written
        found = [path.name for disk in other for path in (broker.directory / disk).glob("orders-0*")]
        assert [name for name in found if not name.endswith(("-delete", "-stray"))] == ["orders-0"]
