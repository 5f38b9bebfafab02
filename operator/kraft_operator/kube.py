"""The only door to the Kubernetes API: plain dicts in, plain dicts out, typed errors, every write counted.

The `kubernetes` client lends its configuration, authentication and connection pool; its models are not used, because
they drop fields they do not know and refuse values that the API allows. Every read is live; there is no cache here. A
write that must not hit another object than the one that was read carries its UID, and its resourceVersion where the
content matters.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import quote, urlencode

import urllib3
from kubernetes import config as kubeconfig
from kubernetes.client import ApiClient, Configuration

from kraft_operator.metrics import Metrics
from kraft_operator.settings import FIELD_MANAGER

Object = dict[str, Any]
PAGE: Final = 500
TIMEOUTS: Final = (5.0, 30.0)


@dataclass(frozen=True, slots=True)
class Kind:
    """How objects of one kind are addressed."""

    kind: str
    api: str
    plural: str
    namespaced: bool = True

    @property
    def selector(self) -> tuple[str, ...]:
        """As kopf names it: group (the core group has none), version, plural."""
        return *self.api.split("/"), self.plural

    def path(self, namespace: str | None, name: str | None = None, sub: str = "") -> str:
        root = f"/api/{self.api}" if "/" not in self.api else f"/apis/{self.api}"
        where = f"/namespaces/{quote(namespace)}" if self.namespaced and namespace else ""
        return f"{root}{where}/{self.plural}" + (f"/{quote(name)}" if name else "") + (f"/{sub}" if sub else "")


CLUSTER: Final = Kind("KRaftCluster", "kraft.quorate.dev/v1alpha1", "kraftclusters")
OPERATION: Final = Kind("KRaftOperation", "kraft.quorate.dev/v1alpha1", "kraftoperations")
USER: Final = Kind("KRaftUser", "kraft.quorate.dev/v1alpha1", "kraftusers")
POD: Final = Kind("Pod", "v1", "pods")
CLAIM: Final = Kind("PersistentVolumeClaim", "v1", "persistentvolumeclaims")
VOLUME: Final = Kind("PersistentVolume", "v1", "persistentvolumes", namespaced=False)
NODE: Final = Kind("Node", "v1", "nodes", namespaced=False)
CONFIG_MAP: Final = Kind("ConfigMap", "v1", "configmaps")
SECRET: Final = Kind("Secret", "v1", "secrets")
"""Never listed nor watched: the operator may read those whose names it knows."""
CERTIFICATE: Final = Kind("Certificate", "cert-manager.io/v1", "certificates")
"""Of cert-manager, where it is installed; by name only."""
SERVICE: Final = Kind("Service", "v1", "services")
STATEFUL_SET: Final = Kind("StatefulSet", "apps/v1", "statefulsets")
STORAGE_CLASS: Final = Kind("StorageClass", "storage.k8s.io/v1", "storageclasses", namespaced=False)
DISRUPTION_BUDGET: Final = Kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets")
NETWORK_POLICY: Final = Kind("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies")
INGRESS: Final = Kind("Ingress", "networking.k8s.io/v1", "ingresses")
CRON_JOB: Final = Kind("CronJob", "batch/v1", "cronjobs")
TLS_ROUTES: Final = tuple(
    Kind("TLSRoute", f"gateway.networking.k8s.io/{each}", "tlsroutes") for each in ("v1", "v1alpha3", "v1alpha2")
)
"""Of the Gateway API, where it is installed; the newest first."""
LEASE: Final = Kind("Lease", "coordination.k8s.io/v1", "leases")
EVENT: Final = Kind("Event", "events.k8s.io/v1", "events")

CHILDREN: Final = (SERVICE, CONFIG_MAP, STATEFUL_SET, DISRUPTION_BUDGET, NETWORK_POLICY, INGRESS, CRON_JOB)
"""What manifests may consist of."""
BY_KIND: Final = {(kind.api, kind.kind): kind for kind in (*CHILDREN, CLAIM, *TLS_ROUTES)}


class KubeError(Exception):
    """The API refused or could not be reached; `status` is 0 when no answer came."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status, self.reason, self.message = status, reason, message


class NotFound(KubeError):
    """404: it does not exist, or not any more."""


class Conflict(KubeError):
    """409: somebody else was faster, or the object is not the one that was read."""


class Invalid(KubeError):
    """422 or 400: the API server judged the object; the message names the field."""


class Forbidden(KubeError):
    """401 or 403: the operator's own rights are too small."""


class TooManyRequests(KubeError):
    """429: come back after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(429, message)
        self.retry_after = retry_after


class Unreachable(KubeError):
    """No answer: nothing is known about what the server did."""


def connect(metrics: Metrics, kubeconfig_file: str | None = None, context: str | None = None) -> Gateway:
    """In a pod by its service account, elsewhere (or when told so) by a kubeconfig."""
    configuration = Configuration()
    if kubeconfig_file is None and context is None:
        try:
            kubeconfig.load_incluster_config(client_configuration=configuration)
            return Gateway(ApiClient(configuration), metrics)
        except kubeconfig.ConfigException:
            pass
    kubeconfig.load_kube_config(config_file=kubeconfig_file, context=context, client_configuration=configuration)
    return Gateway(ApiClient(configuration), metrics)


class Reader(Protocol):
    """Where objects are looked up: the API server itself, or what the watches have shown of it."""

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None: ...

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[Object, ...]: ...


class Gateway:
    def __init__(self, client: ApiClient, metrics: Metrics) -> None:
        self._configuration = client.configuration
        self._configuration.connection_pool_maxsize = 16
        self._configuration.retries = False
        self._client = ApiClient(self._configuration)
        self._metrics = metrics
        self._auth_lock = threading.Lock()

    # reads

    def get(self, kind: Kind, namespace: str | None, name: str) -> Object:
        return self._call("GET", kind.path(namespace, name))

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        try:
            return self.get(kind, namespace, name)
        except NotFound:
            return None

    def list(self, kind: Kind, namespace: str | None, selector: str = "", fields: str = "") -> tuple[Object, ...]:
        """All pages of a live list, each item with its kind and version, which the server leaves out."""
        items: list[Object] = []
        query = {"limit": str(PAGE)} | ({"labelSelector": selector} if selector else {})
        query |= {"fieldSelector": fields} if fields else {}
        while True:
            page = self._call("GET", kind.path(namespace), query)
            items += [{"apiVersion": kind.api, "kind": kind.kind, **item} for item in page.get("items") or []]
            more = page.get("metadata", {}).get("continue")
            if not more:
                return tuple(items)
            query["continue"] = more

    def discover(self, api: str) -> tuple[Object, ...]:
        """What is served as `group/version`; everybody may ask."""
        return tuple(self._call("GET", f"/apis/{api}").get("resources") or ())

    def log(self, namespace: str, pod: str, container: str, tail: int) -> str:
        """The last lines of a container, each behind its time."""
        query = {"container": container, "tailLines": str(tail), "timestamps": "true"}
        return self._send("GET", POD.path(namespace, pod, "log"), query).decode(errors="replace")

    def page(self, kind: Kind, namespace: str, name: str, path: str) -> str:
        """What a Service or a pod (`name` is NAME:PORT) answers at this path, fetched by the API server."""
        return self._send("GET", f"{kind.path(namespace, name, 'proxy')}/{path}").decode(errors="replace")

    # writes

    def create(self, kind: Kind, namespace: str | None, body: Object, timeout: float | None = None) -> Object:
        return self._call("POST", kind.path(namespace), {"fieldManager": FIELD_MANAGER}, body, timeout=timeout)

    def rehearse(self, kind: Kind, namespace: str, body: Object) -> None:
        """Whether it could be created: judged like the real one, never stored."""
        self._call("POST", kind.path(namespace), {"fieldManager": FIELD_MANAGER, "dryRun": "All"}, body)

    def replace(self, kind: Kind, body: Object, timeout: float | None = None) -> Object:
        """Write what was read and changed; the resourceVersion in `body` is the precondition."""
        meta = body["metadata"]
        assert meta.get("resourceVersion"), f"replacing {meta['name']} without a resourceVersion would be blind"
        query = {"fieldManager": FIELD_MANAGER}
        return self._call("PUT", kind.path(meta.get("namespace"), meta["name"]), query, body, timeout=timeout)

    def apply(self, kind: Kind, body: Object, sub: str = "", timeout: float | None = None) -> Object:
        """Server-side apply of our whole intent; fields that others own stay theirs."""
        meta = body["metadata"]
        query = {"fieldManager": FIELD_MANAGER, "force": "true", "fieldValidation": "Strict"}
        path = kind.path(meta.get("namespace"), meta["name"], sub)
        return self._call("PATCH", path, query, body, content="application/apply-patch+yaml", timeout=timeout)

    def annotate(
        self, kind: Kind, namespace: str, name: str, annotations: Mapping[str, str | None], *, uid: str,
        resource_version: str | None = None, timeout: float | None = None,
    ) -> Object:  # fmt: skip
        """Set (or with None remove) annotations of exactly the object with this UID."""
        meta: Object = {"uid": uid, "annotations": dict(annotations)}
        if resource_version is not None:
            meta["resourceVersion"] = resource_version
        query = {"fieldManager": FIELD_MANAGER}
        path = kind.path(namespace, name)
        content = "application/merge-patch+json"
        return self._call("PATCH", path, query, {"metadata": meta}, content=content, timeout=timeout)

    def patch(self, kind: Kind, namespace: str, name: str, body: Object, timeout: float | None = None) -> Object:
        """A merge patch; put uid and resourceVersion into its metadata when they matter."""
        path, content = kind.path(namespace, name), "application/merge-patch+json"
        return self._call("PATCH", path, {"fieldManager": FIELD_MANAGER}, body, content=content, timeout=timeout)

    def delete(
        self, kind: Kind, namespace: str, name: str, *, uid: str, resource_version: str | None = None,
        timeout: float | None = None, grace_seconds: int | None = None, orphan: bool = False,
    ) -> None:  # fmt: skip
        """Delete exactly the object with this UID; one that is gone already is no error. Its children go with it, or
        (`orphan`) stay.
        """
        preconditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        body: Object = {"preconditions": preconditions, "propagationPolicy": "Orphan" if orphan else "Background"}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        try:
            self._call("DELETE", kind.path(namespace, name), None, body, timeout=timeout)
        except NotFound:
            return

    # the wire

    def _call(
        self, verb: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None, *,
        content: str = "application/json", timeout: float | None = None,
    ) -> Object:  # fmt: skip
        text = self._send(verb, path, query, body, content=content, timeout=timeout)
        return dict(json.loads(text)) if text else {}

    def _send(
        self, verb: str, path: str, query: Mapping[str, str] | None = None, body: Object | None = None, *,
        content: str = "application/json", timeout: float | None = None,
    ) -> bytes:  # fmt: skip
        url = f"{self._configuration.host}{path}" + (f"?{urlencode(query)}" if query else "")
        limits = TIMEOUTS if timeout is None else (min(TIMEOUTS[0], timeout), timeout)
        try:
            answer = self._client.call_api(verb, url, self._headers(content), body, _request_timeout=limits)
            status, text = int(answer.status), answer.read()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._metrics.add("kraft_operator_api_requests_total", verb=verb, code="0")
            raise Unreachable(0, f"{verb} {path}: {error}") from error
        self._metrics.add("kraft_operator_api_requests_total", verb=verb, code=str(status))
        if 200 <= status < 300:
            return bytes(text)
        refusal = _refusal(status, text, answer.headers.get("Retry-After"))
        if verb == "PATCH" and isinstance(refusal, Invalid) and "metadata.uid: Invalid value" in refusal.message:
            raise Conflict(409, refusal.message, "OtherUID")  # the server calls it an invalid change
        raise refusal

    def _headers(self, content: str) -> dict[str, str]:
        headers = {"Accept": "application/json", "Content-Type": content, "User-Agent": FIELD_MANAGER}
        with self._auth_lock:  # the refresh hook of a projected token re-reads a file
            bearer = self._configuration.auth_settings().get("BearerToken")
        if bearer and bearer["value"]:
            headers["Authorization"] = bearer["value"]
        return headers


def _refusal(status: int, text: bytes, retry_after: str | None) -> KubeError:
    try:
        answer = json.loads(text)
        message, reason = str(answer.get("message", "")), str(answer.get("reason", ""))
    except (ValueError, AttributeError):
        message, reason = text[:500].decode(errors="replace"), ""
    match status:
        case 404:
            return NotFound(status, message, reason)
        case 409:
            return Conflict(status, message, reason)
        case 400 | 422:
            return Invalid(status, message, reason)
        case 500 if "failed to create typed patch object" in message:
            return Invalid(status, message, reason)  # a field that the schema does not have
        case 401 | 403:
            return Forbidden(status, message, reason)
        case 429:
            return TooManyRequests(message, float(retry_after) if retry_after and retry_after.isdigit() else 1.0)
        case _:
            return KubeError(status, message, reason)
