"""SEC-11, ACL-02: a broker's port accepts nobody before it has caught up with the metadata, and so knows every ACL; a
controller's with an authorizer waits for the ACLs unless it is an early one.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from support.nodes.processes import Cluster, NodeProcess, eventually

pytestmark = pytest.mark.integration

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def accepts(node: NodeProcess) -> bool:
    try:
        socket.create_connection(("127.0.0.1", node.port), 5).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("more", [{}, AUTHORIZER], ids=["no authorizer", "authorizer"])
def test_a_broker_accepts_nobody_before_it_has_caught_up(tmp_path: Path, more: dict[str, str]) -> None:
    """Its controller comes late, and again when the broker has a log of its own."""
    with Cluster(tmp_path, 1, 1, extra=more) as cluster:
        (controller,), (broker,) = cluster.controller_nodes, cluster.broker_nodes
        cluster.format()
        for _ in range(2):
            seen = len(broker.log())
            broker.start()
            eventually("the broker's probes", lambda: broker.http("/livez")[0] == 200)
            assert "its listeners accept nobody yet" in broker.http("/readyz")[1]
            assert not accepts(broker)
            assert "Kafka Server started" not in broker.log()[seen:]
            controller.start()
            eventually("the broker is ready", lambda: broker.http("/readyz")[0] == 200)
            assert accepts(broker)
            assert "Kafka Server started" in broker.log()[seen:]
            assert broker.stop() == 0
            assert controller.stop() == 0


@pytest.mark.parametrize(("early", "opens"), [("CONTROLLER", True), ("", False)], ids=["early", "late"])
def test_a_controllers_listener_opens_as_the_file_says(tmp_path: Path, early: str, opens: bool) -> None:
    """One of three: without a majority no ACL is known."""
    with Cluster(tmp_path, 3, extra=AUTHORIZER | {"early.start.listeners": early}) as cluster:
        cluster.format()
        node = cluster.controller_nodes[0]
        node.start()
        eventually("the controller's probes", lambda: node.http("/livez")[0] == 200)
        assert accepts(node) is opens
        assert node.http("/readyz")[0] == 503
