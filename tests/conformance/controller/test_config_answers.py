"""Every question about configurations that Apache Kafka was asked (`support/configs/questions.py`), put to a broker and
a controller of ours.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from controller_runtime.metadata import broker_config_specs
from support.configs.questions import RECORDED, Name, Question, answer_of, count_of, names, shown, story, values_of
from support.configs.world import ConfigWorld, agree, is_deviation

pytestmark = pytest.mark.conformance


def families() -> dict[str, list[tuple[Name, slice]]]:
    """Names of one type of resource that begin alike have their rules together; and where their answers are."""
    found: dict[str, list[tuple[Name, slice]]] = defaultdict(list)
    at = 0
    for name in names():
        kind, key, tries = name
        end = at + count_of(kind, tries)
        found[f"{kind}-{key.partition('.')[0]}"].append((name, slice(at, end)))
        at = end
    return found


FAMILIES = families()


@pytest.fixture(autouse=True)
def tables_read_anew() -> None:
    """The test that happens to read them first is not the only one that judges how they are read."""
    broker_config_specs.specs.cache_clear()


@cache
def recorded(name: str) -> list[str]:
    with gzip.open(RECORDED / name, "rt") as lines:
        return list(lines)


def as_read(answer: Any) -> Any:
    return json.loads(json.dumps(answer))


def answers(world: ConfigWorld, questions: Sequence[Question], lines: Sequence[str]) -> list[tuple[Question, Any, Any]]:
    """(question, Kafka's answer, ours)."""
    rows = list(map(json.loads, lines))
    assert [row[2] for row in rows] == [as_read(shown(question.body)) for question in questions], "record anew"
    return [(q, row[3], as_read(answer_of(world.ask(q)))) for q, row in zip(questions, rows, strict=True)]


def wrong(found: Sequence[tuple[Question, Any, Any]]) -> list[tuple[Any, ...]]:
    return [
        (question.listener, shown(question.body), "java:", java, "ours:", ours)
        for question, java, ours in found
        if not agree(java, ours) and not is_deviation(question, java, ours)
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_name_with_good_and_bad_values_is_answered_as_by_java(family: str) -> None:
    world, lines = ConfigWorld(), recorded("values.jsonl.gz")
    for name, place in FAMILIES[family]:
        assert wrong(answers(world, list(values_of(*name)), lines[place])) == []


def test_requests_of_every_shape_are_answered_as_by_java() -> None:
    assert wrong(answers(ConfigWorld(), list(story()), recorded("story.jsonl.gz"))) == []
