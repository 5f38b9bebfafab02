"""How long the operator takes for what it is for, on the real three-node Kubernetes: a lost voter redundant again,
three controllers rolled.

Beside each figure stands its goal: 60 s for the voter, debounce of 10 s included; three restarts of a pod and ten
seconds for the roll, where the restart is measured in the same run, by deleting a controller's pod and waiting for its
voter to be live again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks.kubernetes import PATIENCE_S, NotReady, await_ready
from benchmarks.report import Figure
from deploy.demo import target as targets
from deploy.demo.narrator import Narrator
from deploy.demo.story import NAMESPACE, Demo
from deploy.images import build

EXAMPLE: Final = Path(__file__).parent.parent / "deploy" / "examples" / "quickstart.yaml"
NAME: Final = "quickstart"
POLL_S: Final = 0.3


def run(say: Callable[[str], None]) -> list[Figure]:
    demo = Demo(targets.single_machine(os.environ.get("QUORATE_DEVCLUSTER_NAME", "main"), os.environ, say), Narrator())
    demo.provide_images()
    demo.install_operator()
    demo.forget_earlier_run()
    document: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
    document["metadata"]["namespace"] = NAMESPACE
    document["spec"] |= {
        "image": {"reference": build.reference("runtime"), "pullPolicy": "IfNotPresent"},
        "brokerPools": [],
        "security": {"tls": {"mode": "Disabled"}},
    }
    demo.target.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(document))
    await_ready(demo, NAME)
    restart = restarted(demo)
    say(f"operator: a pod's restart {restart:.1f} s")
    lost = replaced(demo)
    say(f"operator: a lost voter redundant again {lost:.1f} s")
    roll = rolled(demo)
    say(f"operator: three controllers rolled {roll:.1f} s")
    demo.forget_earlier_run()
    return [
        Figure("operator", "a lost voter redundant again", "s", ours=lost, peer=60.0, peer_name="the goal"),
        Figure(
            "operator",
            "three controllers rolled",
            "s",
            ours=roll,
            peer=3 * restart + 10,
            peer_name="three restarts and 10 s",
        ),
    ]


def restarted(demo: Demo) -> float:
    """A controller's pod deleted, until its voter is live again."""
    before = uid(demo, f"{NAME}-controller-2-0")
    began = time.time()
    demo.target.kubectl("-n", NAMESPACE, "delete", "pod", f"{NAME}-controller-2-0", "--wait=false")
    until(demo, lambda status: uid(demo, f"{NAME}-controller-2-0") not in ("", before) and whole(status))
    return time.time() - began


def replaced(demo: Demo) -> float:
    """Claim, volume and pod of a controller gone, until three voters are live, one of them with a new directory."""
    before = directories(resource(demo)["status"])
    began = time.time()
    demo.target.kubectl("-n", NAMESPACE, "delete", "pvc", f"data-{NAME}-controller-2-0", "--wait=false")
    demo.target.kubectl("-n", NAMESPACE, "delete", "pod", f"{NAME}-controller-2-0", "--wait=false")
    until(demo, lambda status: whole(status) and directories(status).get(2) not in ("", None, before[2]))
    return time.time() - began


def rolled(demo: Demo) -> float:
    """A restart asked for by annotation, until every pod is another one and the roll is complete."""
    names = [f"{NAME}-controller-{each}-0" for each in range(3)]
    before = {name: uid(demo, name) for name in names}
    began = time.time()
    demo.target.kubectl(
        "-n", NAMESPACE, "annotate", "krc", NAME, f"kraft.quorate.dev/restart={began:.0f}", "--overwrite"
    )

    def done(status: dict[str, Any]) -> bool:
        complete = any((each["type"], each["status"]) == ("RolloutComplete", "True") for each in status["conditions"])
        return complete and whole(status) and all(uid(demo, name) not in ("", before[name]) for name in names)

    until(demo, done)
    return time.time() - began


def whole(status: dict[str, Any]) -> bool:
    return [each["state"] for each in status.get("quorum", {}).get("voters", [])] == ["Live"] * 3


def directories(status: dict[str, Any]) -> dict[int, str]:
    return {each["nodeID"]: each["directoryID"] for each in status["quorum"].get("voters", [])}


def resource(demo: Demo) -> dict[str, Any]:
    return dict(json.loads(demo.target.kubectl("-n", NAMESPACE, "get", "krc", NAME, "-o", "json")))


def uid(demo: Demo, pod: str) -> str:
    """Of a pod that is Ready; of any other nothing."""
    given = demo.target.kubectl("-n", NAMESPACE, "get", "pod", pod, "--ignore-not-found", "-o", "json")
    found = json.loads(given or "{}")
    conditions = {each["type"]: each["status"] for each in found.get("status", {}).get("conditions", [])}
    return str(found["metadata"]["uid"]) if conditions.get("Ready") == "True" else ""


def until(demo: Demo, done: Callable[[dict[str, Any]], bool]) -> None:
    deadline = time.time() + PATIENCE_S
    while not done(resource(demo)["status"]):
        if time.time() > deadline:
            raise NotReady(json.dumps(resource(demo)["status"].get("conditions", [])))
        time.sleep(POLL_S)
