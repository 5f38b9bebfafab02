"""Counters and gauges of the operator, named as controller-runtime names its own; prometheus_client keeps and renders
them.

One registry per `Metrics`, so that a test or a second operator in one process shares nothing. Thread-safe: workers
count, the health server renders. Label values come from bounded sets only (verbs, codes, results, conditions, cluster
keys).
"""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series for each series, which nobody asks for

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
CLUSTER: Final = ("namespace", "name")

COUNTERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "kraft_operator_reconcile_total": ("Reconciles by result.", ("result",)),
    "kraft_operator_api_requests_total": ("Requests to the Kubernetes API by verb and code.", ("verb", "code")),
    "kraft_operator_workqueue_adds_total": ("Keys added to the work queue.", ()),
    "kraft_operator_workqueue_retries_total": ("Keys added again after a failure.", ()),
}
GAUGES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "kraft_operator_last_success_timestamp_seconds": ("When a cluster was last reconciled without a failure.", CLUSTER),
    "kraft_operator_condition": ("A cluster's condition: 1 True, 0 False, -1 Unknown.", (*CLUSTER, "condition")),
    "kraft_operator_plan_steps": ("Steps of a cluster's plan that are not done.", CLUSTER),
    "kraft_operator_plan_waiting": ("1 while a cluster's plan waits for approval.", CLUSTER),
    "kraft_operator_claim_terminating": ("1 while a claim is being deleted that only its running pod keeps.", CLUSTER),
    "kraft_operator_replacement_deferred": (
        "1 while a lost voter's replacement waits for the fleet's brake.",
        CLUSTER,
    ),
    "kraft_operator_audit_findings": (
        "What the newest audit of a cluster's archive found, by severity.",
        (*CLUSTER, "severity"),
    ),
    "kraft_operator_audit_end_offset": ("Up to where the audited log is committed, exclusive; -1 unknown.", CLUSTER),
    "kraft_operator_audit_timestamp_seconds": ("When the newest audit of a cluster's archive ended.", CLUSTER),
    "kraft_operator_workqueue_depth": ("Keys waiting for a worker.", ()),
    "kraft_operator_leader": ("1 while this process holds the Lease.", ()),
    "kraft_operator_quorum_leader": ("Node id of the quorum's leader, -1 when unknown.", CLUSTER),
    "kraft_operator_quorum_live_voters": ("Voters that answered for themselves and follow the leader.", CLUSTER),
    "kraft_operator_quorum_high_watermark": ("High watermark that the leader reported.", CLUSTER),
    "kraft_operator_quorum_headroom": (
        "Voters that may still be lost; below 0 there is no live majority.",
        CLUSTER,
    ),
}
HISTOGRAMS: Final[dict[str, tuple[str, tuple[float, ...]]]] = {
    "kraft_operator_reconcile_seconds": (
        "Seconds that a reconcile took.",
        (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
    ),
}
SUMMARIES: Final[dict[str, str]] = {
    "kraft_operator_grant_seconds": "Seconds from the sight of an inspected disk to its delivered grant.",
}


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        into = self._registry
        self._counters = {name: Counter(name, text, labels, registry=into) for name, (text, labels) in COUNTERS.items()}
        self._gauges = {name: Gauge(name, text, labels, registry=into) for name, (text, labels) in GAUGES.items()}
        self._observed: dict[str, Histogram | Summary] = {
            name: Histogram(name, text, buckets=buckets, registry=into) for name, (text, buckets) in HISTOGRAMS.items()
        }
        self._observed |= {name: Summary(name, text, registry=into) for name, text in SUMMARIES.items()}

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        counter = self._counters[name]
        (counter.labels(**labels) if labels else counter).inc(amount)

    def set(self, name: str, value: float, /, **labels: str) -> None:
        gauge = self._gauges[name]
        (gauge.labels(**labels) if labels else gauge).set(value)

    def observe(self, name: str, value: float) -> None:
        """Count a value in a histogram or summary."""
        self._observed[name].observe(value)

    def total(self, name: str, /, **labels: str) -> float:
        """The sum over all series of the counter or gauge `name` that carry these labels."""
        family = self._counters.get(name) or self._gauges[name]
        wanted = labels.items()
        samples = (sample for metric in family.collect() for sample in metric.samples)
        return sum(sample.value for sample in samples if sample.name == name and wanted <= sample.labels.items())

    def forget(self, **labels: str) -> None:
        """Drop the series of something that no longer exists."""
        families = (*((COUNTERS[name][1], each) for name, each in self._counters.items()),
                    *((GAUGES[name][1], each) for name, each in self._gauges.items()))  # fmt: skip
        for names, family in families:
            if set(labels) <= set(names):
                family.remove_by_labels(labels)

    def forget_one(self, name: str, /, **labels: str) -> None:
        """Drop the series of one family that carry these labels."""
        self._gauges[name].remove_by_labels(labels)

    def render(self) -> str:
        """All series in Prometheus' text format (`CONTENT_TYPE`)."""
        return generate_latest(self._registry).decode()
