"""Jobs of the pipeline as Spark applications on a Kubernetes: submitted as a user does, by pyspark's own `spark-submit`
and the files of deploy/spark.
"""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import tarfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deploy.images import spec
from kraft_operator.kube import POD
from metadata_pipeline.session import find_java
from metadata_pipeline.spark_classes import SparkClasses
from support.kubernetes.cluster import ROOT, Kubernetes

FILES = ROOT / "deploy" / "spark"
ACCOUNT = "kraft-pipeline"
CLAIM = "kraft-lake"
DESK = "desk"
_WAIT = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit(0)); signal.pause()"
_UNPACK = (
    "import base64, io, sys, tarfile; "
    "tarfile.open(fileobj=io.BytesIO(base64.b64decode(sys.stdin.read()))).extractall(sys.argv[1])"
)
_PACK = (
    "import base64, io, sys, tarfile; out = io.BytesIO()\n"
    "with tarfile.open(fileobj=out, mode='w:gz') as tar: tar.add(sys.argv[1], arcname='.')\n"
    "print(base64.b64encode(out.getvalue()).decode())"
)


@dataclass
class Application:
    """A driver's pod that ended, and what was seen of its executors."""

    phase: str
    log: str
    executors: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class SparkNamespace:
    """A namespace with the account, the volume, and a pod that has the volume: what is on it goes in and out through
    there.
    """

    kubernetes: Kubernetes
    name: str
    image: str
    node: str | None
    """Where all pods are to run: the volume is of one node, and the image need not be on the others."""

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return self.kubernetes.kubectl("-n", self.name, *arguments, stdin=stdin)

    def prepare(self) -> None:
        self.kubectl("apply", "-f", str(FILES / "rbac.yaml"))
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        desk: dict[str, Any] = _template()
        (container,) = desk["spec"]["containers"]
        container |= {
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": [spec.INTERPRETER, "-c", _WAIT],
        }
        container["volumeMounts"].append({"name": "lake", "mountPath": "/lake"})
        desk["metadata"] = {"name": DESK}
        if self.node:
            desk["spec"]["nodeSelector"] = {"kubernetes.io/hostname": self.node}
        desk["spec"]["volumes"].append({"name": "lake", "persistentVolumeClaim": {"claimName": CLAIM}})
        for body in (
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": CLAIM}, "spec": claim},
            desk,
        ):
            self.kubectl("apply", "-f", "-", stdin=json.dumps(body))
        self.kubectl("wait", f"pod/{DESK}", "--for=condition=Ready", "--timeout=120s")

    def copy_in(self, folder: Path, target: str) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            tar.add(folder, arcname=".")
        text = base64.b64encode(packed.getvalue()).decode()
        self.kubectl("exec", "-i", DESK, "--", spec.INTERPRETER, "-c", _UNPACK, target, stdin=text)

    def copy_out(self, source: str, folder: Path) -> None:
        text = self.kubectl("exec", DESK, "--", spec.INTERPRETER, "-c", _PACK, source)
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text))) as tar:
            tar.extractall(folder, filter="data")

    def submit(self, driver: str, arguments: list[str], conf: dict[str, str], secrets: Path) -> None:
        """Returns when the driver's pod was made."""
        settings = {
            "spark.kubernetes.container.image": self.image,
            "spark.kubernetes.namespace": self.name,
            "spark.kubernetes.driver.pod.name": driver,
            "spark.kubernetes.submission.waitAppCompletion": "false",
            **({"spark.kubernetes.node.selector.kubernetes.io/hostname": self.node} if self.node else {}),
            **self._identity(secrets),
            **conf,
        }
        home = Path(str(find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
        java, _ = find_java()
        classes = SparkClasses("submit", java)
        command = [
            str(home / "bin" / "spark-submit"), "--master", f"k8s://{self._server()['server']}", "--deploy-mode",
            "cluster", "--name", driver, "--properties-file", "deploy/spark/kraft-pipeline.conf",
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            "local:///opt/quorate/kraft_pipeline.py", *arguments,
        ]  # fmt: skip
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "KUBE"))
        }
        environment |= {
            "SPARK_HOME": str(home),
            "JAVA_HOME": str(java),
            "HOME": str(secrets),
            "SPARK_SUBMIT_OPTS": classes.options,
        }
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=240
        )
        classes.keep()
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"

    def ended(self, driver: str, patience_seconds: float = 400) -> Application:
        deadline = time.monotonic() + patience_seconds
        seen = Application("Pending", "")
        while seen.phase not in ("Succeeded", "Failed"):
            assert time.monotonic() < deadline, f"{driver}: {self._told(driver)}"
            for pod in self.kubernetes.gateway.list(POD, self.name, "spark-role"):
                name, phase = pod["metadata"]["name"], pod["status"]["phase"]
                if name == driver:
                    seen.phase = phase
                elif pod["metadata"]["labels"]["spark-role"] == "executor" and phase == "Running":
                    seen.executors.add(name)
            time.sleep(0.3)
        seen.log = self.kubectl("logs", driver)
        return seen

    def await_no_executors(self, patience_seconds: float = 120) -> None:
        """They are told to go when the driver ends, and take a moment."""
        deadline = time.monotonic() + patience_seconds
        while left := self.kubernetes.gateway.list(POD, self.name, "spark-role=executor"):
            assert time.monotonic() < deadline, [pod["metadata"]["name"] for pod in left]
            time.sleep(0.3)

    def _told(self, driver: str) -> str:
        try:
            return self.kubectl("get", "pods,events", "-o", "wide") + self.kubectl("logs", driver)[-6000:]
        except subprocess.CalledProcessError as error:
            return f"{error.stdout}{error.stderr}"

    def _identity(self, secrets: Path) -> dict[str, str]:
        """The submitter is the account that deploy/spark/rbac.yaml makes, not an administrator."""
        authority = secrets / "ca.crt"
        authority.write_bytes(base64.b64decode(self._server()["certificate-authority-data"]))
        return {
            "spark.kubernetes.authenticate.submission.oauthToken": self.kubectl("create", "token", ACCOUNT).strip(),
            "spark.kubernetes.authenticate.submission.caCertFile": str(authority),
        }

    def _server(self) -> dict[str, Any]:
        view = json.loads(self.kubernetes.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
        found: dict[str, Any] = view["clusters"][0]["cluster"]
        return found


def _template() -> dict[str, Any]:
    import yaml

    found: dict[str, Any] = yaml.safe_load((FILES / "pod-template.yaml").read_text())
    return found
