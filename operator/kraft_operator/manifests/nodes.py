"""One StatefulSet per node, so that every node has its own revision and can be held, rolled or removed alone.

Under OnDelete a re-created pod takes the newest revision of its set: a set of several voters could not be rolled one by
one. The user's image is trusted with nothing but `/opt/kafka/bin/*.sh`; probes are what the resource says it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.pod import TEMPORARY_PATH
from kraft_operator.api.roles import BROKER
from kraft_operator.api.spec import ClusterSpec, DomainPolicy, FailureDomains, Group, KRaftCluster, Probes
from kraft_operator.manifests import further, process
from kraft_operator.manifests.context import (
    Context,
    Manifest,
    NodePlan,
    group_selector,
    labels,
    metadata,
    node_selector,
)
from kraft_operator.manifests.guards import (
    CONFIG_FILE,
    LOG_DIR_VARIABLE,
    NODE_PATH,
    container_security,
    init_containers,
    volumes,
)
from kraft_operator.manifests.pods import added_containers, pod_fields, pod_security, timed, with_user_fields
from kraft_operator.manifests.properties import DATA_PATH, server_properties
from kraft_operator.manifests.security import acknowledged, tls_mounts
from kraft_operator.manifests.services import port_name
from kraft_operator.manifests.tokens import allowed_urls
from storage_guard.formats import FORMAT_MODE_ANNOTATION, NO_INITIAL_CONTROLLERS, config_hash

CLAIM: Final = "data"


def stateful_set(context: Context, node: NodePlan, revision: str) -> Manifest:
    """`revision` is the group's (`revision_of`)."""
    cluster, group = context.cluster, context.group(node)
    chosen = node_selector(cluster, group, node.node_id)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            **metadata(cluster, names.node_name(cluster.name, group.name, node.node_id), chosen),
            "annotations": {names.ANNOTATION_REVISION: revision},
        },
        "spec": {
            "replicas": 0 if node.held else 1,
            "serviceName": names.nodes_service(cluster.name),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "revisionHistoryLimit": 3,
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": cluster.spec.volume_policy.value,
                "whenScaled": "Retain",
            },
            "selector": {"matchLabels": chosen},
            "template": _pod_template(context, node),
            "volumeClaimTemplates": [] if group.storage.ephemeral else [_claim(context, group, node)],
        },
    }


def claim_labels(cluster: KRaftCluster, group: Group, node_id: int) -> dict[str, str]:
    return labels(cluster, node_selector(cluster, group, node_id))


def revision_of(context: Context, group: Group) -> str:
    """Names what a group's pods are made of: equal for all its nodes, another when any pod has to be made anew."""
    return _digest(context, NodePlan(group.node_id_range.start, group.name))


def template_of(item: Mapping[str, Any]) -> str:
    """What of a set's template asks for a restart when it changes; empty for one that an older operator made."""
    meta = (item["spec"].get("template") or {}).get("metadata") or {}
    return str((meta.get("annotations") or {}).get(names.ANNOTATION_TEMPLATE, ""))


def _digest(context: Context, node: NodePlan) -> str:
    """Of a pod's template, whatever image its guards have: the operator's own upgrade restarts nobody."""
    template = _template(replace(context, images=replace(context.images, operator="")), node)
    return sha256(json.dumps(template, sort_keys=True, default=str).encode()).hexdigest()[:12]


def _pod_template(context: Context, node: NodePlan) -> Manifest:
    template = _template(context, node)
    template["metadata"]["annotations"][names.ANNOTATION_TEMPLATE] = _digest(context, node)
    template["spec"]["containers"][0]["env"][:0] = acknowledged(context.cluster, context.group(node).roles)
    return template


def _template(context: Context, node: NodePlan) -> Manifest:
    cluster, group = context.cluster, context.group(node)
    digest = config_hash(server_properties(context, node))
    annotations = {**group.pod.annotations, names.ANNOTATION_CONFIG_HASH: digest}
    if cluster.restart:
        annotations[names.ANNOTATION_RESTART] = cluster.restart
    if group.roles.controls:
        annotations[FORMAT_MODE_ANNOTATION] = NO_INITIAL_CONTROLLERS
    return {
        "metadata": {
            "labels": {**group.pod.labels, **labels(cluster, node_selector(cluster, group, node.node_id))},
            "annotations": annotations,
        },
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": group.pod.termination_grace_period_seconds,
            "securityContext": pod_security(group.pod),
            **_scheduling(context, group),
            **pod_fields(group.pod),
            "initContainers": [*init_containers(context, node, digest), *added_containers(group.pod.init_containers)],
            "containers": [_kafka(context, group), *added_containers(group.pod.sidecars)],
            "volumes": [*volumes(context, node), *(dict(each) for each in group.pod.volumes)],
        },
    }


def _scheduling(context: Context, group: Group) -> Manifest:
    pod, image = group.pod, context.cluster.spec.image_of(group)
    found: dict[str, Any] = {
        "imagePullSecrets": [{"name": name} for name in image.pull_secrets],
        "nodeSelector": dict(pod.node_selector),
        "affinity": pod.affinity,
        "tolerations": [dict(toleration) for toleration in pod.tolerations],
        "priorityClassName": pod.priority_class_name,
        "topologySpreadConstraints": _spread(context, group),
    }
    return {key: value for key, value in found.items() if value}


def _spread(context: Context, group: Group) -> list[Manifest]:
    if group.pod.topology_spread_constraints is not None:
        return [dict(constraint) for constraint in group.pod.topology_spread_constraints]
    chosen = {"matchLabels": group_selector(context.cluster, group)}
    domains = group.failure_domains or FailureDomains()
    hard = domains.policy is DomainPolicy.REQUIRE
    return [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": action, "labelSelector": chosen}
        for key, action in (
            (domains.key, "DoNotSchedule" if hard else "ScheduleAnyway"),
            ("kubernetes.io/hostname", "ScheduleAnyway"),
        )
    ]


def _kafka(context: Context, group: Group) -> Manifest:
    spec = context.cluster.spec
    listeners = spec.listeners_of(group.roles)
    # Of a pod that serves, the first port is taken for where clients find it (`pod_facts`).
    in_order = sorted(listeners, key=lambda each: group.roles.serves and each in spec.controller_listeners)
    ports = [{"name": port_name(entry), "containerPort": entry.port, "protocol": "TCP"} for entry in in_order]
    environment = [LOG_DIR_VARIABLE]
    image, probes = spec.image_of(group), spec.probes_of(group)
    if probes is Probes.HTTP:
        ports.append({"name": names.HTTP_PORT_NAME, "containerPort": names.HTTP_PORT, "protocol": "TCP"})
        environment.append({"name": "QUORATE_HTTP_LISTENER", "value": f"0.0.0.0:{names.HTTP_PORT}"})
    java = spec.java_in(group)
    environment += process.environment(group.process, java=java, allowed_urls=allowed_urls(listeners))
    ports += process.ports(group.process)
    container: Manifest = {
        "name": "kafka",
        "image": image.reference,
        "imagePullPolicy": image.pull_policy.value,
        "command": ["/opt/kafka/bin/kafka-server-start.sh", CONFIG_FILE],
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": environment,
        "ports": ports,
        "resources": dict(group.resources),
        "securityContext": container_security(),
        "volumeMounts": [
            {"name": CLAIM, "mountPath": DATA_PATH},
            *further.mounts(group),
            {"name": "node", "mountPath": NODE_PATH, "readOnly": True},
            {"name": "tmp", "mountPath": TEMPORARY_PATH},
            *tls_mounts(context.cluster, group.roles),
            *process.logging_mounts(group.process, java=java),
        ],
        **timed(_probes(probes, listeners[0], _shows_readiness(spec, group)), group.pod),
    }
    if group.pod.lifecycle:
        container["lifecycle"] = dict(group.pod.lifecycle)
    return with_user_fields(container, group.pod)


def _shows_readiness(spec: ClusterSpec, group: Group) -> ListenerSpec:
    """Where a combined node is asked: its controller listens long before its broker serves."""
    return spec.listeners_of(BROKER if group.roles.serves else group.roles)[0]


def _probes(probes: Probes, alive: ListenerSpec, ready: ListenerSpec) -> Manifest:
    """Start-up is generous for a long log; liveness is slow to kill: a stuck process, never a lost quorum."""

    def check(path: str) -> Manifest:
        if probes is Probes.HTTP:
            return {"httpGet": {"path": path, "port": names.HTTP_PORT_NAME, "scheme": "HTTP"}}
        return {"tcpSocket": {"port": port_name(ready if path == "/readyz" else alive)}}

    return {
        "startupProbe": {**check("/livez"), "periodSeconds": 1, "failureThreshold": 600, "timeoutSeconds": 3},
        "readinessProbe": {**check("/readyz"), "periodSeconds": 2, "failureThreshold": 2, "timeoutSeconds": 3},
        "livenessProbe": {**check("/livez"), "periodSeconds": 10, "failureThreshold": 6, "timeoutSeconds": 5},
    }


def _claim(context: Context, group: Group, node: NodePlan) -> Manifest:
    cluster, storage, node_id = context.cluster, group.storage_of(node.node_id), node.node_id
    class_name, selector = storage.kind if node.volume_kind is None else node.volume_kind
    spec: Manifest = {
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": node.volume_size or storage.size}},
    }
    if class_name:
        spec["storageClassName"] = class_name
    if selector:
        spec["selector"] = json.loads(selector)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": CLAIM, "labels": claim_labels(cluster, group, node_id)},
        "spec": spec,
    }
