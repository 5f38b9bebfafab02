"""Whether Kubernetes would make a set's pod: asked by a dry run before the pod that runs is given up for it.

A dry run goes through the same admission as the real pod (classes, accounts, Pod Security, policies, webhooks) and
leaves nothing. It needs the right to create pods, which the operator has for its helpers. It is asked only of sets that
have to make a pod: once for all nodes of a group with the same revision. What the answer means is decided elsewhere
(`plan.rollout.refused`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kraft_operator.kube import POD, Gateway, KubeError, Object, Unreachable
from kraft_operator.observed import NodeSet, Pod


def refused(
    kube: Gateway, sets: Iterable[NodeSet], pods: Iterable[Pod], live: Iterable[Object]
) -> dict[tuple[str, str], str]:
    """(Group, revision) to what the API server said to a pod of it. Raises Unreachable."""
    running, templates = {each.node_id: each for each in pods}, {each["metadata"]["name"]: each for each in live}
    found: dict[tuple[str, str], str] = {}
    asked: set[tuple[str, str]] = set()
    for node_set in _awaited(sets, running):
        key = node_set.pool, node_set.target
        if key in asked:
            continue
        asked.add(key)
        body = trial_pod(templates[node_set.name])
        try:
            kube.rehearse(POD, body["metadata"]["namespace"], body)
        except Unreachable:
            raise
        except KubeError as error:
            found[key] = error.message
    return found


def _awaited(sets: Iterable[NodeSet], running: Mapping[int, Pod]) -> Iterator[NodeSet]:
    for node_set in sets:
        pod = running.get(node_set.node_id)
        if node_set.replicas and not node_set.terminating and (pod is None or node_set.outdates(pod)):
            yield node_set


def trial_pod(item: Object) -> Object:
    """The pod that the StatefulSet controller would make, but for its name: the one that runs may still have that."""
    meta, spec = item["metadata"], item["spec"]
    template: Mapping[str, Any] = spec["template"]
    claims = [
        {"name": each["metadata"]["name"], "persistentVolumeClaim": {"claimName": f"{each['metadata']['name']}-{pod}"}}
        for pod in (f"{meta['name']}-0",)
        for each in spec.get("volumeClaimTemplates") or ()
    ]
    return {
        "apiVersion": POD.api,
        "kind": POD.kind,
        "metadata": {
            "generateName": f"{meta['name']}-",
            "namespace": meta["namespace"],
            "labels": dict(template["metadata"].get("labels") or {}),
            "annotations": dict(template["metadata"].get("annotations") or {}),
        },
        "spec": {
            **template["spec"],
            "subdomain": spec.get("serviceName", ""),
            "volumes": [*(template["spec"].get("volumes") or ()), *claims],
        },
    }
