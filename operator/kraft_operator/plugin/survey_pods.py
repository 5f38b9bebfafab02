"""The pods that read a stranger's claims: one container of the operator's image, one claim, mounted read-only.

Read-only is the volume itself, so that a kubelet changes neither owner nor group of what lies on it. They bear no label
of any operator: nobody takes them for its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage_guard.copies import Helper

PATH: Final = "/survey"
CONTAINER: Final = "survey"
LABELS: Final = {"app.kubernetes.io/name": "kraft-survey", "app.kubernetes.io/managed-by": "kubectl-kraft"}
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """Which claim, where on it, and as whom."""

    claim: str
    path: str = ""
    """Of the log directory below the volume's root; empty: it is searched for."""
    user: int | None = None
    group: int | None = None
    on: str = ""
    """The Kubernetes node where the claim is in use."""
    used_by: str = ""
    """The pod that uses it."""


def pod(namespace: str, image: str, reading: Reading, asked: Mapping[str, str]) -> dict[str, Any]:
    where = {"LOG_DIRECTORY": f"{PATH}/{reading.path}"} if reading.path else {"SEARCH": PATH}
    user = 65532 if reading.user is None else reading.user
    identity: dict[str, Any] = {"runAsUser": user, "runAsGroup": user if reading.group is None else reading.group}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"runAsNonRoot": True, **identity, "seccompProfile": {"type": "RuntimeDefault"}},
        "tolerations": [{"operator": "Exists", "effect": "NoSchedule"}],
        "containers": [
            {
                "name": CONTAINER,
                "image": image,
                "command": ["storage-guard", Helper.SURVEY.value],
                "env": [{"name": name, "value": value} for name, value in {**where, **asked}.items()],
                "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": [{"name": "claim", "mountPath": PATH, "readOnly": True}],
            }
        ],
        "volumes": [
            {"name": "claim", "persistentVolumeClaim": {"claimName": reading.claim, "readOnly": True}},
        ],
    }
    if reading.on:
        is_there = {"key": "metadata.name", "operator": "In", "values": [reading.on]}
        terms = {"nodeSelectorTerms": [{"matchFields": [is_there]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    meta = {"generateName": "kraft-survey-", "namespace": namespace, "labels": LABELS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def reading_of(claim: str, path: str, run_as: tuple[int, int] | None, pods: Sequence[Object]) -> Reading:
    """As who its pod is, where that runs: or else as whom the caller says."""
    user, group = run_as if run_as is not None else (None, None)
    used = next((each for each in pods if claim in claims_of(each) and _runs(each)), None)
    if used is None:
        return Reading(claim, path, user, group)
    context = used["spec"].get("securityContext") or {}
    if run_as is None:
        user, group = context.get("runAsUser") or None, context.get("runAsGroup", context.get("fsGroup"))
    return Reading(claim, path, user, group, on=used["spec"].get("nodeName", ""), used_by=used["metadata"]["name"])


def claims_of(item: Object) -> set[str]:
    volumes = item["spec"].get("volumes") or ()
    return {each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each}


def _runs(item: Object) -> bool:
    return (item.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def line(item: Object) -> tuple[bool, str] | None:
    """Whether it succeeded and what it said; None: it has not ended."""
    status = item.get("status") or {}
    if status.get("phase") not in ("Succeeded", "Failed"):
        return None
    for each in status.get("containerStatuses") or ():
        ended = (each.get("state") or {}).get("terminated") or {}
        if each["name"] == CONTAINER:
            return ended.get("exitCode") == 0, ended.get("message") or ended.get("reason") or "it said nothing"
    return False, status.get("message") or "it ended without a word"


def trouble(item: Object) -> str:
    """Why it does not run yet, as far as Kubernetes says."""
    status = item.get("status") or {}
    for each in status.get("containerStatuses") or ():
        if waiting := (each.get("state") or {}).get("waiting"):
            return f"{waiting.get('reason', '')} {waiting.get('message', '')}".strip()
    conditions = status.get("conditions") or ()
    return next((each.get("message", "") for each in conditions if each.get("status") == "False"), "")
