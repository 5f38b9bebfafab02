"""A running node of ours in both roles is asked, over its sockets, what Apache Kafka was asked: the recorded answers
are its answers.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from support.configs.questions import (
    BROKER,
    NODE_ID,
    RECORDED,
    Asker,
    alter,
    answer_of,
    make_topic,
    one,
    several,
    story,
)
from support.nodes.processes import Cluster, eventually, free_ports

pytestmark = pytest.mark.integration


def codes(answer: Any) -> Any:
    return [row[:3] + row[4:] for row in json.loads(json.dumps(answer))]


def test_a_running_node_answers_as_java_did_and_says_what_it_cannot_honour(tmp_path: Path) -> None:
    with gzip.open(RECORDED / "story.jsonl.gz", "rt") as lines:
        recorded = [json.loads(line)[3] for line in lines]
    with Cluster(tmp_path) as cluster:
        node, (port,) = cluster.nodes[NODE_ID], free_ports(1)
        node.properties["process.roles"] = "broker,controller"
        node.properties["listeners"] += f",PLAINTEXT://127.0.0.1:{port}"
        cluster.start()
        cluster.wait_until_unfenced()
        asker = Asker(port, node.port)
        make_topic(asker)
        wrong = []
        for question, java in zip(story(), recorded, strict=True):
            ours = answer_of(asker.ask(question))
            if codes(ours) != codes(java):
                wrong.append((question, java, ours))
        assert wrong == []

        mine = several(BROKER, str(NODE_ID), ("log.cleaner.threads", "2", 0), ("ssl.keystore.location", "/x", 0))
        for listener, code in (("b", 42), ("c", 40)):
            answers = answer_of(asker.ask(alter(listener, mine, one(BROKER, "", "no.such", "1"))))
            assert codes(answers) == [[BROKER, "", 0], [BROKER, str(NODE_ID), code]]
        eventually("a warning", lambda: "no.such is not a known configuration" in node.log())
        asker.close()
