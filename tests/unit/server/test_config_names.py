from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from controller_runtime.configuration.names import ACTED, CONFIG_NAMES, IGNORED, REFUSED

pytestmark = pytest.mark.unit

HERE = Path(__file__).parent


def names_of_kafka() -> dict[str, tuple[str, str]]:
    node = (HERE / "testdata" / "kafka-4.3.1-configs.txt").read_text().split("## Node")[1].split("## Topic")[0]
    rows = (line.split("  ", 2) for line in node.splitlines()[1:] if line)
    return {name: (kind, "" if default == '""' else default) for name, kind, default in rows}


def test_every_name_of_kafka_has_a_standing_with_its_type_and_default() -> None:
    assert {row.name: (row.kind, row.default) for row in CONFIG_NAMES} == names_of_kafka()


def test_each_name_is_listed_once() -> None:
    assert [name for name, count in Counter(row.name for row in CONFIG_NAMES).items() if count > 1] == []


def test_a_reason_is_given_for_what_is_not_acted_on() -> None:
    assert [row.name for row in CONFIG_NAMES if row.standing not in {ACTED, REFUSED, IGNORED}] == []
    assert [row.name for row in CONFIG_NAMES if (row.standing == ACTED) == bool(row.reason)] == []
