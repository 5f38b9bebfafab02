"""`kafka-cluster` against processes of ours: a broker that is gone is shown as fenced, unregistered, and
then unknown.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.nodes.processes import Cluster, NodeProcess, eventually, kraft

pytestmark = pytest.mark.integration


def rows(*arguments: str) -> list[list[str]]:
    done = kraft("cluster", "list-endpoints", *arguments)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()[1:]]


def row(broker: NodeProcess, state: str) -> list[str]:
    return [str(broker.node_id), "127.0.0.1", str(broker.port), "null", state, "broker"]


def test_a_broker_that_left_is_listed_as_fenced_unregistered_and_then_unknown(tmp_path: Path) -> None:
    with Cluster(tmp_path, brokers=2) as cluster:
        cluster.start()
        cluster.wait_until_unfenced()
        stays, leaves = cluster.broker_nodes
        servers = ("--bootstrap-server", str(stays.endpoint))
        eventually("both are listed", lambda: rows(*servers) == [row(stays, "unfenced"), row(leaves, "unfenced")])
        assert leaves.stop() == 0
        eventually("one is left out", lambda: rows(*servers) == [row(stays, "unfenced")])
        assert rows(*servers, "--include-fenced-brokers") == [row(stays, "unfenced"), row(leaves, "fenced")]

        unregister = ("cluster", "unregister", *servers, "--id", str(leaves.node_id))
        done = kraft(*unregister)
        assert (done.returncode, done.stdout) == (0, f"Broker {leaves.node_id} is no longer registered.\n"), done.stderr
        eventually(
            "it is unknown", lambda: rows(*servers, "--include-fenced-brokers") == [row(stays, "unfenced")]
        )  # the broker's image follows the controller's
        again = kraft(*unregister)
        assert again.returncode == 1
        assert f"BrokerIdNotRegisteredException: Broker ID {leaves.node_id} is not currently registered" in again.stderr
