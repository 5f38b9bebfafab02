"""Disks that go with their pod (`storage.type: Ephemeral`), seen as claims like any other.

Such a claim's UID is the pod's: another pod has another disk. So the ledger says which incarnation was formatted, what
was on an earlier one is lost by the same proof as that of a claim that is gone together with its volume, and nothing is
formatted before the voter is removed and its directory written off. What the pod's guards reported stands for the
annotations that a claim of Kubernetes bears; nothing can be written on one of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraft_operator.observed import Claim, Pod
from storage_guard.formats import DiskVerdict

PREFIX: Final = "emptydir-"
"""Of names that no claim of ours has in Kubernetes: those begin with data- or archive-."""


def disk_of(pod_name: str) -> str:
    return f"{PREFIX}{pod_name}"


def is_ephemeral(name: str | None) -> bool:
    """By the name of a claim or of its volume."""
    return name is not None and name.startswith(PREFIX)


def disks_of(pods: Iterable[Pod]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            name=pod.claim,
            uid=pod.uid,
            node_id=pod.node_id,
            role=pod.role,
            pool=pod.pool,
            volume=f"{PREFIX}{pod.uid}",
            terminating=pod.terminating,
            identity=_identity(pod),
        )
        for pod in pods
        if is_ephemeral(pod.claim)
    )


def _identity(pod: Pod) -> dict[str, str]:
    """Nothing of a disk that is not formatted yet."""
    report = pod.seal or pod.inspect
    if report is None or report.verdict is not DiskVerdict.FORMATTED:
        return {}
    found = {
        "cluster-id": report.cluster_id,
        "node-id": None if report.disk_node_id is None else str(report.disk_node_id),
        "directory-id": report.directory_id,
        "nonce": report.nonce,
        "pvc-uid": pod.uid,
    }
    return {key: value for key, value in found.items() if value is not None}
