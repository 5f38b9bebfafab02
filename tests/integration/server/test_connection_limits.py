"""The bounds on connections change on a running node: for itself, for all nodes, for one of its listeners; on the
broker's listener and on the controller's.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from support.configs.questions import BROKER, DELETE, NODE_ID, SET, Asker, alter, answer_of, one
from support.nodes.processes import Cluster, eventually, free_ports

pytestmark = pytest.mark.integration

OVERRIDES = "max.connections.per.ip.overrides"
OF_LISTENER = "listener.name.plaintext.max.connections"
ADDRESS = "127.0.0.2"


@contextmanager
def running(path: Path, **file: str) -> Iterator[tuple[Asker, int, int]]:
    with Cluster(path) as cluster:
        node, (port,) = cluster.nodes[NODE_ID], free_ports(1)
        node.properties["process.roles"] = "broker,controller"
        node.properties["listeners"] += f",PLAINTEXT://127.0.0.1:{port}"
        node.properties.update({name.replace("_", "."): value for name, value in file.items()})
        cluster.start()
        cluster.wait_until_unfenced()
        asker = Asker(port, node.port)
        yield asker, port, node.port
        asker.close()


def change(asker: Asker, resource: str, name: str, value: str | None, listener: str = "b") -> None:
    asked = alter(listener, one(BROKER, resource, name, value, SET if value is not None else DELETE))
    answer: Any = answer_of(asker.ask(asked))
    assert [row[2] for row in answer] == [0], answer


def connect(port: int) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(ADDRESS, 0))
    found.sendall(encode_request(ApiVersionsRequest(), 0, 7, "asks"))
    return found


def answered(connection: socket.socket) -> bool:
    """False: it was closed instead."""
    try:
        size = connection.recv(4)
        return bool(size) and bool(connection.recv(struct.unpack(">i", size)[0]))
    except ConnectionError:
        return False


def served(port: int) -> int:
    """How many connections of one address are answered, of five."""
    connections = [connect(port) for _ in range(5)]
    try:
        return sum([answered(each) for each in connections])
    finally:
        for each in connections:
            each.close()


def until_served(port: int, many: int) -> None:
    eventually(f"{many} are served", lambda: served(port) == many)


def test_one_address_has_as_many_connections_as_was_said_last(tmp_path: Path) -> None:
    with running(tmp_path) as (asker, *ports):
        for port in ports:
            assert served(port) == 5
        change(asker, "", OVERRIDES, f"{ADDRESS}:3")
        for port in ports:
            until_served(port, 3)
        change(asker, str(NODE_ID), OVERRIDES, f"10.0.0.1:9,{ADDRESS}:1", "c")
        for port in ports:
            until_served(port, 1)
        change(asker, str(NODE_ID), OVERRIDES, None)
        for port in ports:
            until_served(port, 3)


def test_a_listener_lets_no_more_in_than_it_may_have_and_the_file_says_what_holds_at_first(tmp_path: Path) -> None:
    with running(tmp_path, max_connections_per_ip_overrides=f"{ADDRESS}:4") as (asker, port, controller_port):
        assert served(port) == served(controller_port) == 4
        change(asker, str(NODE_ID), OF_LISTENER, "2")  # one is the asker's
        first = connect(port)
        assert answered(first)
        waiting = connect(port)
        waiting.settimeout(0.5)
        with pytest.raises(TimeoutError):
            answered(waiting)
        waiting.settimeout(30)
        eventually("the controller's listener has its own", lambda: served(controller_port) == 4)
        first.close()
        assert answered(waiting)
        waiting.close()


def test_connections_are_made_no_faster_than_was_said_last(tmp_path: Path) -> None:
    """SEC-09: a burst is let in, the others wait one after another; those of another listener do not."""
    with running(tmp_path) as (asker, port, controller_port):
        change(asker, str(NODE_ID), "listener.name.plaintext.max.connection.creation.rate", "1")
        eventually("it holds", lambda: not at_once(port))
        assert at_once(controller_port)
        change(asker, str(NODE_ID), "listener.name.plaintext.max.connection.creation.rate", None)
        eventually("it does not hold any more", lambda: at_once(port))


def at_once(port: int) -> bool:
    """Whether the last of many is answered as soon as the first; in the end all are."""
    connections = [connect(port) for _ in range(14)]
    connections[-1].settimeout(0.5)
    try:
        soon = answered(connections[-1])
    except TimeoutError:
        soon = False
        connections[-1].settimeout(30)
        assert answered(connections[-1])
    for each in connections:
        each.close()
    return soon
