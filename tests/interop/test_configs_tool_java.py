"""Kafka's own kafka-configs changes groups and client metrics of ours, which survive a restart.

It describes neither: for that it lists groups (ListGroups) and subscriptions (ListConfigResources) first, which are not
served yet.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.config_questions import CLIENT, GROUP, Asker, answer_of, describe
from support.java_kafka import run_tool
from support.processes import Cluster, eventually, free_ports

pytestmark = [pytest.mark.interop, pytest.mark.slow]


def test_groups_and_client_metrics_are_changed_by_kafka_s_tool_and_survive_a_restart(java: str, tmp_path: Path) -> None:
    assert java
    with Cluster(tmp_path) as cluster:
        node, (port,) = cluster.nodes[1], free_ports(1)
        node.properties["process.roles"] = "broker,controller"
        node.properties["listeners"] += f",PLAINTEXT://127.0.0.1:{port}"
        cluster.start()
        cluster.wait_until_unfenced()

        def alter(kind: str, name: str, *words: str) -> None:
            who = ("--bootstrap-server", f"127.0.0.1:{port}", "--entity-type", kind, "--entity-name", name)
            said = run_tool("kafka-configs", *who, "--alter", *words, timeout_s=180.0)
            assert said.rc == 0, said.err + said.out

        alter("groups", "g", "--add-config", "consumer.session.timeout.ms=50000,share.isolation.level=read_committed")
        alter("groups", "g", "--delete-config", "share.isolation.level")
        alter("client-metrics", "all", "--add-config", "interval.ms=1000,match=[client_id=x],metrics=[a.,b.]")
        node.kill()
        node.start()
        eventually("it serves again", lambda: node.http("/readyz")[0] == 200)
        asker = Asker(port, node.port)
        answer: Any = answer_of(asker.ask(describe("b", (GROUP, "g"), (CLIENT, "all"))))
        asker.close()
        set_here = [{row[0]: row[1] for row in found[4] if row[3] in (7, 8)} for found in answer]
        assert set_here == [
            {"consumer.session.timeout.ms": "50000"},
            {"interval.ms": "1000", "match": "client_id=x", "metrics": "a.,b."},
        ]
