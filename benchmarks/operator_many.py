"""Many clusters under one operator on the real Kubernetes: what it writes when nothing happens, and what a hundred of
them cost it.

Twenty clusters of one controller run; for minutes the API server counts what anybody changes of anything that the
operator could change. Then eighty more are applied whose pods no Kubernetes node takes (the nodes are cordoned): the
operator makes and watches all they need, and their quorums never answer. Memory is the peak of the operator's own
process; its pod has a limit of 256 MiB, and it must not have been started anew.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from benchmarks.report import Figure
from deploy.demo import target as targets
from deploy.demo.narrator import Narrator
from deploy.demo.story import NAMESPACE, OPERATOR_NAMESPACE, Demo, is_ready
from deploy.images import build

IDLE: Final = 20
ALL: Final = 100
QUIET_S: Final = float(os.environ.get("QUORATE_IDLE_SECONDS", "600"))
WATCHED_S: Final = 45.0
PATIENCE_S: Final = 300.0
GOAL_MIB: Final = 256.0
SETTLING_S: Final = 15.0
WRITING: Final = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
THEIRS: Final = frozenset(
    {"kraftclusters", "kraftoperations", "kraftusers",
     "statefulsets", "services", "configmaps", "persistentvolumeclaims",
        "poddisruptionbudgets",
     "networkpolicies", "cronjobs", "pods", "events"}
)  # fmt: skip
"""What the operator may change, its Lease apart."""


class NotSettled(Exception):
    """The clusters did not become what they should in time, or the operator was started anew."""


def run(say: Callable[[str], None]) -> list[Figure]:
    demo = Demo(targets.single_machine(os.environ.get("QUORATE_DEVCLUSTER_NAME", "main"), os.environ, say), Narrator())
    demo.provide_images()
    demo.forget_earlier_run()
    demo.install_operator()
    return measure(demo, say)


def measure(demo: Demo, say: Callable[[str], None]) -> list[Figure]:
    """With the operator there and the namespace empty."""
    nodes = demo.target.kubectl("get", "nodes", "-o", "name").split()
    apply(demo, range(IDLE))
    until(lambda: sum(is_ready(each.get("status", {})) for each in clusters(demo)) == IDLE, f"{IDLE} clusters Ready")
    say(f"operator: {IDLE} clusters are Ready")
    time.sleep(SETTLING_S)
    before, own_before, began = writes(demo), own_writes(demo), time.time()
    time.sleep(QUIET_S)
    quiet, own, seconds = writes(demo) - before, own_writes(demo) - own_before, time.time() - began
    say(f"operator: {IDLE} clusters, {seconds:.0f} s: {quiet} writes by anybody, {own} by the operator")
    for node in nodes:
        demo.target.kubectl("cordon", node)
    try:
        apply(demo, range(IDLE, ALL))
        until(lambda: sum("status" in each for each in clusters(demo)) == ALL, f"{ALL} clusters with a status")
        say(f"operator: {ALL} clusters are looked after")
        first = passes(demo)
        time.sleep(WATCHED_S)
        last = passes(demo)
        found, count = slowest(first, last, 0.99), max(last.values()) - max(first.values())
        mib, restarts = memory(demo)
    finally:
        for node in nodes:
            demo.target.kubectl("uncordon", node)
    if restarts:
        raise NotSettled(f"the operator was started anew {restarts} times")
    say(
        f"operator: {ALL} clusters: {mib:.0f} MiB at most, 99 of 100 of {count:.0f} "
        f"passes in at most {1000 * found:.0f} ms"
    )
    minutes = f"{seconds / 60:.0f} minutes of {IDLE} quiet clusters: "
    name = f"{ALL} clusters on the real Kubernetes: "
    return [
        Figure("operator", f"{minutes}writes by the operator", "", ours=own, peer=0, peer_name="the goal"),
        Figure(
            "operator",
            f"{minutes}writes by anybody to what it could write",
            "",
            ours=quiet,
            peer=0,
            peer_name="the goal",
        ),
        Figure("operator", f"{name}memory at most", "MiB", ours=mib, peer=GOAL_MIB, peer_name="the goal"),
        Figure(
            "operator", f"{name}a pass, p99 at most", "ms", ours=1000 * found, peer=1000 * found, peer_name="itself"
        ),
    ]


def apply(demo: Demo, numbers: Iterable[int]) -> None:
    image = {"reference": build.reference("runtime"), "pullPolicy": "IfNotPresent"}
    resources = {"requests": {"cpu": "10m", "memory": "64Mi"}}
    controllers = {"replicas": 1, "storage": {"size": "1Gi"}, "resources": resources}
    items = [
        {
            "apiVersion": "kraft.quorate.dev/v1alpha1",
            "kind": "KRaftCluster",
            "metadata": {"name": f"k{number}", "namespace": NAMESPACE},
            "spec": {
                "image": image,
                "controllers": controllers,
                "brokerPools": [],
                "security": {"tls": {"mode": "Disabled"}},
            },
        }
        for number in numbers
    ]
    body = {"apiVersion": "v1", "kind": "List", "items": items}
    demo.target.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(body))


def clusters(demo: Demo) -> list[dict[str, Any]]:
    return list(json.loads(demo.target.kubectl("-n", NAMESPACE, "get", "krc", "-o", "json"))["items"])


def until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        if time.monotonic() > deadline:
            raise NotSettled(f"{what}: not within {PATIENCE_S:g} s")
        time.sleep(2)


def writes(demo: Demo) -> int:
    """By the API server's own count, whoever wrote; the status of a pod is its kubelet's, and of a set
    Kubernetes' own.
    """
    total = 0.0
    for line in demo.target.kubectl("get", "--raw", "/metrics").splitlines():
        if line.startswith("apiserver_request_total{"):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            theirs = labels["resource"] in THEIRS
            kubelets = labels["resource"] in ("pods", "statefulsets") and labels["subresource"] == "status"
            if theirs and not kubelets and labels["verb"] in WRITING:
                total += float(line.rpartition(" ")[2])
    return int(total)


def own_writes(demo: Demo) -> int:
    """By the operator's count. Its Lease is what it PUTs."""
    found = operators_metrics(demo).items()
    return int(sum(value for name, value in found if re.search(r'requests_total.*verb="(PATCH|POST|DELETE)"', name)))


def operators_metrics(demo: Demo) -> dict[str, float]:
    name = operators_pod(demo)["metadata"]["name"]
    path = f"/api/v1/namespaces/{OPERATOR_NAMESPACE}/pods/{name}:9404/proxy/metrics"
    lines = (line for line in demo.target.kubectl("get", "--raw", path).splitlines() if line[:1].isalpha())
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def passes(demo: Demo) -> dict[float, float]:
    """Passes by the upper bound of how long they took."""
    name = re.compile(r'kraft_operator_reconcile_seconds_bucket\{.*?le="([^"]+)"')
    found: dict[float, float] = {}
    for each, value in operators_metrics(demo).items():
        if match := name.match(each):
            bound = float(match[1].replace("+Inf", "inf"))
            found[bound] = found.get(bound, 0.0) + value
    return found


def slowest(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """The smallest bound that holds this share of the passes in between."""
    new = {bound: count - before.get(bound, 0.0) for bound, count in after.items()}
    total = max(new.values(), default=0.0)
    if not total:
        raise NotSettled("no pass was made")
    return min(bound for bound, count in new.items() if count >= share * total)


def memory(demo: Demo) -> tuple[float, int]:
    """MiB that the operator's process has had at most, and how often its container was started anew."""
    pod = operators_pod(demo)
    peaks = [peak(folder) for folder in Path("/proc").glob("[0-9]*") if in_pod(folder, pod["metadata"]["uid"])]
    return max(peaks), sum(each["restartCount"] for each in pod["status"]["containerStatuses"])


def operators_pod(demo: Demo) -> dict[str, Any]:
    chosen = ("-l", "app.kubernetes.io/name=kraft-operator", "-o", "json")
    (pod,) = json.loads(demo.target.kubectl("-n", OPERATOR_NAMESPACE, "get", "pods", *chosen))["items"]
    return dict(pod)


def in_pod(folder: Path, uid: str) -> bool:
    try:
        return uid in (folder / "cgroup").read_text()
    except OSError:
        return False


def peak(folder: Path) -> float:
    try:
        text = (folder / "status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM:")), 0.0)
