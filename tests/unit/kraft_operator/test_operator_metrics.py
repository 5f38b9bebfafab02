"""What the operator tells Prometheus of itself and its clusters, in Prometheus' own words."""

from __future__ import annotations

from typing import Any

import pytest

from kraft_operator.metrics import Metrics

pytestmark = pytest.mark.unit


def test_a_histogram_counts_what_took_at_most_so_long_in_buckets_by_their_bound() -> None:
    metrics = Metrics()
    for seconds in (0.07, 3.0, 40.0):
        metrics.observe("kraft_operator_reconcile_seconds", seconds)
    lines = metrics.render().splitlines()
    assert lines[:2] == [
        "# HELP kraft_operator_reconcile_seconds Seconds that a reconcile took.",
        "# TYPE kraft_operator_reconcile_seconds histogram",
    ]
    buckets = [line.split('"')[1:] for line in lines if "_bucket" in line]
    assert [(bound, count.split()[1]) for bound, count in buckets] == [
        ("0.05", "0"), ("0.1", "1"), ("0.25", "1"), ("0.5", "1"), ("1", "1"), ("2.5", "1"), ("5", "2"), ("10", "2"), ("30", "2"),
        ("+Inf", "3"),
    ]  # fmt: skip
    assert lines[-2:] == ["kraft_operator_reconcile_seconds_sum 43.07", "kraft_operator_reconcile_seconds_count 3"]


def test_the_series_of_a_cluster_go_with_it() -> None:
    metrics = Metrics()
    labels: dict[str, Any] = {"namespace": "n", "name": "c"}
    metrics.set("kraft_operator_plan_waiting", 1, **labels)
    metrics.set("kraft_operator_condition", 0, condition="Ready", **labels)
    metrics.set("kraft_operator_leader", 1)
    metrics.forget(**labels)
    assert metrics.render().splitlines()[-1] == "kraft_operator_leader 1"
    assert "condition" not in metrics.render()
