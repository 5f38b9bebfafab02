"""Every question about configurations that Apache Kafka was asked (`support/config_questions.py`), put to a broker and a controller of ours."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from typing import Any, Final

import pytest

from controller_runtime.metadata.config_values import MAX_SHOWN
from support.config_questions import (
    BROKER,
    CLIENT,
    GROUP,
    RECORDED,
    THERE,
    TOPIC,
    Question,
    answer_of,
    shown,
    story,
    values,
)
from support.config_world import ConfigWorld, is_deviation

pytestmark = pytest.mark.conformance


JAVA_S_WORDS: Final = re.compile(
    r"Invalid value org\.apache\.kafka\.|Error parsing configuration property '[a-z.]+': begin |For input string|/ by zero|This most likely occurs"
)
"""An exception's of Java, or of its JSON: we say the same in words of our own."""
OUR_WORDS: Final = re.compile(
    r"cannot be set on this node|Class .* could not be found|Cannot update .* default cluster level"
)
"""Where both refuse, for reasons of their own."""


@cache
def recorded(name: str) -> list[list[Any]]:
    with gzip.open(RECORDED / name, "rt") as lines:
        return [json.loads(line) for line in lines]


def as_read(answer: Any) -> Any:
    return json.loads(json.dumps(answer))


def differ(ours: Any, java: Any) -> bool:
    """In what a client acts on, or in words."""
    return len(ours) != len(java) or any(_differs(*both) for both in zip(ours, java, strict=True))


def _differs(ours: list[Any], java: list[Any]) -> bool:
    if ours[:3] + ours[4:] != java[:3] + java[4:]:
        return True
    return ours[3] != java[3] and not (
        _is_long(java) or JAVA_S_WORDS.match(java[3] or "") or OUR_WORDS.search(ours[3] or "")
    )


def _is_long(row: list[Any]) -> bool:
    """Cut by us."""
    return isinstance(row[3], int) or len(row[3] or "") > MAX_SHOWN


@cache
def asked(name: str) -> list[tuple[Question, Any]]:
    rows, found = recorded(name), list({"values.jsonl.gz": values, "story.jsonl.gz": story}[name]())
    assert [row[2] for row in rows] == [as_read(shown(question.body)) for question in found], "record anew"
    return [(question, row[3]) for question, row in zip(found, rows, strict=True)]


@pytest.mark.parametrize("listener", ["b", "c"])
@pytest.mark.parametrize(
    "resource", [(TOPIC, THERE), (BROKER, "1"), (BROKER, ""), (CLIENT, "subscription"), (GROUP, "group")]
)
def test_every_name_with_good_and_bad_values_is_answered_as_by_java(resource: tuple[int, str], listener: str) -> None:
    world, wrong, deviating = ConfigWorld(), [], 0
    for question, java in asked("values.jsonl.gz"):
        if (question.listener, tuple(java[0][:2])) != (listener, resource):
            continue
        ours = as_read(answer_of(world.ask(question)))
        if is_deviation(question, java, ours):
            deviating += 1
        elif differ(ours, java):
            wrong.append((question.listener, shown(question.body)[2], "java:", java, "ours:", ours))
    assert wrong == []
    assert (deviating > 0) is (resource[0] in (TOPIC, BROKER))


def test_requests_of_every_shape_are_answered_as_by_java() -> None:
    world, wrong = ConfigWorld(), []
    for question, java in asked("story.jsonl.gz"):
        ours = as_read(answer_of(world.ask(question)))
        if differ(ours, java):
            wrong.append((question.listener, shown(question.body), "java:", java, "ours:", ours))
    assert wrong == []
