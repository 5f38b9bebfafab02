"""Counters and gauges of the operator, named as controller-runtime names its own, in Prometheus' text format.

Thread-safe: workers count, the health server renders. Label values come from bounded sets only (verbs, codes, results, cluster keys).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

HELP: Final[dict[str, tuple[str, str]]] = {
    "kraft_operator_reconcile_total": ("counter", "Reconciles by result."),
    "kraft_operator_reconcile_seconds": ("histogram", "Seconds that a reconcile took."),
    "kraft_operator_last_success_timestamp_seconds": ("gauge", "When a cluster was last reconciled without a failure."),
    "kraft_operator_condition": ("gauge", "A cluster's condition: 1 True, 0 False, -1 Unknown."),
    "kraft_operator_plan_steps": ("gauge", "Steps of a cluster's plan that are not done."),
    "kraft_operator_plan_waiting": ("gauge", "1 while a cluster's plan waits for approval."),
    "kraft_operator_replacement_deferred": ("gauge", "1 while a lost voter's replacement waits for the fleet's brake."),
    "kraft_operator_api_requests_total": ("counter", "Requests to the Kubernetes API by verb and code."),
    "kraft_operator_workqueue_depth": ("gauge", "Keys waiting for a worker."),
    "kraft_operator_workqueue_adds_total": ("counter", "Keys added to the work queue."),
    "kraft_operator_workqueue_retries_total": ("counter", "Keys added again after a failure."),
    "kraft_operator_leader": ("gauge", "1 while this process holds the Lease."),
    "kraft_operator_quorum_leader": ("gauge", "Node id of the quorum's leader, -1 when unknown."),
    "kraft_operator_quorum_live_voters": ("gauge", "Voters that answered for themselves and follow the leader."),
    "kraft_operator_quorum_high_watermark": ("gauge", "High watermark that the leader reported."),
    "kraft_operator_quorum_headroom": ("gauge", "Voters that may still be lost; below 0 there is no live majority."),
    "kraft_operator_grant_seconds_sum": (
        "counter",
        "Seconds from the sight of an inspected disk to its delivered grant.",
    ),
    "kraft_operator_grant_total": ("counter", "Storage grants delivered."),
}

BUCKETS: Final[dict[str, tuple[float, ...]]] = {
    "kraft_operator_reconcile_seconds": (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
}
PARTS: Final = ("_bucket", "_sum", "_count")

Labels = tuple[tuple[str, str], ...]


class Metrics:
    def __init__(self) -> None:
        self._values: dict[tuple[str, Labels], float] = {}
        self._lock = threading.Lock()

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount

    def set(self, name: str, value: float, /, **labels: str) -> None:
        with self._lock:
            self._values[name, tuple(sorted(labels.items()))] = value

    def observe(self, name: str, value: float) -> None:
        """Count a value in a histogram, whose buckets hold everything up to their bound."""
        for bound in BUCKETS[name]:
            self.add(f"{name}_bucket", float(value <= bound), le=f"{bound:g}")
        self.add(f"{name}_bucket", le="+Inf")
        self.add(f"{name}_sum", value)
        self.add(f"{name}_count")

    def total(self, name: str, /, **labels: str) -> float:
        """The sum over all series of `name` that carry these labels."""
        wanted = set(labels.items())
        with self._lock:
            return sum(value for (key, have), value in self._values.items() if key == name and wanted <= set(have))

    def forget(self, **labels: str) -> None:
        """Drop the series of something that no longer exists."""
        wanted = set(labels.items())
        with self._lock:
            self._values = {key: value for key, value in self._values.items() if not wanted <= set(key[1])}

    def render(self) -> str:
        with self._lock:
            values = sorted(self._values.items(), key=_order)
        lines: list[str] = []
        seen = ""
        for (name, labels), value in values:
            if (family := _family(name)) != seen:
                kind, text = HELP[family]
                lines += [f"# HELP {family} {text}", f"# TYPE {family} {kind}"]
                seen = family
            lines.append(f"{name}{_labels(labels)} {value:g}")
        return "\n".join(lines) + "\n"


def _family(name: str) -> str:
    """The histogram that a series is a part of, or itself."""
    whole = next((name.removesuffix(part) for part in PARTS if name.endswith(part)), name)
    return whole if whole in BUCKETS else name


def _order(item: tuple[tuple[str, Labels], float]) -> tuple[str, int, tuple[tuple[str, float, str], ...]]:
    """Families together, a histogram's buckets by their bound."""
    (name, labels), _ = item
    family = _family(name)
    part = PARTS.index(name.removeprefix(family)) if name != family else 0
    return family, part, tuple((key, float(value) if key == "le" else 0.0, value) for key, value in labels)


def _labels(labels: Labels | Mapping[str, str]) -> str:
    pairs = labels.items() if isinstance(labels, Mapping) else labels
    text = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{text}}}" if text else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
