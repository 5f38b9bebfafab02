"""Levels of loggers change on a running node, at once, through a broker's listener and through a controller's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.configs.questions import DELETE, LOGGER, NODE_ID, SET, Asker, alter, answer_of, describe, one
from support.nodes.processes import Cluster, eventually, free_ports

pytestmark = pytest.mark.integration

DRIVER = "controller_runtime.server.shell.driver"


def levels(asker: Asker, listener: str, node: int) -> dict[str, str]:
    answer: Any = answer_of(asker.ask(describe(listener, (LOGGER, str(node)))))
    return {row[0]: row[1] for row in answer[0][4]}


def change(asker: Asker, listener: str, node: int, level: str | None) -> None:
    operation = SET if level is not None else DELETE
    answer: Any = answer_of(asker.ask(alter(listener, one(LOGGER, str(node), DRIVER, level, operation))))
    assert [row[2] for row in answer] == [0]


def lines(log: str) -> int:
    return sum(" DEBUG " in line for line in log.splitlines())


@pytest.mark.parametrize("listener", ["b", "c"])
def test_a_node_traces_from_the_change_on_until_the_next(tmp_path: Path, listener: str) -> None:
    with Cluster(tmp_path) as cluster:
        node, (port,) = cluster.nodes[NODE_ID], free_ports(1)
        node.properties["process.roles"] = "broker,controller"
        node.properties["listeners"] += f",PLAINTEXT://127.0.0.1:{port}"
        cluster.start()
        cluster.wait_until_unfenced()
        asker = Asker(port, node.port)
        assert levels(asker, listener, NODE_ID)[DRIVER] == "INFO"
        assert lines(node.log()) == 0
        change(asker, listener, NODE_ID, "DEBUG")
        assert levels(asker, listener, NODE_ID)[DRIVER] == "DEBUG"
        eventually("events and effects are logged", lambda: lines(node.log()) > 5)
        change(asker, listener, NODE_ID, None)
        assert levels(asker, listener, NODE_ID)[DRIVER] == "INFO"
        before = lines(node.log())
        for _ in range(5):
            levels(asker, listener, NODE_ID)
        assert lines(node.log()) == before
        asker.close()
