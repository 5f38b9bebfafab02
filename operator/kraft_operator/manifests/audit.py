"""What audits the archive of a quorum: a CronJob whose pod reads the log, brings its lake up to date and leaves one
line about what it found as its termination message, which the operator reads.

The pod has no token, no capability, no network at all (the policy lets nothing in or out), and the log read-only. It
runs where the follower runs, because that volume is on one Kubernetes node at a time.
"""

from __future__ import annotations

from typing import Final

from kraft_operator.api import names
from kraft_operator.api.audit import Audit
from kraft_operator.api.network import PolicyMode
from kraft_operator.api.pod import TEMPORARY_PATH
from kraft_operator.api.spec import KRaftCluster, LifecycleState
from kraft_operator.manifests.archive import CLAIM, LOG_PATH, PATH, archive_selector
from kraft_operator.manifests.context import Manifest, metadata
from kraft_operator.manifests.guards import container_security
from kraft_operator.manifests.pods import pod_security

NAME: Final = "app.kubernetes.io/name"
OF_AUDIT: Final = "kraft-audit"
LAKE: Final = "lake"
LAKE_PATH: Final = "/var/lib/kafka/lake"
SUMMARY_PATH: Final = "/dev/termination-log"
LATE_SECONDS: Final = 600
"""How late a run may begin; what was missed before is not made up for."""
LONGEST_SECONDS: Final = 6 * 3600
JAVA: Final = "spark.driver.memory=1g"
NO_CACHE: Final = {"name": "XDG_CACHE_HOME", "value": "/nonexistent"}
"""Of Spark's classes: each pod would make one, for half a minute, and none would use it."""


def audit_selector(cluster: KRaftCluster) -> dict[str, str]:
    return {NAME: OF_AUDIT, "app.kubernetes.io/instance": cluster.name}


def audit_objects(cluster: KRaftCluster, *, held: bool = False) -> list[Manifest]:
    """`held`: the archive's claim is somebody else's to read."""
    archive = cluster.spec.archive
    if archive is None or archive.audit is None:
        return []
    asleep = held or cluster.spec.lifecycle is LifecycleState.HIBERNATED
    found = [_cron_job(cluster, archive.audit, suspend=asleep or archive.audit.suspend)]
    return found if cluster.spec.network_policy.mode is PolicyMode.OFF else [_policy(cluster), *found]


def _cron_job(cluster: KRaftCluster, audit: Audit, *, suspend: bool) -> Manifest:
    chosen = {**audit_selector(cluster), names.LABEL_CLUSTER: cluster.name}
    spec: Manifest = {
        "schedule": audit.schedule,
        "suspend": suspend,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": LATE_SECONDS,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {
            "spec": {
                "backoffLimit": 0,
                "activeDeadlineSeconds": LONGEST_SECONDS,
                "template": {"metadata": {"labels": chosen}, "spec": _pod(cluster, audit)},
            }
        },
    }
    if audit.time_zone is not None:
        spec["timeZone"] = audit.time_zone
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(cluster, names.audit_name(cluster.name), audit_selector(cluster)),
        "spec": spec,
    }


def _pod(cluster: KRaftCluster, audit: Audit) -> Manifest:
    group = cluster.spec.controllers
    found: Manifest = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(group.pod),
        "affinity": _with_the_follower(cluster),
        "tolerations": [dict(each) for each in group.pod.tolerations],
        "imagePullSecrets": [{"name": each} for each in cluster.spec.image.pull_secrets],
        "containers": [
            {
                "name": "audit",
                "image": audit.image,
                "imagePullPolicy": cluster.spec.image.pull_policy.value,
                "command": ["kraft-pipeline"],
                "args": ["run", LOG_PATH, "--output", LAKE_PATH, "--summary", SUMMARY_PATH, "--conf", JAVA],
                "env": [NO_CACHE],
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "resources": dict(audit.resources)
                or {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "3Gi"}},
                "securityContext": container_security(),
                "volumeMounts": _mounts(cluster, audit),
            }
        ],
        "volumes": _volumes(cluster, audit),
    }
    return {key: value for key, value in found.items() if value != []}


def _mounts(cluster: KRaftCluster, audit: Audit) -> list[Manifest]:
    """A lake has the name of its cluster on a claim that may be others' too."""
    own = audit.lake_claim is None
    lake = {"name": CLAIM if own else LAKE, "subPath": LAKE if own else cluster.name}
    return [
        {"name": CLAIM, "mountPath": PATH, "readOnly": True},
        {**lake, "mountPath": LAKE_PATH},
        {"name": "tmp", "mountPath": TEMPORARY_PATH},
    ]


def _volumes(cluster: KRaftCluster, audit: Audit) -> list[Manifest]:
    found: list[Manifest] = [
        {"name": CLAIM, "persistentVolumeClaim": {"claimName": names.archive_claim(cluster.name)}},
        {"name": "tmp", "emptyDir": {}},
    ]
    if audit.lake_claim is not None:
        found.append({"name": LAKE, "persistentVolumeClaim": {"claimName": audit.lake_claim}})
    return found


def _with_the_follower(cluster: KRaftCluster) -> Manifest:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": archive_selector(cluster)},
    }
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _policy(cluster: KRaftCluster) -> Manifest:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(cluster, names.audit_name(cluster.name), audit_selector(cluster)),
        "spec": {"podSelector": {"matchLabels": audit_selector(cluster)}, "policyTypes": ["Ingress", "Egress"]},
    }
