"""SEC-11, ACL-02: with an authorizer, a broker's port accepts nobody until its log, and so every ACL, is known."""

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


@pytest.mark.parametrize(
    ("more", "early"),
    [(AUTHORIZER, False), (AUTHORIZER | {"early.start.listeners": "PLAINTEXT"}, True), ({}, True)],
    ids=["waits", "early", "no authorizer"],
)
def test_a_port_opens_when_it_is_known_who_may_what(tmp_path: Path, more: dict[str, str], early: bool) -> None:
    """The controller comes late; its own listener is an early one."""
    with Cluster(tmp_path, 1, 1, extra=more) as cluster:
        (controller,), (broker,) = cluster.controller_nodes, cluster.broker_nodes
        if early and more:
            controller.properties.pop("early.start.listeners")
        cluster.format()
        broker.start()
        broker.wait_for_log("Kafka Server started")
        assert accepts(broker) is early
        controller.start()
        controller.wait_for_log("Kafka Server started")
        eventually("the controller listens", lambda: accepts(controller))
        cluster.wait_until_unfenced()
        eventually("the broker accepts", lambda: accepts(broker))
        assert ("the ACLs are known" in broker.log()) is not early
