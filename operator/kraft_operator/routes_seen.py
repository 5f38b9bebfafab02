"""TLSRoutes of the Gateway API: whether they can be had, and those of a cluster that there are.

They are looked for where a listener asks for them, and until those of an earlier listener are gone: its Services bear a
mark, and routes are deleted before it goes. Most installations have neither their definition nor rights on it, and kopf
ends with what it may not watch: so routes are watched if that was possible when the operator started, and else what was
read is believed for a while.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kraft_operator.actions import Action, ApplyChild, DeleteChild
from kraft_operator.api import names
from kraft_operator.api.network import Exposure
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.balancers_seen import BalancerMemory
from kraft_operator.kube import TLS_ROUTES, Forbidden, Gateway, Kind, KubeError, NotFound, Object
from kraft_operator.observed import Child, Routes
from kraft_operator.reviews import allows

logger: Final = logging.getLogger("kraft_operator")
SECONDS: Final = 30.0
"""How long what was read is believed."""
WATCHED_SECONDS: Final = 600.0
"""And how long where a watch tells of changes."""
GROUP: Final = "gateway.networking.k8s.io"
NOT_SERVED: Final = (
    "install the definition of TLSRoute (Gateway API, gateway.networking.k8s.io): the API server knows none"
)
NO_RIGHTS: Final = (
    "give the operator rights on TLSRoutes: the chart's gatewayRoutes: Enabled, or the kustomize overlay gateway"
)


@dataclass(slots=True)
class RouteMemory:
    """Of one cluster, in this process."""

    told: int | None = None
    """How many changes of its routes a watch has told of; None: nobody watches."""
    _known: int | None = None
    """How many of them are in what was read."""
    _read: float = float("-inf")
    _routes: Routes = field(default_factory=Routes)
    _balancers: BalancerMemory = field(default_factory=BalancerMemory)

    def look(self, cluster: KRaftCluster, services: Sequence[Object], kube: Gateway, now: float) -> Routes:
        """With what load balancers refuse. Raises KubeError."""
        found, refused = self._look(cluster, services, kube, now), self._balancers.look(cluster, services, kube, now)
        return replace(found, refused=refused) if refused else found

    def _look(self, cluster: KRaftCluster, services: Iterable[Object], kube: Gateway, now: float) -> Routes:
        asked = any(each.exposure is Exposure.GATEWAY for each in cluster.spec.broker_listeners)
        marked = (names.ANNOTATION_ROUTES in (each["metadata"].get("annotations") or {}) for each in services)
        if not (asked or self._routes.found or any(marked)):
            return Routes()
        believed = SECONDS if self.told is None or self._routes.missing else WATCHED_SECONDS
        if self.told != self._known or now - self._read >= believed:
            self._routes, self._read, self._known = _routes_of(cluster, kube), now, self.told
        return self._routes

    def forget(self, actions: Iterable[Action]) -> None:
        """What was written is read again."""
        for each in actions:
            kind = each.manifest["kind"] if isinstance(each, ApplyChild) else getattr(each, "kind", "")
            if isinstance(each, ApplyChild | DeleteChild) and kind == TLS_ROUTES[0].kind:
                self._read = float("-inf")


def watchable(kube: Gateway, namespaces: Sequence[str]) -> Kind | None:
    """The kind whose objects the operator may watch wherever clusters may be, as things are now."""
    try:
        kind = next((each for each in TLS_ROUTES if is_served(kube, each)), None)
        asked = [(verb, where) for verb in ("list", "watch") for where in namespaces or (None,)]
        if kind is not None and all(allows(kube, verb, GROUP, kind.plural, where) for verb, where in asked):
            return kind
    except KubeError as error:
        logger.warning("TLSRoutes are not watched: %s", error)
    return None


def _routes_of(cluster: KRaftCluster, kube: Gateway) -> Routes:
    kind = next((each for each in TLS_ROUTES if is_served(kube, each)), None)
    if kind is None:
        return Routes(missing=NOT_SERVED)
    try:
        found = kube.list(kind, cluster.namespace, f"{names.LABEL_CLUSTER}={cluster.name}")
    except Forbidden:
        return Routes(missing=NO_RIGHTS)
    mine = [each for each in found if _is_ours(each, cluster)]
    return Routes(
        kind.api,
        tuple(Child(kind.api, kind.kind, each["metadata"]["name"], each["metadata"]["uid"], each) for each in mine),
    )


def is_served(kube: Gateway, kind: Kind) -> bool:
    try:
        return any(each.get("kind") == kind.kind for each in kube.discover(kind.api))
    except NotFound:
        return False


def _is_ours(route: Object, cluster: KRaftCluster) -> bool:
    """Not of a cluster of the same name that is gone."""
    owners = route["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == cluster.uid for each in owners)
