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
    lines = [line for line in metrics.render().splitlines() if "kraft_operator_reconcile_seconds" in line]
    assert lines[:2] == [
        "# HELP kraft_operator_reconcile_seconds Seconds that a reconcile took.",
        "# TYPE kraft_operator_reconcile_seconds histogram",
    ]
    buckets = [line.split('"')[1:] for line in lines if "_bucket" in line]
    assert [(bound, count.split()[1]) for bound, count in buckets] == [
        ("0.05", "0.0"), ("0.1", "1.0"), ("0.25", "1.0"), ("0.5", "1.0"), ("1.0", "1.0"), ("2.5", "1.0"),
        ("5.0", "2.0"), ("10.0", "2.0"), ("30.0", "2.0"), ("+Inf", "3.0"),
    ]  # fmt: skip
    told = set(lines[-2:])
    assert told == {"kraft_operator_reconcile_seconds_count 3.0", "kraft_operator_reconcile_seconds_sum 43.07"}


def test_the_series_of_a_cluster_go_with_it() -> None:
    metrics = Metrics()
    labels: dict[str, Any] = {"namespace": "n", "name": "c"}
    metrics.set("kraft_operator_plan_waiting", 1, **labels)
    metrics.set("kraft_operator_condition", 0, condition="Ready", **labels)
    metrics.set("kraft_operator_leader", 1)
    metrics.forget(**labels)
    assert "kraft_operator_leader 1.0" in metrics.render().splitlines()
    assert 'name="c"' not in metrics.render()


def test_two_registries_share_nothing_and_no_series_says_when_it_was_made() -> None:
    first, second = Metrics(), Metrics()
    first.add("kraft_operator_workqueue_adds_total", 3)
    assert "kraft_operator_workqueue_adds_total 3.0" in first.render().splitlines()
    assert "kraft_operator_workqueue_adds_total 0.0" in second.render().splitlines()
    assert "_created" not in first.render()
