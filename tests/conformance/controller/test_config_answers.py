"""Every question about configurations that Apache Kafka was asked (`support/config_questions.py`), put to a broker and a controller of ours."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from controller_runtime.metadata.config_values import MAX_SHOWN
from support.config_questions import CLIENT, GROUP, RECORDED, TOPIC, Question, answer_of, shown, story, values
from support.config_world import ConfigWorld, is_deviation

pytestmark = pytest.mark.conformance


def recorded(name: str) -> list[list[Any]]:
    with gzip.open(RECORDED / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def as_read(answer: Any) -> Any:
    return json.loads(json.dumps(answer))


def essence(answer: Any) -> Any:
    """What a client acts on, and Kafka's words; those about brokers are often a Java exception's, and long ones are cut here."""
    return [row if row[0] in (TOPIC, GROUP, CLIENT) and not _is_long(row) else row[:3] + row[4:] for row in answer]


def _is_long(row: list[Any]) -> bool:
    return isinstance(row[3], int) or len(row[3] or "") > MAX_SHOWN


def asked(questions: Any, name: str) -> list[tuple[Question, Any]]:
    rows, found = recorded(name), list(questions)
    assert [row[2] for row in rows] == [as_read(shown(question.body)) for question in found], "record anew"
    return [(question, row[3]) for question, row in zip(found, rows, strict=True)]


def test_every_name_with_good_and_bad_values_is_answered_as_by_java() -> None:
    world, wrong, deviating = ConfigWorld(), [], 0
    for question, java in asked(values(), "values.jsonl.gz"):
        ours = as_read(answer_of(world.ask(question)))
        if is_deviation(question, java, ours):
            deviating += 1
        elif essence(ours) != essence(java):
            wrong.append((question.listener, shown(question.body)[2], "java:", java, "ours:", ours))
    assert wrong == []
    assert deviating > 0


def test_requests_of_every_shape_are_answered_as_by_java() -> None:
    world, wrong = ConfigWorld(), []
    for question, java in asked(story(), "story.jsonl.gz"):
        ours = as_read(answer_of(world.ask(question)))
        if essence(ours) != essence(java):
            wrong.append((question.listener, shown(question.body), "java:", java, "ours:", ours))
    assert wrong == []
