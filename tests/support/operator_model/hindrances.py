"""What Kubernetes finds in a pod's template that keeps the pod from running, for the model of the tests: no scheduler,
no registry, but their answers.

Whatever is called `nowhere`, `absent` or `huge` is not there, does not exist, or does not fit. Everything else is fine.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from kraft_operator.api.reader import quantity
from kraft_operator.observed import Trouble

ROOM_FOR = 4
"""So many controllers find a Kubernetes node of their own."""
MACHINE = {"cpu": 64.0, "memory": 2.0**38}
NEEDED_MEMORY = 2.0**27


def refused_by_kubernetes(template: Mapping[str, Any], there: Collection[str] = ()) -> str:
    """What the API server says to whoever would make the pod, in its words (1.36); empty: nothing. `there`: what is
    called `absent` and exists all the same."""
    spec = template["spec"]
    if spec.get("priorityClassName") == "absent" and "PriorityClass" not in there:
        return 'pods "x" is forbidden: no PriorityClass with name absent was found'
    if spec.get("runtimeClassName") == "absent" and "RuntimeClass" not in there:
        return 'pods "x" is forbidden: pod rejected: RuntimeClass "absent" not found'
    if spec.get("serviceAccountName") == "absent" and "ServiceAccount" not in there:
        return 'pods "x" is forbidden: error looking up service account m/absent: serviceaccount "absent" not found'
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    added = [each["name"] for each in containers if "add" in (each["securityContext"].get("capabilities") or {})]
    if added:
        return (
            'pods "x" is forbidden: violates PodSecurity "restricted:latest": unrestricted capabilities (container '
            f'"{added[0]}" must set securityContext.capabilities.drop=["ALL"])'
        )
    if (template["metadata"].get("labels") or {}).get("team") == "nobody":
        return (
            "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'teams' with binding 'teams' denied request: every pod "
            "names a team"
        )
    return ""


UNBOUND: Final = Trouble("Unschedulable", "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims")
"""Of a pod whose claim gets no volume."""


def hindrance(template: Mapping[str, Any], node_id: int, private: frozenset[str]) -> Trouble | None:
    """Why no Kubernetes node takes the pod, or why its image does not come. `private` are images that need the pull
    secret `registry`.
    """
    spec = template["spec"]
    main = spec["containers"][0]
    requests = (main.get("resources") or {}).get("requests") or {}
    if any(quantity(str(value), name) > MACHINE.get(name, 0.0) for name, value in requests.items()):
        return Trouble("Unschedulable", f"0/3 nodes are available: Insufficient {', '.join(requests)}")
    placing = {key: spec.get(key) for key in ("nodeSelector", "affinity", "topologySpreadConstraints", "tolerations")}
    if "nowhere" in json.dumps(placing):
        return Trouble("Unschedulable", "0/3 nodes are available: node(s) didn't match Pod's node affinity/selector")
    if ROOM_FOR <= node_id < 100 and "one-each" in json.dumps(placing):
        return Trouble("Unschedulable", "0/3 nodes are available: node(s) didn't match pod anti-affinity rules")
    secrets = {each["name"] for each in spec.get("imagePullSecrets") or ()}
    if main["image"] in private and "registry" not in secrets:
        return Trouble("ImagePullBackOff", f"pull access denied for {main['image']}", "kafka")
    if main.get("imagePullPolicy") == "Never":
        return Trouble("ErrImageNeverPull", f"{main['image']} is not present with pull policy of Never", "kafka")
    return None


def is_starved(template: Mapping[str, Any]) -> bool:
    """Its memory does not suffice: the process is killed again and again."""
    limits = (template["spec"]["containers"][0].get("resources") or {}).get("limits") or {}
    return "memory" in limits and quantity(str(limits["memory"]), "memory") < NEEDED_MEMORY
