"""kopf's own settings and login, made explicit."""

from __future__ import annotations

from typing import Any, Final

import kopf

from kraft_operator.api import names
from kraft_operator.index import OF_CLUSTERS
from kraft_operator.keys import CLUSTER_LABEL
from kraft_operator.kube import TLS_ROUTES

SILENCE_SECONDS: Final = 150.0
"""A watch that brings nothing for so long is asked for anew: the API server sends a bookmark every minute."""


@kopf.on.startup()
def configure(settings: Any, **_: object) -> None:
    settings.posting.enabled = False
    settings.persistence.finalizer = f"{names.GROUP}/operator"  # never set: only `on.event` is used
    settings.watching.server_timeout = 300
    settings.watching.reconnect_backoff = 1.0
    settings.networking.connect_timeout = 5
    settings.networking.request_timeout = 30
    settings.queueing.worker_limit = None
    settings.watching.inactivity_timeout = SILENCE_SECONDS
    for kind in (*OF_CLUSTERS, *TLS_ROUTES):
        settings.watching.label_selectors[kind.selector] = CLUSTER_LABEL


@kopf.on.login()
def login(**kwargs: Any) -> object:
    """In a pod by its service account, elsewhere by KUBECONFIG: the same order as the gateway's."""
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)
