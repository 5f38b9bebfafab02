"""What a group's `pod` adds to the operator's pods. Absent fields add nothing, not even an empty list: the template of
a cluster that uses none of them is, byte by byte, what it was before they existed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kraft_operator.api.pod import Pod, RunAs
from kraft_operator.manifests.context import Manifest

USER_ID: Final = 65532
RESTRICTED: Final[Mapping[str, Any]] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
"""What restricted Pod Security asks of every container."""


def pod_security(pod: Pod) -> Manifest:
    """Restricted, with what the group asks for laid over it."""
    fixed = {"runAsUser": USER_ID, "runAsGroup": USER_ID, "fsGroup": USER_ID} if pod.run_as is RunAs.FIXED else {}
    return {
        "runAsNonRoot": True,
        **fixed,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
        **pod.security_context,
    }


def pod_fields(pod: Pod) -> Manifest:
    found: dict[str, Any] = {
        "serviceAccountName": pod.service_account_name,
        "runtimeClassName": pod.runtime_class_name,
        "hostAliases": [dict(each) for each in pod.host_aliases],
    }
    return {key: value for key, value in found.items() if value}


def added_containers(containers: Iterable[Mapping[str, Any]]) -> list[Manifest]:
    """Sidecars and init containers, restricted unless they ask for less."""
    return [{**each, "securityContext": {**RESTRICTED, **(each.get("securityContext") or {})}} for each in containers]


def with_user_fields(container: Manifest, pod: Pod) -> Manifest:
    """A container of the user's image, with the environment and the volumes that the group adds to it."""
    found = {**container, "env": [*container["env"], *(dict(each) for each in pod.env)]}
    if pod.env_from:
        found["envFrom"] = [dict(each) for each in pod.env_from]
    found["volumeMounts"] = [*container["volumeMounts"], *(dict(each) for each in pod.volume_mounts)]
    return found


def timed(probes: Manifest, pod: Pod) -> Manifest:
    """The operator's probes with the numbers that the group replaces."""
    asked = {
        "startupProbe": pod.probes.startup,
        "readinessProbe": pod.probes.readiness,
        "livenessProbe": pod.probes.liveness,
    }
    return {name: {**probe, **asked[name]} for name, probe in probes.items()}
