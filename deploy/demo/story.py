"""The demo, chapter by chapter: a Kubernetes, the operator, a quorum that is secure by default, a client that is let in
and one that is not, and a controller that goes and returns.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from deploy.demo import objects
from deploy.demo import target as targets
from deploy.demo.narrator import Narrator
from deploy.demo.target import Target
from deploy.devcluster import cluster, requirements
from deploy.devcluster.build import BuildError
from deploy.devcluster.cgroups import CgroupError
from deploy.images import build as images

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "kraft-operator"
EXAMPLE = ROOT / "deploy" / "examples" / "quickstart.yaml"
OPERATOR_NAMESPACE = "kraft-operator"
NAMESPACE = "quorate-demo"
MADE_BY_THE_DEMO = {"app.kubernetes.io/created-by": "quorate-demo"}
"""The demo deletes a namespace only if it carries this label: on a cluster of the user's the name may be taken."""
CLIENT = "demo-client"
STRANGER = "demo-stranger"
TOOLS = "demo-tools"
COUNT = 10_000
DELETE_AFTER = "wrote 3,000"
EXPECTED = (cluster.ClusterError, requirements.Unmet, BuildError, CgroupError, *images.ERRORS)
QUORUM_PATIENCE_SECONDS = 180
CLIENT_PATIENCE_SECONDS = 240


class DemoError(Exception):
    """The story did not go as written; the message says where it stopped."""


class Demo:
    def __init__(self, target: Target, narrator: Narrator) -> None:
        self.target = target
        self.narrator = narrator
        self.example: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())
        self.name: str = self.example["metadata"]["name"]
        self.operator_build = "given"
        """What was built, noted on the operator's pod: the same tag with other content must start a new pod."""

    def tell(self) -> int:
        """The whole story. Returns how many records the client read back."""
        self.provide_images()
        self.forget_earlier_run()
        self.install_operator()
        self.apply_cluster()
        self.show_security()
        self.refuse_a_stranger()
        self.make_a_user()
        count = self.run_client()
        self.show_quorum()
        self.say_how_to_go_on()
        self.narrator.say(
            f"The client wrote {COUNT:,} records and read every one of them back while a controller was away:"
        )
        print(f"{count:,} of {COUNT:,}", flush=True)
        return count

    def provide_images(self) -> None:
        if self.target.instance_name is None:
            self.narrator.say(f"The images are expected in {self.target.registry}.")
            return
        with self.narrator.chapter(
            "Three images are built without Docker and loaded into every node.", "The images are there."
        ):
            digests = targets.load_images(self.target.instance_name, self.narrator.detail)
            self.operator_build = digests["operator"][:16]

    def install_operator(self) -> None:
        repository, _, tag = self.target.image("operator").rpartition(":")
        with self.narrator.chapter("Helm installs the operator.", "The operator runs."):
            self.target.helm(
                "upgrade", "--install", "kraft-operator", str(CHART), "--namespace", OPERATOR_NAMESPACE,
                "--create-namespace", "--set", f"image.repository={repository}", "--set", f"image.tag={tag}",
                "--set-string", f"podAnnotations.kraft\\.quorate\\.dev/image={self.operator_build}", "--take-ownership",
                "--wait", "--timeout", "3m", *self.target.helm_arguments,
            )  # fmt: skip

    def apply_cluster(self) -> None:
        spec = self.example["spec"]
        spec["image"] = {"reference": self.target.image("runtime"), "pullPolicy": "IfNotPresent"}
        self.example["metadata"]["namespace"] = NAMESPACE
        controllers = spec.get("controllers", {}).get("replicas", 3)
        brokers = sum(pool["replicas"] for pool in spec["brokerPools"])
        self.narrator.say(
            f"A KRaftCluster named {self.name} is applied: {controllers} controllers, {brokers} brokers "
            f"({EXAMPLE.relative_to(ROOT)})."
        )
        began = time.monotonic()
        self.target.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(self.example))
        status = self.wait_for("a leader", lambda status: status.get("quorum", {}).get("leaderID", -1) >= 0)
        quorum = status["quorum"]
        self.narrator.say(
            f"The {quorum.get('size', controllers)} controllers have elected a leader: node {quorum['leaderID']}, "
            f"epoch {quorum['epoch']} ({time.monotonic() - began:.1f} s after the apply)."
        )
        self.wait_for("the brokers", lambda status: status.get("brokers", {}).get("ready", 0) >= brokers)
        self.wait_for("the condition Ready", is_ready)
        self.narrator.say(f"All {brokers} brokers have registered ({time.monotonic() - began:.1f} s after the apply).")

    def forget_earlier_run(self) -> None:
        """Volumes and ledger outlive a KRaftCluster on purpose, so a demo from the beginning begins with
        the namespace.
        """
        found = self.target.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found", "-o", "json")
        if found:
            if not MADE_BY_THE_DEMO.items() <= json.loads(found)["metadata"].get("labels", {}).items():
                raise DemoError(
                    f"a namespace {NAMESPACE} exists that the demo did not make: it is left alone; "
                    "rename it or use another cluster"
                )
            with self.narrator.chapter("An earlier demo is removed, its volumes too.", "It is gone."):
                self.target.kubectl("delete", "namespace", NAMESPACE, "--timeout=180s")
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": NAMESPACE,
                "labels": MADE_BY_THE_DEMO | {"pod-security.kubernetes.io/enforce": "restricted"},
            },
        }
        self.target.kubectl("apply", "-f", "-", stdin=json.dumps(namespace))

    def wait_for(self, what: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + QUORUM_PATIENCE_SECONDS
        status: dict[str, Any] = {}
        while time.monotonic() < deadline:
            document = json.loads(self.target.kubectl("-n", NAMESPACE, "get", "kraftcluster", self.name, "-o", "json"))
            status = document.get("status", {})
            if done(status):
                return status
            time.sleep(0.3)
        conditions = json.dumps(status.get("conditions", []), indent=1)
        raise DemoError(f"waited {QUORUM_PATIENCE_SECONDS} s for {what} in vain; the conditions are: {conditions}")

    def run_client(self) -> int:
        """Starts the client, takes the leader's pod away in the middle of it, and returns the client's count."""
        self.narrator.say("A Kafka client that nobody here wrote (kafka-python, in a pod) starts.")
        arguments = [self.servers, "--count", str(COUNT), "--login", objects.LOGIN]
        self.start(objects.client_pod(CLIENT, self.target.image("demo-client"), arguments, self.name, login=True))
        count, victim = "", None
        logs = self.target.follow("-n", NAMESPACE, "logs", "--follow", f"pod/{CLIENT}")
        assert logs.stdout is not None
        for line in map(str.strip, logs.stdout):
            count = line
            self.narrator.detail(line)
            if line.startswith(DELETE_AFTER):
                victim = self.delete_leader()
        logs.wait()
        if victim is None or not count.endswith(f" of {COUNT:,}"):
            raise DemoError(f"the client did not finish; its last line: {count!r}")
        self.wait_for_return(*victim)
        return int(count.split()[0].replace(",", ""))

    def wait_until_started(self, pod: str) -> None:
        deadline = time.monotonic() + CLIENT_PATIENCE_SECONDS
        path = ("-o", "jsonpath={.status.phase}")
        while self.target.kubectl("-n", NAMESPACE, "get", "pod", pod, *path) in ("", "Pending"):
            if time.monotonic() > deadline:
                raise DemoError(f"the pod {pod} did not start")
            time.sleep(0.2)

    def start(self, pod: dict[str, Any]) -> None:
        self.target.kubectl("-n", NAMESPACE, "apply", "-f", "-", stdin=json.dumps(pod))
        self.wait_until_started(pod["metadata"]["name"])

    @property
    def servers(self) -> str:
        return f"{self.name}-bootstrap.{NAMESPACE}.svc:9092"

    def show_security(self) -> None:
        """The resource says nothing of it: a cluster that is formed is secure."""
        status = self.wait_for("the condition Secure", lambda status: _holds(status, "Secure"))
        told = next(each["message"] for each in status["conditions"] if each["type"] == "Secure")
        self.narrator.say(f"Nobody asked for security, and it is there: {told}.")

    def refuse_a_stranger(self) -> None:
        self.narrator.say("A client without a login comes, with the cluster's public certificate and nothing else.")
        arguments = [self.servers, "--stranger", f"{objects.CA}/ca.crt"]
        self.start(objects.client_pod(STRANGER, self.target.image("demo-client"), arguments, self.name, login=False))
        logs = self.target.follow("-n", NAMESPACE, "logs", "--follow", f"pod/{STRANGER}")
        assert logs.stdout is not None
        said = [line.strip() for line in logs.stdout]
        logs.wait()
        for line in said:
            self.narrator.detail(line)
        if not said or said[-1] != "refused in 3 of 3 ways":
            raise DemoError("a client without a login was not refused in every way")

    def make_a_user(self) -> None:
        resource = json.dumps(objects.user(self.name, NAMESPACE))
        with self.narrator.chapter(
            f"A KRaftUser {objects.USER} is applied: topics and groups whose name begins so are its own.",
            f"It may log in with what is in the Secret {objects.USER}-credentials.",
        ):
            self.target.kubectl("apply", "-f", "-", stdin=resource)
            ready = ("--for=condition=Ready", "--timeout=120s")
            self.target.kubectl("-n", NAMESPACE, "wait", f"kraftuser/{objects.USER}", *ready)

    def delete_leader(self) -> tuple[str, str, float]:
        document = json.loads(self.target.kubectl("-n", NAMESPACE, "get", "kraftcluster", self.name, "-o", "json"))
        pod = f"{self.name}-controller-{document['status']['quorum']['leaderID']}-0"
        uid = self.pod_uid(pod)
        self.target.kubectl("-n", NAMESPACE, "delete", "pod", pod, "--wait=false")
        self.narrator.say(f"The leading controller's pod, {pod}, is deleted while the client writes.")
        return pod, uid, time.monotonic()

    def pod_uid(self, pod: str) -> str:
        return self.target.kubectl(
            "-n", NAMESPACE, "get", "pod", pod, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}"
        )

    def wait_for_return(self, pod: str, old_uid: str, deleted: float) -> None:
        deadline = time.monotonic() + CLIENT_PATIENCE_SECONDS
        while self.pod_uid(pod) in ("", old_uid):
            if time.monotonic() > deadline:
                raise DemoError(f"{pod} did not return")
            time.sleep(0.3)
        self.target.kubectl("-n", NAMESPACE, "wait", f"pod/{pod}", "--for=condition=Ready", "--timeout=120s")
        self.wait_for("the condition Ready", is_ready)
        self.narrator.say(
            f"{pod} has returned with its disk, and the quorum with it ({time.monotonic() - deleted:.1f} s or less)."
        )

    def show_quorum(self) -> None:
        self.start(objects.tools_pod(TOOLS, self.target.image("runtime")))
        self.target.kubectl("-n", NAMESPACE, "wait", f"pod/{TOOLS}", "--for=condition=Ready", "--timeout=60s")
        self.narrator.say("This is what Kafka's own tool says about the quorum, with the same login:")
        command = ("-n", NAMESPACE, *in_tools(self.servers), "describe", "--replication")
        self.narrator.block(self.target.kubectl(*command))

    def say_how_to_go_on(self) -> None:
        self.narrator.block(how_to_go_on(self.target, self.name))


def is_ready(status: dict[str, Any]) -> bool:
    return _holds(status, "Ready")


def _holds(status: dict[str, Any], kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions", []))


def in_tools(servers: str) -> tuple[str, ...]:
    """How kubectl asks about the quorum, as the demo's user."""
    tool = ("/opt/kafka/bin/kafka-metadata-quorum.sh", "--bootstrap-server", servers)
    return ("exec", TOOLS, "--", *tool, "--command-config", f"{objects.LOGIN}/client.properties")


def how_to_go_on(target: Target, name: str) -> str:
    if target.instance_name is None:
        kubectl, stop = " ".join(target.kubectl_command), f"kubectl delete namespace {NAMESPACE} {OPERATOR_NAMESPACE}"
    else:
        devcluster = "python deploy/devcluster" + (
            "" if target.instance_name == "main" else f" --name {target.instance_name}"
        )
        kubectl, stop = f"{devcluster} kubectl", f"{devcluster} down"
    asks = " ".join(in_tools(f"{name}-bootstrap:9092"))
    return f"""
To look around:
  {kubectl} -n {NAMESPACE} get krc,pods,pvc
  {kubectl} -n {NAMESPACE} describe krc {name}
  {kubectl} -n {NAMESPACE} {asks} describe --status
  {kubectl} -n {NAMESPACE} delete pod {name}-controller-1-0
To stop it and leave nothing behind:
  {stop}
"""


def main(arguments: Sequence[str] = ()) -> int:
    argparse.ArgumentParser(
        prog="python -m deploy.demo", description=__doc__, epilog=targets.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(arguments)  # fmt: skip
    narrator = Narrator()
    try:
        narrator.say(
            "A Kubernetes is needed: a real one of three nodes on this machine, or the one that DEMO_CONTEXT names."
        )
        target = targets.choose(narrator.detail)
        narrator.say("The Kubernetes answers.")
        return 0 if Demo(target, narrator).tell() == COUNT else 1
    except (*EXPECTED, DemoError, targets.CommandError, targets.TargetError) as error:
        narrator.say(f"The demo stopped: {error}")
    except subprocess.SubprocessError as error:
        narrator.say(f"The demo stopped: {error!r}")
    except KeyboardInterrupt:
        narrator.say(
            "The demo was interrupted; a cluster that it started runs on: python deploy/devcluster down ends it."
        )
    return 1
