"""What load balancers say of the Services of exposed listeners: annotations and fields that a cloud does not take.

Whoever provides load balancers answers by Events on the Service; its status shows nothing. The last word on a Service
counts: a success after a refusal is its end. Read at most every half minute, and only for clusters that have such
listeners. Whoever may not list Events (an installation with the rights of an older version) is told nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kraft_operator.api.network import Exposure
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.kube import EVENT, Forbidden, Gateway, Invalid, NotFound, Object

SECONDS: Final = 30.0
"""How long what was read is believed."""
REFUSED: Final = frozenset({"SyncLoadBalancerFailed", "AllocationFailed", "FailedBuildModel", "FailedDeployModel"})
"""Of Kubernetes' service controller, MetalLB, and the AWS load balancer controller."""
GRANTED: Final = frozenset({"EnsuredLoadBalancer", "IPAllocated", "SuccessfullyReconciled"})
OF_SERVICES: Final = "regarding.kind=Service"


@dataclass(slots=True)
class BalancerMemory:
    """Of one cluster, in this process."""

    _read: float = float("-inf")
    _events: tuple[Object, ...] = field(default_factory=tuple)

    def look(self, cluster: KRaftCluster, services: Iterable[Object], kube: Gateway, now: float) -> dict[str, str]:
        """Names of refused Services to why. Raises KubeError."""
        if not any(each.exposure is Exposure.LOAD_BALANCER for each in cluster.spec.broker_listeners):
            return {}
        if now - self._read >= SECONDS:
            try:
                self._events = kube.list(EVENT, cluster.namespace, fields=OF_SERVICES)
            except (Forbidden, Invalid, NotFound):
                self._events = ()
            self._read = now
        return refused(services, self._events)


def refused(services: Iterable[Object], events: Iterable[Object]) -> dict[str, str]:
    """Of Services with these UIDs, by the last word on each."""
    uids = {each["metadata"]["uid"]: each["metadata"]["name"] for each in services}
    last: dict[str, Object] = {}
    for event in sorted(events, key=_time):
        uid = (event.get("regarding") or {}).get("uid", "")
        if uid in uids and event.get("reason") in REFUSED | GRANTED:
            last[uid] = event
    against = {uid: event for uid, event in last.items() if event["reason"] in REFUSED}
    return {uids[uid]: str(event.get("note") or event["reason"]) for uid, event in against.items()}


def _time(event: Mapping[str, object]) -> str:
    """Of its last occurrence; the API writes all of them in UTC, so they sort as text to the second."""
    series = event.get("series")
    seen = series.get("lastObservedTime") if isinstance(series, dict) else None
    return str(seen or event.get("deprecatedLastTimestamp") or event.get("eventTime") or "")[:19]
