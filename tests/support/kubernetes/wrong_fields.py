"""Fields of a KRaftCluster that are refused: (where, value, what the API server says). The operator's own parser is
held to the same list, without an API server (tests/unit/api) and beside one (tests/e2e/test_crd_rules.py).
"""

from __future__ import annotations

from typing import Any

Wrong = tuple[str, Any, str]
POD = "spec.controllers.pod"
PLUGINS = {"name": "plugins", "emptyDir": {}}
AGENT = {"name": "agent", "image": "a:1"}


def _mounting(path: str, name: str = "plugins") -> dict[str, Any]:
    return {"volumes": [PLUGINS], "volumeMounts": [{"name": name, "mountPath": path}]}


PODS: list[Wrong] = [
    (f"{POD}.env", [{"name": "LOG_DIR", "value": "/x"}], "LOG_DIR is the operator's: the operator mounts /tmp"),
    (f"{POD}.env", [{"name": "FORMAT_MODE", "value": "--standalone"}], "FORMAT_MODE is the operator's"),
    (f"{POD}.env", [{"name": "QUORATE_HTTP_LISTENER", "value": "x"}], "QUORATE_HTTP_LISTENER is the operator's"),
    (f"{POD}.env", [{"name": "A"}, {"name": "A"}], "Duplicate value"),
    (f"{POD}.env", [{"name": "1A"}], "should match"),
    (f"{POD}.env", [{"name": "A", "value": "1", "valueFrom": {}}], "value and valueFrom of env exclude each other"),
    (f"{POD}.envFrom", [{}], "exactly one of configMapRef and secretRef is needed in envFrom"),
    (
        "spec.brokerPools.0.pod.envFrom",
        [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}],
        "exactly one of configMapRef and secretRef is needed in envFrom",
    ),
    *((f"{POD}.volumes", [{"name": name, "emptyDir": {}}], "volumes data, config, ledger") for name in ("data", "tls")),
    (f"{POD}.volumes", [{"name": "host", "hostPath": {"path": "/"}}], "hostPath"),
    (f"{POD}.volumes", [{"name": "none"}], "a volume has exactly one source"),
    (f"{POD}.volumes", [{"name": "both", "emptyDir": {}, "secret": {}}], "a volume has exactly one source"),
    (
        f"{POD}.volumes",
        [{"name": "again", "persistentVolumeClaim": {"claimName": "data-demo-controller-1-0"}}],
        "claims data-CLUSTER-GROUP-N-0 hold disks of nodes",
    ),
    (POD, _mounting("/opt/x", "data"), "volumeMounts name volumes of pod.volumes only"),
    *(
        (POD, _mounting(path), "a mountPath must not hide, or reach into, what the operator mounts")
        for path in ("/tmp", "/etc", "/etc/kafka", "/etc/kafka/node/x", "/var/lib/kafka/data", "/opt/kafka")
    ),
    *(
        (POD, _mounting(path), "mountPath in body should match")
        for path in ("/", "/opt/../var/lib/kafka/data", "/opt/x/", "//tmp", "/./tmp")
    ),
    (f"{POD}.sidecars", [{**AGENT, "name": "kafka"}], "containers kafka, inspect, gate, format and seal"),
    (f"{POD}.initContainers", [{**AGENT, "name": "gate"}], "containers kafka, inspect, gate, format and seal"),
    (f"{POD}.sidecars", [{"name": "agent"}], "Required value"),
    (f"{POD}.sidecars", [AGENT, AGENT], "Duplicate value"),
    (POD, {"sidecars": [AGENT], "initContainers": [AGENT]}, "a sidecar and an init container share a name"),
    (f"{POD}.sidecars", [{**AGENT, "ports": [{"containerPort": 9404}]}], "port 9404 and the name http are those"),
    (
        f"{POD}.sidecars",
        [{**AGENT, "ports": [{"containerPort": 9405, "name": "http"}]}],
        "port 9404 and the name http are those",
    ),
    (f"{POD}.sidecars", [{**AGENT, "ports": [{"containerPort": 9093}]}], "has the port of a controller listener"),
    (
        "spec.brokerPools.0.pod.sidecars",
        [{**AGENT, "ports": [{"containerPort": 9092}]}],
        "a sidecar of a pool has the port of a broker listener",
    ),
    (
        f"{POD}.sidecars",
        [{**AGENT, "ports": [{"containerPort": 9405, "hostPort": 9405}]}],
        "restricted Pod Security does not allow hostPort",
    ),
    *(
        (f"{POD}.sidecars", [{**AGENT, "securityContext": {key: True}}], "does not allow privileged containers")
        for key in ("privileged", "allowPrivilegeEscalation")
    ),
    (
        f"{POD}.sidecars",
        [{**AGENT, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "sidecars see volumes of pod.volumes only",
    ),
    (
        f"{POD}.initContainers",
        [{**AGENT, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
        "initContainers see volumes of pod.volumes only",
    ),
    (POD, {"runAs": "Assigned", "securityContext": {"runAsUser": 5}}, "runAs Assigned leaves the user to the platform"),
    (f"{POD}.runAs", "Root", "Unsupported value"),
    (f"{POD}.securityContext", {"runAsUser": 0}, "should be greater than or equal to 1"),
    (f"{POD}.securityContext", {"runAsNonRoot": False}, "runAsNonRoot"),
    (f"{POD}.securityContext", {"seccompProfile": {"type": "Unconfined"}}, "Unsupported value"),
    (f"{POD}.probes", {"startup": {"failureThreshold": 0}}, "should be greater than or equal to 1"),
    (f"{POD}.probes", {"startup": {"httpGet": {"path": "/"}}}, "httpGet"),
]

WRONG_FIELDS: list[Wrong] = [*PODS]
