"""Process 1 of a cluster: builds the world inside its namespaces, starts every component, keeps them running.

It is given one pipe, its standard output, on which it says what it is doing, line by line, and last `ready` or
`failed: why`. Afterwards it only keeps: a component that ends is started again, unless its node is held
(`hold/NODE` exists), in which case the node's processes and pods are killed as by a power cut.
When the keeper ends, the kernel ends everything else.
"""

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from deploy.devcluster import cgroups, namespaces
from deploy.devcluster.components import Component, Phase, components, search_path
from deploy.devcluster.instance import Instance, Node

API_PATIENCE_SECONDS = 240
NODES_PATIENCE_SECONDS = 240
RESTART_DELAY_SECONDS = 1.0
KEEP_INTERVAL_SECONDS = 0.3


class StartError(Exception):
    """A component did not come up; the message names it and its log."""


@dataclass(slots=True)
class Keeper:
    instance: Instance
    api_descriptor: int
    running: dict[int, Component] = field(default_factory=dict)
    handles: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    not_before: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        """The first start, in phases, each reported."""
        all_components = components(self.instance)
        say("network, mounts and cgroups")
        namespaces.prepare(self.instance)
        for node in self.instance.nodes:
            cgroups.create(cgroups.mounted(), self.instance.cgroup(node))
        say("etcd, the API server and a container runtime per node")
        for component in all_components:
            if component.phase is Phase.FIRST:
                self.spawn(component)
        self.spawn(_relay(self.instance, self.api_descriptor))
        for node in self.instance.nodes:
            self.wait_for(f"containerd of {node.name}", API_PATIENCE_SECONDS, lambda: _runtime_answers(node))  # noqa: B023
        self.load_images()
        self.wait_for("the API server", API_PATIENCE_SECONDS, lambda: self.get("/readyz") is not None)
        say("scheduler, controllers, kubelets, DNS and volumes")
        for component in all_components:
            if component.phase is Phase.WITH_API:
                self.spawn(component)
        self.apply_addons()
        say(f"{len(self.instance.nodes)} nodes to be ready")
        self.wait_for("every node to be ready", NODES_PATIENCE_SECONDS, self.nodes_are_ready)
        self.wait_for("the namespace default", NODES_PATIENCE_SECONDS, self.pods_are_admitted)

    def spawn(self, component: Component) -> None:
        log = open(self.instance.logs / f"{component.name}.log", "ab")  # noqa: SIM115  the child inherits it
        inherited = (self.api_descriptor,) if component.name == "relay" else ()
        environment = {**os.environ, "PATH": search_path(self.instance.binaries)}
        with log:
            process = subprocess.Popen(
                component.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                pass_fds=inherited, start_new_session=True,
            )  # fmt: skip
        self.running[process.pid] = component
        self.handles[process.pid] = process

    def load_images(self) -> None:
        images = sorted((self.instance.state / "images").glob("*.tar"))
        imports = [
            subprocess.Popen(import_command(node, image), stdout=subprocess.DEVNULL)
            for node in self.instance.nodes
            for image in images
        ]
        if any(process.wait() for process in imports):
            raise StartError("the images of the cluster's own pods could not be loaded; see keeper.log")

    def apply_addons(self) -> None:
        kubectl = (str(self.instance.binaries / "kubectl"), f"--kubeconfig={self.instance.config}/inside.kubeconfig")
        apply = (*kubectl, "apply", "--server-side", "-f", str(self.instance.config / "addons.yaml"))
        done = subprocess.run(apply, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StartError(f"kubectl apply of the addons failed: {done.stderr.strip()}")

    def nodes_are_ready(self) -> bool:
        document = self.get("/api/v1/nodes")
        if document is None:
            return False
        ready = [item for item in json.loads(document)["items"] if _is_ready(item)]
        return len(ready) == len(self.instance.nodes)

    def pods_are_admitted(self) -> bool:
        """A namespace without its service account, which a controller makes, refuses every pod."""
        return self.get("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def get(self, path: str) -> bytes | None:
        pki = self.instance.pki
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        try:
            with urllib.request.urlopen(self.instance.api_url + path, context=context, timeout=5) as answer:  # noqa: S310
                body: bytes = answer.read()
        except OSError:
            return None
        return body

    def wait_for(self, what: str, patience_seconds: float, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + patience_seconds
        while not done():
            self.reap()
            if time.monotonic() > deadline:
                raise StartError(f"waited {patience_seconds:.0f} s for {what} in vain; logs: {self.instance.logs}")
            time.sleep(0.1)

    def reap(self) -> None:
        """Every process of the cluster that loses its parent becomes ours; only components are remembered."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if component := self.running.pop(pid, None):
                code = self.handles.pop(pid).returncode = os.waitstatus_to_exitcode(status)
                note(f"{component.name} ended: {code}")
                self.not_before[component.name] = time.monotonic() + RESTART_DELAY_SECONDS

    def keep(self) -> NoReturn:
        while True:
            time.sleep(KEEP_INTERVAL_SECONDS)
            self.reap()
            self.reconcile()

    def reconcile(self) -> None:
        """Holds the nodes that are to be held, and starts what should run and does not."""
        held = {node.name for node in self.instance.nodes if self.hold_file(node).exists()}
        present = {component.name for component in self.running.values()}
        for node in self.instance.nodes:
            if node.name in held:
                self.cut_power(node)
        wanted = (*components(self.instance), _relay(self.instance, self.api_descriptor))
        for component in wanted:
            if component.node and component.node.name in held:
                continue
            if component.name not in present and time.monotonic() >= self.not_before.get(component.name, 0):
                note(f"starting {component.name} again")
                self.spawn(component)

    def hold_file(self, node: Node) -> Path:
        return self.instance.state / "hold" / node.name

    def cut_power(self, node: Node) -> None:
        victims = {pid for pid, component in self.running.items() if component.node == node}
        victims |= cgroups.members(cgroups.mounted(), self.instance.cgroup(node))
        victims |= _processes_naming(str(node.containerd_socket))
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def import_command(node: Node, image: Path) -> tuple[str, ...]:
    return ("ctr", f"--address={node.containerd_socket}", "--namespace=k8s.io", "images", "import", str(image))


def _relay(instance: Instance, descriptor: int) -> Component:
    script = str(Path(__file__).with_name("relay.py"))
    command = (sys.executable, script, str(descriptor), instance.first.address, "6443")
    return Component("relay", command, Phase.FIRST)


def _runtime_answers(node: Node) -> bool:
    if not node.containerd_socket.exists():
        return False
    version = ("ctr", f"--address={node.containerd_socket}", "version")
    return subprocess.run(version, capture_output=True, check=False).returncode == 0


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node["status"].get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def _processes_naming(text: str) -> set[int]:
    """Processes with this text as one of their arguments: the shims of one container runtime."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if text.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    return found


def save(instance: Instance) -> None:
    document = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(instance).items()}
    instance.settings_file.write_text(json.dumps(document, indent=1) + "\n")


def load(settings_file: Path) -> Instance:
    document = json.loads(settings_file.read_text())
    return Instance(**{**document, "state": Path(document["state"]), "binaries": Path(document["binaries"])})


def say(line: str) -> None:
    print(line, flush=True)


def note(line: str) -> None:
    print(time.strftime("%H:%M:%S", time.gmtime()), line, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    settings_file, descriptor = arguments
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # process 1 ignores what it does not handle
    keeper = Keeper(load(Path(settings_file)), int(descriptor))
    try:
        keeper.start()
    except (StartError, cgroups.CgroupError, subprocess.CalledProcessError, OSError) as error:
        note(f"failed: {error} {getattr(error, 'stderr', '') or ''}")
        say(f"failed: {error} {getattr(error, 'stderr', '') or ''}".replace("\n", " "))
        return 1
    say("ready")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the pipe's reader goes its way
    return keeper.keep()
