"""Kafka's own kafka-configs changes groups and client metrics of ours, which survive a restart, and describes them and
nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.apache_kafka.java_kafka import run_tool
from support.configs.questions import CLIENT, GROUP, Asker, answer_of, describe
from support.nodes.processes import Cluster, eventually, free_ports

DRIVER = "controller_runtime.server.shell.driver"
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
        where = ("--bootstrap-server", f"127.0.0.1:{port}", "--describe")
        said = run_tool("kafka-configs", *where, "--entity-type", "client-metrics", timeout_s=180.0)
        assert (said.rc, said.err) == (0, "")
        assert "Dynamic configs for client-metric all are:" in said.out
        assert "interval.ms=1000 sensitive=false synonyms={DYNAMIC_CLIENT_METRICS_CONFIG:interval.ms=1000" in said.out
        said = run_tool("kafka-configs", *where, "--broker", "1", "--all", timeout_s=180.0)
        assert (said.rc, said.err) == (0, "")
        assert "  num.io.threads=8 sensitive=false synonyms={DEFAULT_CONFIG:num.io.threads=8}" in said.out
        loggers = ("--entity-type", "broker-loggers", "--entity-name", "1")
        for bootstrap in (
            ("--bootstrap-server", f"127.0.0.1:{port}"),
            ("--bootstrap-controller", f"127.0.0.1:{node.port}"),
        ):
            level = ("--alter", "--add-config", f"{DRIVER}=TRACE")
            said = run_tool("kafka-configs", *bootstrap, *loggers, *level, timeout_s=180.0)
            assert (said.rc, said.out) == (0, "Completed updating config for broker-logger 1.\n"), said
            said = run_tool("kafka-configs", *bootstrap, *loggers, "--describe", timeout_s=180.0)
            assert said.rc == 0, said
            assert f"  {DRIVER}=TRACE sensitive=false synonyms={{}}" in said.out, said.out
            said = run_tool(
                "kafka-configs", *bootstrap, *loggers, "--alter", "--delete-config", DRIVER, timeout_s=180.0
            )
            assert said.rc == 0, said
        asker = Asker(port, node.port)
        answer: Any = answer_of(asker.ask(describe("b", (GROUP, "g"), (CLIENT, "all"))))
        asker.close()
        set_here = [{row[0]: row[1] for row in found[4] if row[3] in (7, 8)} for found in answer]
        assert set_here == [
            {"consumer.session.timeout.ms": "50000"},
            {"interval.ms": "1000", "match": "client_id=x", "metrics": "a.,b."},
        ]
