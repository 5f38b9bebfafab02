"""What pods tell by themselves: why one does not start."""

from __future__ import annotations

from typing import Final

from kraft_operator.observed import Pod
from kraft_operator.plan.situation import Finding, Situation, Topic, Verdict

REMEDIES: Final = {
    "ErrImagePull": "check spec.image (repository, tag, digest) and spec.image.pullSecrets",
    "ImagePullBackOff": "check spec.image (repository, tag, digest) and spec.image.pullSecrets",
    "InvalidImageName": "correct spec.image",
    "ErrImageNeverPull": "load the image on the node, or change spec.image.pullPolicy",
    "CrashLoopBackOff": "read the log of the container's last run (kubectl logs --previous), then correct spec.config or spec.image",
    "RunContainerError": "the image does not start: it needs /opt/kafka/bin/*.sh; correct spec.image",
    "StartError": "the image does not start: it needs /opt/kafka/bin/*.sh; correct spec.image",
    "CreateContainerConfigError": "a ConfigMap or Secret that the pod needs is missing",
    "CreateContainerError": "the image does not start; correct spec.image",
    "Unschedulable": "no node takes the pod: check resources, nodeSelector, affinity, tolerations and the volume's node",
    "OOMKilled": "raise resources.limits.memory of its group",
}


def report_pods(now: Situation) -> Verdict:
    return Verdict(findings=tuple(_troubled(pod) for pod in now.observed.pods if pod.trouble and not pod.ready))


def _troubled(pod: Pod) -> Finding:
    assert pod.trouble is not None
    trouble = pod.trouble
    where = f"{pod.name}/{trouble.container}" if trouble.container else pod.name
    remedy = REMEDIES.get(trouble.reason)
    message = f"{where}: {trouble.message or trouble.reason}" + (f"; {remedy}" if remedy else "")
    return Finding(Topic.PODS, trouble.reason, message, pod.name)
