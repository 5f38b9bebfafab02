"""Events of what clusters consist of: the label names the cluster."""

from __future__ import annotations

from collections.abc import Mapping

import kopf

from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import CLUSTER_LABEL, owner_of

OURS = {CLUSTER_LABEL: kopf.PRESENT}


@kopf.on.event("v1", "pods", labels=OURS)
@kopf.on.event("v1", "persistentvolumeclaims", labels=OURS)
@kopf.on.event("v1", "services", labels=OURS)
@kopf.on.event("v1", "configmaps", labels=OURS)
@kopf.on.event("apps", "v1", "statefulsets", labels=OURS)
@kopf.on.event("policy", "v1", "poddisruptionbudgets", labels=OURS)
@kopf.on.event("networking.k8s.io", "v1", "networkpolicies", labels=OURS)
def child_changed(namespace: str | None, labels: Mapping[str, str], memo: Memo, **_: object) -> None:
    key = owner_of(namespace, labels)
    if key is not None:
        memo.queue.add(key)
