"""Numbers of a report, as `report.data.collect` gives them, with texts that mean harm."""

from __future__ import annotations

from typing import Any

EVIL = "<script>alert('x')</script>\"&"


def cluster(name: str = "orders") -> dict[str, Any]:
    return {
        "span": {"first": 0, "last": 99, "records": 100, "begin": 1_795_000_000_000, "end": 1_795_000_600_000},
        "types": [{"type": "NoOpRecord", "records": 50}], "types_in_all": 1,
        "leaders": [
            {"epoch": 1, "leader": 1, "begin": 1_795_000_000_000, "end": 1_795_000_300_000, "offset": 0},
            {"epoch": 2, "leader": 2, "begin": 1_795_000_300_000, "end": None, "offset": 50},
        ], "leaders_in_all": 2,
        "brokers": [
            {"broker_id": 1, "fenced": True, "stopping": False, "begin": 1_795_000_000_000, "end": 1_795_000_010_000},
            {"broker_id": 1, "fenced": False, "stopping": False, "begin": 1_795_000_010_000, "end": None},
        ], "brokers_in_all": 2,
        "churn": [{"bucket": 3, "isr": 2, "leaders": 1, "created": 4, "removed": 0, "configs": 1, "records": 10}],
        "churn_in_all": 1,
        "growth": [{"at": 1_795_000_000_500, "topics": 1, "partitions": 3}], "growth_in_all": 1,
        "topics": [{"topic": name + EVIL, "partitions": 3, "replicas": 9, "short_of_isr": 1, "leaderless": 0}],
        "topics_in_all": 1, "leaderless": 0, "short_of_isr": 1,
        "silences": [{"offset": 50, "begin": 1_795_000_290_000, "gap": 10_000}], "silences_in_all": 1,
        "deleted": [{"name": EVIL, "at": 1_795_000_400_000, "offset": 70}], "deleted_in_all": 1,
        "provisional": [{"from_offset": 100, "to_offset": 101, "epoch": 2, "nodes": [3], "status": "provisional"}],
        "provisional_in_all": 1,
    }  # fmt: skip


def data(**changes: Any) -> dict[str, Any]:
    finding = {
        "cluster_id": EVIL, "severity": "error", "kind": "divergence", "node_id": 2, "file": "/data/0.log",
        "position": 7, "offset": 9,
        "detail": EVIL,
    }  # fmt: skip
    whole = {
        "clusters": {"orders" + EVIL: cluster()}, "audited": True, "findings": [finding], "findings_in_all": 3,
        "by_cluster": {"orders" + EVIL: {"error": 1, "note": 2}}, "severities": {"error": 1, "warning": 0, "note": 2},
    }  # fmt: skip
    return {**whole, **changes}
