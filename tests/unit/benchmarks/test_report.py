from __future__ import annotations

import pytest

from benchmarks.report import OURS, Row, markdown, quantity, ratio, table_of_rows

pytestmark = pytest.mark.unit


def test_above_one_is_ours_the_better_one_whatever_the_unit() -> None:
    assert ratio(30_000, 10_000, larger_is_better=True) == 3
    assert ratio(0.5, 2.0, larger_is_better=False) == 4


def test_a_row_tells_how_much_better_ours_is_beside_each_peer() -> None:
    speed = Row(
        "quorum", "records/s", "1/s", {OURS: 30_000, "etcd": 10_000}, {OURS: 5, "etcd": 5}, larger_is_better=True
    )
    cost = Row("quorum", "processors", "", {OURS: 0.9, "etcd": 0.5}, {OURS: 5, "etcd": 5}, larger_is_better=None)
    alone = Row("quorum", "RSS", "MB", {OURS: 30}, {OURS: 5})
    lines = markdown([speed, cost, alone]).splitlines()
    assert lines[0] == f"| what | {OURS} | etcd |"
    assert lines[2:] == [
        "| records/s | 30,000 1/s | 10,000 1/s (3.00x) |",
        "| processors | 0.9 | 0.5 |",
        "| RSS | 30 MB | - |",
    ]
    assert len({len(line.rstrip()) > 0 for line in table_of_rows([speed, cost, alone]).splitlines()}) == 1


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(0.0523, "s", "52.3 ms"), (2.1, "s", "2.1 s"), (12_345.6, "1/s", "12,346 1/s"), (61.25, "MB", "61.2 MB")],
)
def test_quantities_are_short(value: float, unit: str, shown: str) -> None:
    assert quantity(value, unit) == shown
