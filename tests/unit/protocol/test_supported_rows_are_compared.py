"""What is called supported is asked of Apache Kafka too: every such row of `api_table` has a differential table, at
every version.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from controller_runtime.parts.api_table import TABLES, Status, served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from support.apache_kafka.differential import Table

pytestmark = pytest.mark.unit

FILES = sorted((Path(__file__).parents[2] / "interop").glob("test_differential_*.py"))
LEAST = 20
"""Requests a row, malformed ones included."""
NOT_YET: frozenset[ApiKey] = frozenset()
"""Rows whose table is still to come; one that has its table is judged like the others."""
SUPPORTED = [
    (role, key) for role, rows in TABLES.items() for key, row in rows.items() if row.status is Status.SUPPORTED
]


def _tables(file: Path) -> Iterator[Table]:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [getattr(module, "TABLES", ()), *vars(module).values()]
    yield from dict.fromkeys(
        each for one in found for each in (one if isinstance(one, tuple) else (one,)) if isinstance(each, Table)
    )


@cache
def _asked() -> dict[tuple[ListenerType, ApiKey], Counter[int]]:
    """How many requests of each version."""
    found: dict[tuple[ListenerType, ApiKey], Counter[int]] = {}
    for file in FILES:
        for table in _tables(file):
            for asked in table.asked():
                found.setdefault((asked.role, table.key), Counter())[asked.version] += 1
    return found


@pytest.mark.parametrize(("role", "key"), SUPPORTED, ids=lambda value: str(getattr(value, "name", value)).lower())
def test_a_supported_row_is_compared_with_kafka_at_every_version(role: ListenerType, key: ApiKey) -> None:
    asked = _asked().get((role, key), Counter())
    if key in NOT_YET and not asked:
        return
    assert sum(asked.values()) >= LEAST, f"{key.name} of {role}: {sum(asked.values())} requests in {len(FILES)} files"
    assert set(served(role)[key]) <= set(asked), f"{key.name} of {role}: not asked at every version"
