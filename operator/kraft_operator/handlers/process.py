"""kopf's own settings and login, made explicit."""

from __future__ import annotations

from typing import Any

import kopf

from kraft_operator.api import names
from kraft_operator.keys import CLUSTER_LABEL

CHILDREN = (
    ("v1", "pods"),
    ("v1", "persistentvolumeclaims"),
    ("v1", "services"),
    ("v1", "configmaps"),
    ("apps", "v1", "statefulsets"),
    ("policy", "v1", "poddisruptionbudgets"),
    ("networking.k8s.io", "v1", "networkpolicies"),
)


@kopf.on.startup()
def configure(settings: Any, **_: object) -> None:
    settings.posting.enabled = False
    settings.persistence.finalizer = f"{names.GROUP}/operator"  # never set: only `on.event` is used
    settings.watching.server_timeout = 300
    settings.watching.reconnect_backoff = 1.0
    settings.networking.connect_timeout = 5
    settings.networking.request_timeout = 30
    settings.queueing.worker_limit = None
    for resource in CHILDREN:
        settings.watching.label_selectors[resource] = CLUSTER_LABEL


@kopf.on.login()
def login(**kwargs: Any) -> object:
    """In a pod by its service account, elsewhere by KUBECONFIG: the same order as the gateway's."""
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
