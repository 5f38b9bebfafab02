"""What a platform team adds to the pods of a group, and what in a pod belongs to the operator.

Values that Kubernetes alone judges stay plain objects, in Kubernetes' own words. What the operator owns is refused by
name, never overridden: `parse_pod` says so for whoever reaches the operator, the CRD's rules say it first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class RunAs(StrEnum):
    """Fixed: the user id of the operator's choice, 65532. Assigned: whichever one the platform gives the pod, as
    OpenShift does.
    """

    FIXED = "Fixed"
    ASSIGNED = "Assigned"


OWNED_CONTAINERS: Final = ("kafka", "inspect", "gate", "format", "seal")
OWNED_VOLUMES: Final = ("data", "config", "ledger", "pod", "node", "journal", "tmp", "tls")
OWNED_PATHS: Final = (
    *("/var/lib/kafka/data", "/etc/kafka/template", "/etc/kafka/node", "/etc/kafka/ledger", "/etc/kafka/pod"),
    *("/etc/kafka/tls", "/etc/kafka/logging", "/run/storage-guard", "/opt/kafka/bin"),
)
"""Nothing is mounted there, above or below."""
FURTHER_VOLUME: Final = "data-"
"""How names of volumes begin that are further ones of brokers (`storage.volumes`)."""
FURTHER_PATH: Final = f"/var/lib/kafka/{FURTHER_VOLUME}"
"""How the paths begin where they are mounted."""
TEMPORARY_PATH: Final = "/tmp"  # noqa: S108  an emptyDir of the pod: the root file system is read-only
OWNED_ENVIRONMENT: Final = {
    "LOG_DIR": "the operator mounts /tmp for the scripts' own logs",
    "FORMAT_MODE": "only the operator says how a disk is formatted",
    "QUORATE_HTTP_LISTENER": "use spec.probes",
    "QUORATE_INSECURE": "use spec.security",
    "QUORATE_LOG_LEVEL": "use logging",
    "EXTRA_ARGS": "use jvm, logging and metrics",
    "KAFKA_HEAP_OPTS": "use jvm.heap",
    "KAFKA_LOG4J_OPTS": "use logging",
    "KAFKA_JMX_OPTS": "use metrics.jmxPort",
    "JMX_PORT": "use metrics.jmxPort",
}
VOLUME_SOURCES: Final = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"),
)
"""Those that restricted Pod Security allows."""
SECURITY_FIELDS: Final = (
    *("runAsUser", "runAsGroup", "fsGroup", "fsGroupChangePolicy", "supplementalGroups", "supplementalGroupsPolicy"),
    *("seLinuxOptions", "seccompProfile", "appArmorProfile", "sysctls"),
)
PROBE_FIELDS: Final = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")


@dataclass(frozen=True, slots=True)
class PodProbes:
    """Numbers that replace the operator's own, by Kubernetes' names."""

    startup: Mapping[str, int] = field(default_factory=dict)
    readiness: Mapping[str, int] = field(default_factory=dict)
    liveness: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pod:
    """How a group's pods are scheduled and decorated, and what runs in them besides the node."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Mapping[str, Any] | None = None
    tolerations: tuple[Mapping[str, Any], ...] = ()
    topology_spread_constraints: tuple[Mapping[str, Any], ...] | None = None
    """None: spread softly over zones and nodes. Empty: not at all."""
    priority_class_name: str | None = None
    termination_grace_period_seconds: int = 90
    env: tuple[Mapping[str, Any], ...] = ()
    """Of the containers of the user's image: the node and the tool that formats."""
    env_from: tuple[Mapping[str, Any], ...] = ()
    volumes: tuple[Mapping[str, Any], ...] = ()
    volume_mounts: tuple[Mapping[str, Any], ...] = ()
    """Of the same containers."""
    sidecars: tuple[Mapping[str, Any], ...] = ()
    init_containers: tuple[Mapping[str, Any], ...] = ()
    """They run when the disk has been judged and sealed, before the node."""
    service_account_name: str | None = None
    run_as: RunAs = RunAs.FIXED
    security_context: Mapping[str, Any] = field(default_factory=dict)
    runtime_class_name: str | None = None
    host_aliases: tuple[Mapping[str, Any], ...] = ()
    probes: PodProbes = field(default_factory=PodProbes)
    lifecycle: Mapping[str, Any] | None = None

    @property
    def added_containers(self) -> tuple[Mapping[str, Any], ...]:
        return (*self.init_containers, *self.sidecars)


def shadowed(path: str) -> str | None:
    """Which path of the operator's a mount there would hide or reach into; None for none."""
    if path == TEMPORARY_PATH or TEMPORARY_PATH.startswith(f"{path}/"):
        return TEMPORARY_PATH
    for owned in OWNED_PATHS:
        if owned == path or owned.startswith(f"{path}/") or path.startswith(f"{owned}/"):
            return owned
    return None
