"""The same questions about configurations to a running Apache Kafka and to a node of ours, both in both roles: the same
answers.

`support.configs.questions` asks; the recorded answers of all its questions are compared in `tests/conformance`, here
the story of every shape of request and a sample of the values are put to both.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from controller_runtime.metadata.config_values import MAX_SHOWN
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
from support.configs.questions import (
    CLIENT,
    GROUP,
    NODE_ID,
    TOPIC,
    Asker,
    Question,
    answer_of,
    java_node,
    make_topic,
    shown,
    story,
    values,
)
from support.configs.world import is_deviation
from support.nodes.processes import Cluster, NodeProcess, free_ports
from support.sampling import run_seed

pytestmark = [pytest.mark.interop, pytest.mark.slow]

VALUES = 500
PATIENCE_S = 30.0


class Pair(NamedTuple):
    java: Asker
    ours: Asker
    port: int
    """Of our broker's listener."""
    node: NodeProcess


@pytest.fixture(scope="module")
def both(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Kafka's node and ours, each with id 1 and the topic that is asked about."""
    directory = tmp_path_factory.mktemp("differential")
    node, broker, controller = java_node(directory)
    try:
        with Cluster(directory / "ours") as cluster:
            ours = cluster.nodes[NODE_ID]
            (port,) = free_ports(1)
            ours.properties["process.roles"] = "broker,controller"
            ours.properties["listeners"] += f",PLAINTEXT://127.0.0.1:{port}"
            cluster.start()
            cluster.wait_until_unfenced()
            node.wait_for_log("Kafka Server started")
            pair = Pair(Asker(broker, controller), Asker(port, ours.port), port, ours)
            make_topic(pair.java)
            make_topic(pair.ours)
            yield pair
            pair.java.close()
            pair.ours.close()
    finally:
        node.stop()


def essence(answer: Any) -> Any:
    """Codes always; words where they are no Java exception's and none are cut."""
    rows = json.loads(json.dumps(answer))
    return [row if row[0] in (TOPIC, GROUP, CLIENT) and not is_long(row) else row[:3] + row[4:] for row in rows]


def is_long(row: list[Any]) -> bool:
    return isinstance(row[3], int) or len(row[3] or "") > MAX_SHOWN


def differs(pair: Pair, question: Question) -> tuple[Any, Any] | None:
    """What both answered, where that is not the same. A description of Kafka's may be some milliseconds old."""
    ours = answer_of(pair.ours.ask(question))
    deadline = time.monotonic() + PATIENCE_S
    while essence(java := answer_of(pair.java.ask(question))) != essence(ours):
        if not isinstance(question.body, DescribeConfigsRequest) or time.monotonic() > deadline:
            return java, ours
        time.sleep(0.1)
    return None


def test_requests_of_every_shape_have_the_same_answers_from_both(both: Pair) -> None:
    asked = list(story())
    assert len(asked) > 300
    wrong = [(q.listener, q.version, shown(q.body), found) for q in asked if (found := differs(both, q)) is not None]
    assert wrong == []


def test_values_of_the_names_of_kafka_have_the_same_answers_from_both(
    both: Pair, sampled: Callable[[str], None]
) -> None:
    chosen = random.Random(run_seed()).sample(list(values()), VALUES)
    sampled(f"{VALUES} values of configurations, of seed {run_seed()}")
    wrong = []
    for question in chosen:
        found = differs(both, question)
        if found is not None and not is_deviation(question, *found):
            wrong.append((question.listener, shown(question.body), found))
    assert wrong == []
