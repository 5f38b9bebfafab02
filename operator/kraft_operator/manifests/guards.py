"""The four init containers that stand between a volume and a node: inspect, gate, format, seal.

Only `format` is of the user's image, and it is Apache Kafka's own tool: a no-op on a formatted directory. It runs after
the gate passed, which is only for a directory that the ledger knows or one that a grant on this very pod names. Its
mode comes from the pod's annotation through an environment variable, because the template is older than the grant: by
default a formatted controller is none of the initial ones; only the operator, once in a cluster's life, writes the
other mode on a pod, together with the grant.
"""

from __future__ import annotations

from typing import Final

from kraft_operator.api import names
from kraft_operator.api.network import Exposure
from kraft_operator.api.pod import TEMPORARY_PATH
from kraft_operator.api.spec import Group
from kraft_operator.manifests import further
from kraft_operator.manifests.context import Context, Manifest, NodePlan
from kraft_operator.manifests.pods import with_user_fields
from kraft_operator.manifests.properties import DATA_PATH, FILE_NAME, LOG_PATH
from kraft_operator.manifests.security import tls_volumes
from kraft_operator.manifests.tokens import ALLOWED_VARIABLE, allowed_urls
from storage_guard.formats import (
    FORMAT_MODE_ANNOTATION,
    GRANT_ANNOTATION,
    RACK_ANNOTATION,
    identity_key,
)

TEMPLATE_PATH: Final = "/etc/kafka/template"
NODE_PATH: Final = "/etc/kafka/node"
LEDGER_PATH: Final = "/etc/kafka/ledger"
POD_PATH: Final = "/etc/kafka/pod"
JOURNAL_PATH: Final = "/run/storage-guard"
CONFIG_FILE: Final = f"{NODE_PATH}/{FILE_NAME}"
LOG_DIR_VARIABLE: Final = {"name": "LOG_DIR", "value": f"{TEMPORARY_PATH}/kafka-logs"}
"""Where Apache Kafka's scripts put their own logs; they create the directory before anything else."""

_GUARD_RESOURCES: Final = {"requests": {"cpu": "10m", "memory": "48Mi"}, "limits": {"memory": "256Mi"}}


def container_security() -> Manifest:
    """What restricted Pod Security asks for, and a read-only root."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def init_containers(context: Context, node: NodePlan, config_hash: str) -> list[Manifest]:
    group = context.group(node)
    data, more = _mount("data", DATA_PATH), further.mounts(group)
    looked_at = [_mount("data", DATA_PATH, read_only=True), *further.mounts(group, read_only=True)]
    ledger, pod = _mount("ledger", LEDGER_PATH, read_only=True), _mount("pod", POD_PATH, read_only=True)
    journal, template = _mount("journal", JOURNAL_PATH), _mount("config", TEMPLATE_PATH, read_only=True)
    environment = _guard_environment(context, node, config_hash)
    return [
        _guard("inspect", context, environment, [*looked_at, ledger, pod]),
        _guard("gate", context, environment, [data, *more, ledger, pod, journal, template, _mount("node", NODE_PATH)]),
        _format(context, group),
        _guard("seal", context, environment, [data, *more, pod, journal]),
    ]


def volumes(context: Context, node: NodePlan) -> list[Manifest]:
    """All but the data volume, unless it goes with the pod: else it is a claim template of the StatefulSet."""
    cluster, group = context.cluster, context.group(node)
    own_name = names.node_name(cluster.name, node.group, node.node_id)
    ledger_items = [{"key": identity_key(node.node_id), "path": "identity.json"}]
    ledger_items += further.ledger_items(group, node.node_id)
    data = {"name": "data", "emptyDir": {"sizeLimit": group.storage.size}}
    return [
        *([data] if group.storage.ephemeral else []),
        {"name": "config", "configMap": {"name": own_name, "defaultMode": 0o444}},
        # Optional: without a ledger the pod shall start far enough to say so.
        {
            "name": "ledger",
            "configMap": {
                "name": names.ledger_name(cluster.name),
                "items": ledger_items,
                "optional": True,
                "defaultMode": 0o444,
            },
        },
        {
            "name": "pod",
            "downwardAPI": {
                "defaultMode": 0o444,
                "items": [
                    _downward("uid", "metadata.uid"),
                    _downward("grant", f"metadata.annotations['{GRANT_ANNOTATION}']"),
                    _downward("format-mode", f"metadata.annotations['{FORMAT_MODE_ANNOTATION}']"),
                    _downward("rack", f"metadata.annotations['{RACK_ANNOTATION}']"),
                    *(_downward(*each) for each in further.grant_fields(group)),
                ],
            },
        },
        {"name": "node", "emptyDir": {"sizeLimit": "1Mi"}},
        {"name": "journal", "emptyDir": {"sizeLimit": "1Mi"}},
        {"name": "tmp", "emptyDir": {}},
        *tls_volumes(cluster, group.roles, node.node_id),
        *further.pod_volumes(cluster, group, node.node_id),
    ]


def _guard(name: str, context: Context, environment: list[Manifest], mounts: list[Manifest]) -> Manifest:
    return {
        "name": name,
        "image": context.images.operator,
        "imagePullPolicy": context.images.pull_policy.value,
        "command": ["storage-guard", name],
        "env": environment,
        "resources": _GUARD_RESOURCES,
        "securityContext": container_security(),
        "volumeMounts": mounts,
    }


def _guard_environment(context: Context, node: NodePlan, config_hash: str) -> list[Manifest]:
    group = context.group(node)
    values = {
        "NODE_ID": str(node.node_id),
        "CLUSTER_ID": context.cluster_id,
        "NODE_ROLE": group.roles.label,
        "LOG_DIRECTORY": LOG_PATH,
        "IDENTITY_FILE": f"{LEDGER_PATH}/identity.json",
        "POD_DIRECTORY": POD_PATH,
        "JOURNAL_DIRECTORY": JOURNAL_PATH,
        "CONFIG_TEMPLATE": f"{TEMPLATE_PATH}/{FILE_NAME}",
        "CONFIG_FILE": CONFIG_FILE,
        "CONFIG_HASH": config_hash,
        "RACK": "Required" if group.rack_node_label else "None",
        **further.environment(group),
    }
    environment: list[Manifest] = [{"name": name, "value": value} for name, value in values.items()]
    if group.roles.serves and any(
        each.exposure is Exposure.NODE_PORT for each in context.cluster.spec.broker_listeners
    ):
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.hostIP"}}
        environment.append({"name": "HOST_IP", "valueFrom": source})
    return environment


def _format(context: Context, group: Group) -> Manifest:
    image = context.cluster.spec.image_of(group)
    arguments = ["format", "--ignore-formatted", "--cluster-id", context.cluster_id, "--config", CONFIG_FILE]
    environment: list[Manifest] = [LOG_DIR_VARIABLE]
    if group.roles.controls:
        arguments.append("$(FORMAT_MODE)")
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{FORMAT_MODE_ANNOTATION}']"}}
        environment.append({"name": "FORMAT_MODE", "valueFrom": source})
    if group.roles.serves and not context.cluster.spec.java_in(group):
        # Our tool judges the whole file, as the node will.
        urls = allowed_urls(context.cluster.spec.broker_listeners)
        environment += [{"name": ALLOWED_VARIABLE, "value": urls}] if urls else []
    container: Manifest = {
        "name": "format",
        "image": image.reference,
        "imagePullPolicy": image.pull_policy.value,
        "command": ["/opt/kafka/bin/kafka-storage.sh"],
        "args": arguments,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": environment,
        "resources": dict(group.resources),
        "securityContext": container_security(),
        "volumeMounts": [
            _mount("data", DATA_PATH),
            *further.mounts(group),
            _mount("node", NODE_PATH, read_only=True),
            _mount("tmp", TEMPORARY_PATH),
        ],
    }
    return with_user_fields(container, group.pod)


def _downward(path: str, field: str) -> Manifest:
    return {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": field}}


def _mount(name: str, path: str, *, read_only: bool = False) -> Manifest:
    return {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}
