"""The operator as a process in the network of the single-machine Kubernetes, and words for stories about it.

A process can be frozen and killed between two precise steps, which a pod cannot; it finds the nodes by the same DNS
names. Everything else is real: the API server, kubelets, disks, the images.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kraft_operator.kube import CLAIM, CLUSTER, CONFIG_MAP, POD, VOLUME, KubeError
from kraft_operator.ledger_format import LEDGER_KEY
from support.kubernetes.cluster import ROOT, Kubernetes

T = TypeVar("T")
Object = dict[str, Any]
Images = Callable[[str], str]
"""The fixture `images`: builds, loads, and names one."""
DEVCLUSTER = (sys.executable, str(ROOT / "deploy" / "devcluster"))
PATIENCE = float(os.environ.get("KRAFT_E2E_PATIENCE", "420"))
"""Seconds a story may wait for one thing; Java on a busy machine of two cores is slow."""


def eventually(what: str, probe: Callable[[], T | None], seconds: float = PATIENCE) -> T:
    """Wait until `probe` gives something true. What it asserts in vain, what it looks for and does not find, and what a
    busy Kubernetes does not answer, counts as not yet.
    """
    deadline = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            if found := probe():
                return found
        except (AssertionError, LookupError, StopIteration, KubeError, OSError, subprocess.CalledProcessError) as error:
            last = error
        time.sleep(0.5)
    raise AssertionError(f"{what}: not within {seconds:g} s (last: {last})")


@dataclass(slots=True)
class OperatorProcess:
    namespace: str
    port: int
    log: Path
    process: subprocess.Popen[bytes]

    def pid(self) -> int:
        """Of the Python process at the end of the chain of wrappers."""
        return self._chain()[-1]

    def _chain(self) -> list[int]:
        found = [self.process.pid]
        while children := _children(found[-1]):
            found.append(children[0])
        return found

    def frozen(self) -> bool:
        status = Path(f"/proc/{self.pid()}/status").read_text()
        return "State:\tT" in status

    def thaw(self) -> None:
        """The wrappers too: nsenter stops itself when what it started is stopped."""
        for pid in self._chain():
            os.kill(pid, signal.SIGCONT)

    def ended(self) -> bool:
        return self.process.poll() is not None

    def stop(self) -> None:
        """As a kubelet would: SIGTERM, then SIGKILL."""
        if not self.ended():
            pid = self.pid()
            self.thaw()
            os.kill(pid, signal.SIGTERM)
            try:
                self.process.wait(25)
            except subprocess.TimeoutExpired:
                os.kill(pid, signal.SIGKILL)
                self.process.wait(10)

    def cpu_seconds(self) -> float:
        """Of its process until now."""
        words = Path(f"/proc/{self.pid()}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def metrics(self) -> dict[str, float]:
        code = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{self.port}/metrics').read().decode())"
        text = subprocess.run(
            [*DEVCLUSTER, "in", sys.executable, "-c", code], check=True, capture_output=True, text=True
        ).stdout
        return {
            line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[:1].isalpha()
        }

    def reads(self) -> int:
        """Requests that read, watches apart, without those of the Lease: every renewal (the only PUTs when all is
        quiet) reads it first.
        """
        counted = self.metrics()
        gets, puts = (sum(n for name, n in counted.items() if f'requests_total{{code="200",verb="{verb}"' in name)
                      for verb in ("GET", "PUT"))  # fmt: skip
        return int(gets - puts)

    def writes(self) -> int:
        """Requests that may have changed something, without the renewals of the Lease (its only PUTs when all is
        quiet).
        """
        counted = self.metrics().items()
        return int(
            sum(value for name, value in counted if re.search(r'requests_total.*verb="(PATCH|POST|DELETE)"', name))
        )


@contextmanager
def operator(
    namespace: str, folder: Path, images: Images, *, failpoints: str = "", port: int = 19500, lease: str = "15 10 2",
    kubeconfig: Path | None = None,
) -> Iterator[OperatorProcess]:  # fmt: skip
    """Watches this one namespace, and keeps its Lease there. `kubeconfig` is another way to the API server than the
    cluster's own.
    """
    log = folder / f"operator-{port}.log"
    way = ("env", f"KUBECONFIG={kubeconfig}") if kubeconfig is not None else ()
    command = [
        *DEVCLUSTER, "in", *way, sys.executable, "-m", "kraft_operator", "--namespace", namespace, "--lease-namespace",
        namespace,
        "--operator-image", images("operator"), "--http-port", str(port), "--probe-seconds", "2", "--lease-seconds",
        *lease.split(),
    ]  # fmt: skip
    environment = {**os.environ, "KRAFT_OPERATOR_FAILPOINTS": failpoints, "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
    running = OperatorProcess(namespace, port, log, process)
    try:
        yield running
    finally:
        running.stop()
        print(log.read_text()[-4000:])


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


@dataclass(slots=True)
class Story:
    """One KRaftCluster in one namespace, as a user and as a saboteur see it."""

    kubernetes: Kubernetes
    namespace: str
    image: str
    """What the nodes run."""
    name: str = "c"
    spec: Object = field(default_factory=dict)

    def apply(self, **changes: object) -> None:
        """Write the resource; `changes` replace parts of its spec and stay."""
        self.spec = {**(self.spec or default_spec(self.image)), **changes}
        body = {
            "apiVersion": CLUSTER.api,
            "kind": CLUSTER.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {key: value for key, value in self.spec.items() if value is not None},
        }
        path = CLUSTER.path(self.namespace, self.name)
        query = {"fieldManager": "a-user", "force": "true"}
        self.kubernetes.gateway._call("PATCH", path, query, body, content="application/apply-patch+yaml")

    def delete(self) -> None:
        found = self.resource()
        self.kubernetes.gateway.delete(CLUSTER, self.namespace, self.name, uid=found["metadata"]["uid"])

    def resource(self) -> Object:
        return self.kubernetes.gateway.get(CLUSTER, self.namespace, self.name)

    def condition(self, kind: str) -> Object:
        """Of the current generation, or an AssertionError."""
        found = self.resource()
        status = found.get("status") or {}
        assert status.get("observedGeneration") == found["metadata"]["generation"], "the operator has not looked yet"
        return next(dict(each) for each in status["conditions"] if each["type"] == kind)

    def await_condition(self, kind: str, status: str, reason: str | None = None, seconds: float = PATIENCE) -> Object:
        def holds() -> Object | None:
            found = self.condition(kind)
            fits = found["status"] == status and reason in (None, found["reason"])
            assert fits, json.dumps(found)
            return found

        return eventually(f"{self.name}: {kind}={status} {reason or ''}", holds, seconds)

    def await_ready(self) -> None:
        self.await_condition("Ready", "True")

    def pods(self) -> dict[str, Object]:
        selector = f"kraft.quorate.dev/cluster={self.name}"
        found = self.kubernetes.gateway.list(POD, self.namespace, selector)
        return {each["metadata"]["name"]: each for each in found}

    def delete_pod(self, name: str) -> str:
        """Returns the UID of the pod that has to go."""
        pod = self.kubernetes.gateway.get(POD, self.namespace, name)
        self.kubernetes.gateway.delete(POD, self.namespace, name, uid=pod["metadata"]["uid"])
        return str(pod["metadata"]["uid"])

    def await_pod(self, name: str, *, other_than: str) -> Object:
        """The pod that takes the place of one that was deleted, once its inspect has run."""

        def there() -> Object | None:
            pod = self.pods().get(name)
            assert pod is not None, "no pod"
            assert pod["metadata"]["uid"] != other_than, "the old pod"
            return pod if pod.get("status", {}).get("initContainerStatuses") else None

        return eventually(f"a new pod {name}", there)

    def delete_claim(self, name: str) -> None:
        """The claim goes once its pod has gone."""
        claim = self.kubernetes.gateway.get(CLAIM, self.namespace, name)
        self.kubernetes.gateway.delete(CLAIM, self.namespace, name, uid=claim["metadata"]["uid"])

    def ledger(self) -> Object:
        found = self.kubernetes.gateway.get(CONFIG_MAP, self.namespace, f"{self.name}-ledger")
        return dict(json.loads(found["data"][LEDGER_KEY]))

    def lose_ledger(self) -> None:
        name = f"{self.name}-ledger"
        found = self.kubernetes.gateway.get(CONFIG_MAP, self.namespace, name)
        self.kubernetes.gateway.delete(CONFIG_MAP, self.namespace, name, uid=found["metadata"]["uid"])

    def directories(self) -> dict[int, str]:
        return {each["nodeID"]: each.get("directoryID", "") for each in self.ledger()["nodes"]}

    def voters(self) -> dict[int, tuple[str, str]]:
        """Node id to directory id and state, as the status has them."""
        found = self.resource()["status"]["quorum"].get("voters") or []
        return {each["nodeID"]: (each["directoryID"], each["state"]) for each in found}

    def disk(self, node_id: int) -> Path:
        """Where a controller's volume lies on this machine, which is the single-machine Kubernetes'."""
        claim = self.kubernetes.gateway.get(CLAIM, self.namespace, f"data-{self.name}-controller-{node_id}-0")
        volume = self.kubernetes.gateway.get(VOLUME, None, claim["spec"]["volumeName"])
        return Path(volume["spec"]["local"]["path"])

    def events(self, reason: str) -> list[Object]:
        text = self.kubernetes.kubectl("-n", self.namespace, "get", "events.events.k8s.io", "-o", "json")
        return [each for each in json.loads(text)["items"] if each["reason"] == reason]

    def kafka(self, *command: str) -> str:
        """One of Kafka's tools, run in the first controller's pod."""
        pod = f"{self.name}-controller-0-0"
        arguments = ("-n", self.namespace, "exec", pod, "-c", "kafka", "--", *command)
        return self.kubernetes.kubectl(*arguments)


def default_spec(image: str) -> Object:
    repository, _, tag = image.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag},
        "probes": "TCP" if "apache-kafka" in repository else "HTTP",
        "controllers": {"replicas": 3, "nodeIdRange": {"start": 0, "end": 9}, "storage": {"size": "1Gi"}},
        "brokerPools": [pool(2)],
        "security": {"tls": {"mode": "Disabled"}},
    }


def pool(replicas: int, name: str = "b", start: int = 100) -> Object:
    ids = {"start": start, "end": start + 9}
    return {"name": name, "replicas": replicas, "nodeIdRange": ids, "storage": {"size": "1Gi"}}
