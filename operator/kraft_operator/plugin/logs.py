"""`kubectl kraft logs`: what the controllers say, and what the operator says about the cluster, in one stream by time.

Times are the kubelets' (`timestamps=true`). A pod whose log cannot be read is named, the others are shown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.roles import COMBINED, CONTROLLER
from kraft_operator.kube import CLUSTER, POD, Gateway, KubeError

WATCH_SECONDS: Final = 2.0
OPERATOR: Final = "app.kubernetes.io/name=kraft-operator"


@dataclass(frozen=True, slots=True, order=True)
class Line:
    time: str
    pod: str
    text: str


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    found = commands.add_parser(
        "logs", parents=[common], help="of the controllers, and the operator's lines about the cluster"
    )
    found.add_argument("--tail", type=int, default=50, help="lines of each pod at the beginning")
    found.add_argument("--brokers", action="store_true", help="of the brokers, too")
    found.add_argument("-w", "--watch", action="store_true", help="go on until interrupted")
    found.set_defaults(run=_logs)


def _logs(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    kube.get(CLUSTER, given.namespace, given.cluster)  # whether it is there at all
    shown: dict[str, str] = {}
    while True:
        for line in sorted(_new_lines(given, kube, shown)):
            shown[line.pod] = max(shown.get(line.pod, ""), line.time)
            as_json = {"time": line.time, "pod": line.pod, "line": line.text}
            tell(json.dumps(as_json) if given.output == "json" else f"{line.time} {line.pod}  {line.text}")
        if not given.watch:
            return 0
        time.sleep(WATCH_SECONDS)


def _new_lines(given: argparse.Namespace, kube: Gateway, shown: Mapping[str, str]) -> Iterator[Line]:
    for pod, about in _pods(given, kube):
        meta = pod["metadata"]
        name = meta["name"]
        container = pod["spec"]["containers"][0]["name"]
        try:
            text = kube.log(meta["namespace"], name, container, given.tail)
        except KubeError as error:
            print(f"{name}: {error.message}", file=sys.stderr)
            continue
        for each in text.splitlines():
            at, _, line = each.partition(" ")
            if at > shown.get(name, "") and (about is None or about in line):
                yield Line(at, name, line)


def _pods(given: argparse.Namespace, kube: Gateway) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Each pod, and what a line has to hold to be shown."""
    chosen = f"{names.LABEL_CLUSTER}={given.cluster}"
    for pod in kube.list(POD, given.namespace, chosen):
        role = (pod["metadata"].get("labels") or {}).get(names.LABEL_ROLE)
        if role in (CONTROLLER.label, COMBINED.label) or given.brokers:
            yield pod, None
    try:
        operators = kube.list(POD, None, OPERATOR)
    except KubeError as error:
        print(f"the operator's pods cannot be listed: {error.message}", file=sys.stderr)
        return
    for pod in operators:
        yield pod, f"{given.namespace}/{given.cluster}"
