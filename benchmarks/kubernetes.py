"""`kubectl apply` to Ready, on the real three-node Kubernetes: three controllers and three brokers, ours and Apache
Kafka's image.

The same operator runs both (`spec.image` decides). "Beyond pod start" begins when the last node's container has
started, as the kubelet tells it (whole seconds), and ends when the resource says Ready: what the runtime and the
operator need, without pulling, scheduling and volumes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

import yaml

from benchmarks.report import Figure
from deploy.demo import target as targets
from deploy.demo.narrator import Narrator
from deploy.demo.story import NAMESPACE, Demo, is_ready
from deploy.devcluster import cluster
from deploy.images import build

EXAMPLES: Final = Path(__file__).parent.parent / "deploy" / "examples"
IMAGES: Final = {"quorate": ("quickstart.yaml", "runtime"), "apache-kafka": ("apache-kafka.yaml", "apache-kafka")}
PATIENCE_S: Final = 300


class NotReady(Exception):
    """The cluster did not become Ready in time; the message holds its conditions."""


def one_round(demo: Demo, kind: str) -> tuple[float, float]:
    """Seconds from the apply to Ready, and from the last container's start to Ready."""
    file, image = IMAGES[kind]
    demo.forget_earlier_run()
    document: dict[str, Any] = yaml.safe_load((EXAMPLES / file).read_text())
    document["metadata"]["namespace"] = NAMESPACE
    document["spec"]["image"] = {"reference": build.reference(image), "pullPolicy": "IfNotPresent"}
    document["spec"]["security"] = {"tls": {"mode": "Disabled"}}  # as in earlier figures, on both sides
    applied = time.time()
    demo.target.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(document))
    ready = await_ready(demo, document["metadata"]["name"])
    return ready - applied, ready - last_start(demo)


def await_ready(demo: Demo, name: str) -> float:
    status: dict[str, Any] = {}
    deadline = time.time() + PATIENCE_S
    while time.time() < deadline:
        resource = json.loads(demo.target.kubectl("-n", NAMESPACE, "get", "kraftcluster", name, "-o", "json"))
        status = resource.get("status", {})
        if is_ready(status):
            return time.time()
        time.sleep(0.2)
    raise NotReady(f"{name}: {json.dumps(status.get('conditions', []))}")


def last_start(demo: Demo) -> float:
    pods = json.loads(demo.target.kubectl("-n", NAMESPACE, "get", "pods", "-o", "json"))["items"]
    starts = [
        container["state"]["running"]["startedAt"]
        for pod in pods
        for container in pod["status"].get("containerStatuses", [])
        if container["name"] == "kafka"
    ]
    return max(datetime.fromisoformat(start).timestamp() for start in starts)


def run(say: Callable[[str], None], *, rounds: int = 3) -> list[Figure]:
    name = os.environ.get("QUORATE_DEVCLUSTER_NAME", "main")
    demo = Demo(targets.single_machine(name, os.environ, say), Narrator())
    demo.provide_images()
    cluster.load_image(cluster.required(name), build.build("apache-kafka"), lambda _: None)
    demo.install_operator()
    measured: dict[str, list[tuple[float, float]]] = {kind: [] for kind in IMAGES}
    for number in range(rounds):
        for kind in IMAGES:
            measured[kind].append(one_round(demo, kind))
            whole, beyond = measured[kind][-1]
            say(f"operator: round {number + 1} of {rounds}, {kind}: {whole:.1f} s, {beyond:.1f} s beyond pod start")
    demo.forget_earlier_run()
    return [
        Figure("operator", what, "s", ours=median(m[i] for m in measured["quorate"]),
            peer=median(m[i] for m in measured["apache-kafka"]),
               peer_name="the same operator with Apache Kafka's image")
        for i, what in enumerate(("kubectl apply to Ready, 3 + 3 nodes", "the same beyond pod start"))
    ]  # fmt: skip
