"""What pods tell by themselves: why one does not start, and on which claim of nobody it waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kraft_operator.api.spec import Group
from kraft_operator.manifests.context import labels, node_selector
from kraft_operator.observed import Pod
from kraft_operator.plan.rollout.refused import report_refused
from kraft_operator.plan.situation import Finding, Situation, Topic, Verdict
from kraft_operator.plan.wording import called, verb

REMEDIES: Final = {
    "ErrImagePull": "check spec.image (repository, tag, digest) and spec.image.pullSecrets",
    "ImagePullBackOff": "check spec.image (repository, tag, digest) and spec.image.pullSecrets",
    "InvalidImageName": "correct spec.image",
    "ErrImageNeverPull": "load the image on the node, or change spec.image.pullPolicy",
    "CrashLoopBackOff": "read its last log (kubectl logs --previous), then correct spec.config or spec.image",
    "RunContainerError": "correct spec.image, which has to have /opt/kafka/bin/*.sh",
    "StartError": "correct spec.image, which has to have /opt/kafka/bin/*.sh",
    "CreateContainerConfigError": "create the ConfigMap or Secret that the pod needs",
    "CreateContainerError": "correct spec.image, which does not start",
    "Unschedulable": "check resources, nodeSelector, affinity, tolerations and the node of the volume",
    "OOMKilled": "raise resources.limits.memory of its group",
}


def report_pods(now: Situation) -> Verdict:
    troubled = [_troubled(now, pod) for pod in now.observed.pods if pod.trouble and not pod.ready]
    unlabelled = (_unlabelled(now, pod) for pod in now.observed.pods if _is_unlabelled(now, pod))
    return Verdict(findings=(*troubled, *unlabelled, *_classless(now), *report_refused(now)))


def _classless(now: Situation) -> Iterator[Finding]:
    """Claims of wanted nodes that nobody ever fills."""
    claims = (*now.observed.claims, *now.observed.further_claims)
    for group in now.cluster.spec.groups:
        mine = [each for each in claims if each.pool == group.name and each.node_id in group.node_ids]
        empty = [each for each in mine if each.storage_class in now.observed.missing_classes and not each.volume]
        for storage_class in sorted({each.storage_class for each in empty}):
            waiting = sorted(each.name for each in empty if each.storage_class == storage_class)
            who = f"{called('claim', waiting)} {verb(waiting, 'waits', 'wait')}"
            way = "" if any(each.volume for each in mine) else f". To have another class instead: {_made_again(group)}"
            message = (
                f"create storage class {storage_class} (kubectl get storageclass shows those that are there), or "
                f"volumes that name it: {who} for one{way}"
            )
            yield Finding(Topic.STORAGE, "VolumeClassMissing", message, f"{group.name}/{storage_class}", stalled=True)


def _made_again(group: Group) -> str:
    """A group's class cannot be changed; one without any volume loses nothing."""
    if group.roles.controls:
        return "delete the KRaftCluster and these claims, and make it again"
    return f"give pool {group.name} replicas 0, take it out, delete these claims, and put it in again"


def _is_unlabelled(now: Situation, pod: Pod) -> bool:
    """Its gate waits, so its volume is mounted; and the claim is not among those that bear the cluster's labels."""
    known = now.cluster.spec.group(pod.pool) is not None
    return known and pod.gate_waits and bool(pod.claim) and now.observed.claim(pod.claim) is None


def _unlabelled(now: Situation, pod: Pod) -> Finding:
    """Somebody made the claim before the StatefulSet could: Kubernetes gives it no labels afterwards."""
    group = now.cluster.spec.group(pod.pool)
    assert group is not None
    marks = " ".join(
        f"{key}={value}" for key, value in labels(now.cluster, node_selector(now.cluster, group, pod.node_id)).items()
    )
    message = (
        f"label claim {pod.claim}, which was made by hand, as one of this cluster: "
        f"kubectl -n {now.cluster.namespace} label pvc {pod.claim} {marks}"
    )
    return Finding(Topic.STORAGE, "ClaimUnlabelled", message, pod.name, stalled=True)


def _troubled(now: Situation, pod: Pod) -> Finding:
    assert pod.trouble is not None
    trouble, group = pod.trouble, now.cluster.spec.group(pod.pool)
    where = f"{pod.name}/{trouble.container}" if trouble.container else pod.name
    remedy = REMEDIES.get(trouble.reason)
    if remedy is not None and group is not None and group.image is not None:
        remedy = remedy.replace("spec.image", "spec.controllers.image")
    message = f"{where}: {f'{remedy}: ' if remedy else ''}{trouble.message or trouble.reason}"
    return Finding(Topic.PODS, trouble.reason, message, pod.name)
