"""`kraft-operator selftest`: whether an installation can do its work, said line by line. It changes nothing.

It runs with the operator's own service account (`helm test` starts it so): the resource definitions are served, the API
server grants every right that the operator uses where it uses it, and somebody holds the Lease and has renewed it. The
first thing to look at when nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from kraft_operator.api import names
from kraft_operator.api.network import Exposure
from kraft_operator.kube import CLUSTER, LEASE, TLS_ROUTES, Gateway, Kind, KubeError, Object
from kraft_operator.reviews import allows
from kraft_operator.routes_seen import GROUP, NO_RIGHTS, NOT_SERVED, is_served

DEFINITIONS: Final = ("kraftclusters", "kraftoperations", "kraftusers")
CUSTOM_RESOURCE: Final = Kind(
    "CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False
)
RIGHTS: Final = (
    (names.GROUP, "kraftclusters", ("get", "list", "watch")),
    (names.GROUP, "kraftclusters/status", ("patch",)),
    (names.GROUP, "kraftoperations", ("get", "list", "watch", "delete")),
    (names.GROUP, "kraftoperations/status", ("patch",)),
    (names.GROUP, "kraftusers", ("get", "list", "watch")),
    (names.GROUP, "kraftusers/status", ("patch",)),
    ("", "secrets", ("get", "create", "update", "patch")),
    ("", "pods", ("get", "list", "watch", "patch", "delete")),
    ("", "persistentvolumeclaims", ("get", "list", "watch", "create", "patch", "delete")),
    ("", "services", ("get", "list", "create", "patch", "delete")),
    ("", "configmaps", ("get", "list", "create", "update", "patch", "delete")),
    ("apps", "statefulsets", ("get", "list", "watch", "create", "patch", "delete")),
    ("policy", "poddisruptionbudgets", ("get", "list", "create", "patch", "delete")),
    ("networking.k8s.io", "networkpolicies", ("get", "list", "create", "patch", "delete")),
    ("networking.k8s.io", "ingresses", ("get", "list", "create", "patch", "delete")),
    ("batch", "cronjobs", ("get", "list", "watch", "create", "patch", "delete")),
    ("events.k8s.io", "events", ("list", "create", "patch")),
)
"""In the namespaces of clusters: API group, resource, verbs."""
EVERYWHERE: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("", "persistentvolumes", ("get",)),
    ("", "nodes", ("get", "list")),
    ("storage.k8s.io", "storageclasses", ("get",)),
)
"""Without a namespace."""
ROUTES: Final = ("list", "watch", "create", "patch", "delete")
"""On TLSRoutes, in the namespaces of clusters of which a listener asks for some."""
PATIENCE_S: Final = 30.0
"""How long a new operator may take to acquire its Lease."""


def run(kube: Gateway, lease: tuple[str, str], namespaces: Sequence[str], *, everywhere: bool = True) -> list[str]:
    """What is wrong, in words; nothing when all is well. `namespaces` empty: clusters may be anywhere. `everywhere`:
    the operator is to have rights on what has no namespace.
    """
    served = _definitions(kube) if everywhere else _served(kube)
    rights = [*_rights(kube, namespaces, EVERYWHERE if everywhere else ()), *_routes(kube, namespaces)]
    return [*served, *rights, *_lease(kube, *lease)]


def _served(kube: Gateway) -> Iterator[str]:
    """As everybody may see it, who may not read definitions."""
    try:
        found = {each["name"] for each in kube.discover(names.API_VERSION)}
    except KubeError as error:
        yield f"install the resource definitions of this version (crds/): {names.API_VERSION} is not served: {error}"
        return
    for plural in DEFINITIONS:
        if plural not in found:
            yield f"install the resource definitions of this version (crds/): {plural}.{names.GROUP} is not served"


def _definitions(kube: Gateway) -> Iterator[str]:
    for plural in DEFINITIONS:
        name = f"{plural}.{names.GROUP}"
        try:
            found = kube.get(CUSTOM_RESOURCE, None, name)
        except KubeError as error:
            yield f"install the resource definitions of this version (crds/): {name} cannot be read: {error}"
            continue
        served = [each["name"] for each in found["spec"]["versions"] if each["served"]]
        conditions = {each["type"]: each["status"] for each in (found.get("status") or {}).get("conditions") or ()}
        if names.VERSION not in served or conditions.get("Established") != "True":
            served_as = ", ".join(served) or "nothing"
            remedy = "install the resource definitions of this version (crds/)"
            yield f"{remedy}: {name} is served as {served_as}, not as {names.VERSION}"


def _rights(
    kube: Gateway, namespaces: Sequence[str], everywhere: Sequence[tuple[str, str, tuple[str, ...]]]
) -> Iterator[str]:
    for group, resource, verbs in everywhere:
        yield from _may(kube, None, group, resource, verbs)
    for namespace in namespaces or (None,):
        for group, resource, verbs in RIGHTS:
            yield from _may(kube, namespace, group, resource, verbs)


def _routes(kube: Gateway, namespaces: Sequence[str]) -> Iterator[str]:
    """Where no cluster asks for them neither rights nor definition are missed."""
    try:
        found = [each for where in namespaces or (None,) for each in kube.list(CLUSTER, where) if _asks(each)]
        asking = sorted({str(each["metadata"]["namespace"]) for each in found})
        if asking and not any(is_served(kube, kind) for kind in TLS_ROUTES):
            yield NOT_SERVED
    except KubeError as error:
        yield f"repeat selftest: whether a cluster needs TLSRoutes could not be found out: {error}"
        return
    for namespace in asking:
        denied = [verb for verb in ROUTES if not allows(kube, verb, GROUP, TLS_ROUTES[0].plural, namespace)]
        if denied:
            yield f"{NO_RIGHTS}: it may not {', '.join(denied)} them in namespace {namespace}"


def _asks(cluster: Object) -> bool:
    listeners = ((cluster.get("spec") or {}).get("endpoints") or {}).get("broker") or ()
    return any(each.get("exposure") == Exposure.GATEWAY for each in listeners)


def _may(kube: Gateway, namespace: str | None, group: str, resource: str, verbs: Sequence[str]) -> Iterator[str]:
    where = f" in namespace {namespace}" if namespace else ""
    for verb in verbs:
        if not allows(kube, verb, group, resource, namespace):
            right = f"{verb} {resource}{f'.{group}' if group else ''}{where}"
            yield f"allow the operator's ServiceAccount to {right} (roles of this version's chart or kustomize base)"


def _lease(kube: Gateway, namespace: str, name: str) -> Iterator[str]:
    deadline = time.monotonic() + PATIENCE_S
    problem = _lease_problem(kube, namespace, name)
    while problem and time.monotonic() < deadline:
        time.sleep(1.0)
        problem = _lease_problem(kube, namespace, name)
    if problem:
        yield problem


def _lease_problem(kube: Gateway, namespace: str, name: str) -> str | None:
    found = kube.find(LEASE, namespace, name)
    spec = (found or {}).get("spec") or {}
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not holder or not renewed:
        return f"start an operator, or read its log: nobody holds the Lease {namespace}/{name}"
    age = (datetime.now(UTC) - datetime.fromisoformat(renewed)).total_seconds()
    if age > 2 * float(spec.get("leaseDurationSeconds") or 15):
        return f"read the log of {holder}: it renewed the Lease {namespace}/{name} {age:.0f} s ago, so no operator acts"
    return None
