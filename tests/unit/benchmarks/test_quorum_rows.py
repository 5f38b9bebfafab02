from __future__ import annotations

import pytest

from benchmarks.clusters import Kind
from benchmarks.quorum import GROUPS, percentile, rows_of

pytestmark = pytest.mark.unit


def test_of_fewer_than_a_hundred_values_the_worst_is_the_99th_percentile() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert percentile([float(n) for n in range(200)], 0.99) == 198.0


def test_a_fault_has_a_median_and_a_99th_percentile_and_all_else_a_median() -> None:
    found: dict[Kind, list[float]] = {"quorate": [0.05, 0.04, 0.09], "etcd": [1.2, 1.3, 1.1]}
    middle, worst = rows_of("kill -9 of the leader to the next commit", found)
    assert (middle.values, worst.values) == ({"Quorate": 0.05, "etcd 3.6.8": 1.2}, {"Quorate": 0.09, "etcd 3.6.8": 1.3})
    assert middle.ratio_to("etcd 3.6.8") == pytest.approx(24)
    (speed,) = rows_of("records/s, 64 connections", found)
    assert (speed.unit, speed.larger_is_better, speed.samples["etcd 3.6.8"]) == ("1/s", True, 3)


def test_every_group_has_a_name_of_its_own() -> None:
    assert len({group.name for group in GROUPS}) == len(GROUPS) == 9
