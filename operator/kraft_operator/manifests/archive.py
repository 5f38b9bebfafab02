"""What runs the archive of a quorum: one pod that follows the controllers and writes to a volume of its own.

A StatefulSet, because of two pods of a Deployment both might write for a moment, and because its claim stays when it
goes: nothing deletes an archive but a person. The pod has no token, no capability and no ports but its pages; its
principal has ClusterAction and nothing else; it may reach the controllers, name servers and the port of its object
store, and only the operator and whoever reads metrics may reach it. It bears none of the labels by which the cluster's
own pods are let in or selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.network import PolicyMode
from kraft_operator.api.spec import Archive, KRaftCluster, LifecycleState
from kraft_operator.manifests.context import Images, Manifest, metadata, role_selector
from kraft_operator.manifests.guards import container_security
from kraft_operator.manifests.object_store import store_arguments, store_environment, store_volumes
from kraft_operator.manifests.pods import pod_security
from kraft_operator.manifests.security import TLS_PATH, VOLUME

CLAIM: Final = "archive"
PATH: Final = "/var/lib/kafka/archive"
LOG_PATH: Final = f"{PATH}/log"
CLIENT_PATH: Final = "/etc/kafka/client"
CLIENT_FILE: Final = "client.properties"
DNS_PORT: Final = 53


def archive_selector(cluster: KRaftCluster) -> dict[str, str]:
    return {"app.kubernetes.io/name": "kraft-archive", "app.kubernetes.io/instance": cluster.name}


def archive_principal(cluster: KRaftCluster) -> str:
    return f"CN={names.archive_identity(cluster.name)},OU={cluster.namespace},O={cluster.name}"


def archive_objects(
    cluster: KRaftCluster,
    images: Images,
    cluster_id: str,
    controllers: Sequence[int],
    generation: int,
    *,
    held: bool = False,
) -> list[Manifest]:
    """`generation` is the ledger's: a quorum that was made anew has another history, and its archive begins anew.
    `held`: its claim is somebody else's to read.
    """
    archive = cluster.spec.archive
    if archive is None:
        return []
    found = [_service(cluster)]
    if cluster.spec.asked_controller.tls:
        found.append(_client(cluster))
    if cluster.spec.network_policy.mode is not PolicyMode.OFF:
        found.append(_policy(cluster, archive, images))
    begin = f"{generation}.{archive.beginning}"
    arguments = _arguments(cluster, archive, cluster_id, controllers, begin)
    asleep = held or cluster.spec.lifecycle is LifecycleState.HIBERNATED
    return [*found, _stateful_set(cluster, archive, images, arguments, replicas=0 if asleep else 1)]


def _arguments(
    cluster: KRaftCluster, archive: Archive, cluster_id: str, controllers: Sequence[int], begin: str
) -> list[str]:
    port = cluster.spec.asked_controller.port
    bootstrap = ",".join(f"{cluster.voter_host(each)}:{port}" for each in controllers)
    found = [LOG_PATH, "--bootstrap-controller", bootstrap, "--cluster-id", cluster_id, "--begin", begin]
    found += ["--listen", f"0.0.0.0:{names.HTTP_PORT}"]
    if cluster.spec.asked_controller.tls:
        found += ["--command-config", f"{CLIENT_PATH}/{CLIENT_FILE}"]
    if archive.keep_seconds is not None:
        found += ["--keep-hours", f"{archive.keep_seconds / 3600:g}"]
    return found if archive.store is None else [*found, *store_arguments(archive.store)]


def _stateful_set(
    cluster: KRaftCluster, archive: Archive, images: Images, arguments: list[str], replicas: int
) -> Manifest:
    chosen = archive_selector(cluster)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _metadata(cluster),
        "spec": {
            "replicas": replicas,
            "serviceName": names.archive_name(cluster.name),
            "revisionHistoryLimit": 3,
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "selector": {"matchLabels": chosen},
            "template": {
                "metadata": {"labels": {**chosen, names.LABEL_CLUSTER: cluster.name}},
                "spec": _pod(cluster, archive, images, arguments),
            },
            "volumeClaimTemplates": [_claim(cluster, archive)],
        },
    }


def _pod(cluster: KRaftCluster, archive: Archive, images: Images, arguments: list[str]) -> Manifest:
    group = cluster.spec.controllers
    secure = cluster.spec.asked_controller.tls
    volumes: list[Manifest] = []
    mounts: list[Manifest] = [{"name": CLAIM, "mountPath": PATH}]
    if secure:
        secret = {"secretName": names.archive_tls(cluster.name), "defaultMode": 0o440}
        file = {"name": names.archive_name(cluster.name)}
        volumes += [{"name": VOLUME, "secret": secret}, {"name": "client", "configMap": file}]
        mounts += [{"name": VOLUME, "mountPath": TLS_PATH, "readOnly": True}]
        mounts += [{"name": "client", "mountPath": CLIENT_PATH, "readOnly": True}]
    environment: list[Manifest] = []
    if archive.store is not None:
        environment = store_environment(archive.store)
        more, where = store_volumes(archive.store)
        volumes, mounts = [*volumes, *more], [*mounts, *where]
    found: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(group.pod),
        "affinity": _apart(cluster),
        "tolerations": [dict(each) for each in group.pod.tolerations],
        "imagePullSecrets": [{"name": each} for each in cluster.spec.image.pull_secrets],
        "containers": [
            {
                "name": "archive",
                "image": images.operator,
                "imagePullPolicy": images.pull_policy.value,
                "command": ["kraft-archive"],
                "args": arguments,
                **({"env": environment} if environment else {}),
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "ports": [{"name": names.HTTP_PORT_NAME, "containerPort": names.HTTP_PORT, "protocol": "TCP"}],
                "resources": dict(archive.resources)
                or {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
                "securityContext": container_security(),
                "volumeMounts": mounts,
                "readinessProbe": {**_check("/readyz"), "periodSeconds": 5, "timeoutSeconds": 3},
                "livenessProbe": {**_check("/livez"), "periodSeconds": 10, "failureThreshold": 6, "timeoutSeconds": 5},
            }
        ],
        "volumes": volumes,
    }
    return {key: value for key, value in found.items() if value != []}


def _check(path: str) -> Manifest:
    return {"httpGet": {"path": path, "port": names.HTTP_PORT_NAME, "scheme": "HTTP"}}


def _apart(cluster: KRaftCluster) -> Manifest:
    """Rather not where a controller is: a Kubernetes node that burns shall not take both."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": role_selector(cluster, cluster.spec.controllers.roles)},
    }
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _claim(cluster: KRaftCluster, archive: Archive) -> Manifest:
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": archive.storage.size}},
    }
    if archive.storage.storage_class_name:
        spec["storageClassName"] = archive.storage.storage_class_name
    if archive.storage.selector:
        spec["selector"] = dict(archive.storage.selector)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "labels": archive_selector(cluster)},
        "spec": spec,
    }


def _service(cluster: KRaftCluster) -> Manifest:
    """Its pages; also those of a pod that is not ready, which says why."""
    port = {"name": names.HTTP_PORT_NAME, "port": names.HTTP_PORT, "targetPort": names.HTTP_PORT, "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(cluster),
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": archive_selector(cluster),
            "ports": [port],
        },
    }


def _client(cluster: KRaftCluster) -> Manifest:
    """How a Kafka client gets to the controllers; the key is in the Secret."""
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{TLS_PATH}/keystore.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{TLS_PATH}/ca.crt",
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(cluster),
        "data": {CLIENT_FILE: "".join(f"{key}={value}\n" for key, value in properties.items())},
    }


def _policy(cluster: KRaftCluster, archive: Archive, images: Images) -> Manifest:
    operator = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": images.operator_namespace}}}
    peers = cluster.spec.network_policy.metrics_peers
    pages = [{"port": names.HTTP_PORT, "protocol": "TCP"}]
    ingress = {"ports": pages} if peers is None else {"from": [operator, *map(dict, peers)], "ports": pages}
    controllers = {"podSelector": {"matchLabels": role_selector(cluster, cluster.spec.controllers.roles)}}
    listeners = (*cluster.spec.controller_listeners, *cluster.spec.opening)
    store = [] if archive.store is None else [{"ports": [{"port": archive.store.port, "protocol": "TCP"}]}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(cluster),
        "spec": {
            "podSelector": {"matchLabels": archive_selector(cluster)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [ingress],
            "egress": [
                {"to": [controllers], "ports": [{"port": each.port, "protocol": "TCP"} for each in listeners]},
                {"ports": [{"port": DNS_PORT, "protocol": protocol} for protocol in ("UDP", "TCP")]},
                *store,
            ],
        },
    }


def _metadata(cluster: KRaftCluster) -> Manifest:
    return metadata(cluster, names.archive_name(cluster.name), archive_selector(cluster))
