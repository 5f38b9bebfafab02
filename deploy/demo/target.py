"""Which Kubernetes the demo runs on: the single-machine one, or the one that the user names.

`DEMO_CONTEXT` names a context of the user's kubeconfig; then `DEMO_REGISTRY` says where its nodes find our three
images. `DEMO_HELM_ARGUMENTS` is added to the operator's installation, for a cluster that has demands of its own. Either
way the demo speaks to it through kubectl and helm alone.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deploy.devcluster import cluster
from deploy.images import build, oci

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ("runtime", "operator", "demo-client")


class TargetError(Exception):
    """The Kubernetes cannot be used; the message says what is missing."""


class CommandError(Exception):
    """A command failed; the message is the command and what it said."""


@dataclass(frozen=True, slots=True)
class Target:
    """Commands that reach a cluster, and the names under which it finds our images."""

    kubectl_command: tuple[str, ...]
    helm_command: tuple[str, ...]
    environment: Mapping[str, str]
    registry: str
    instance_name: str | None
    helm_arguments: tuple[str, ...] = ()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        return run((*self.kubectl_command, *arguments), self.environment, stdin)

    def helm(self, *arguments: str) -> str:
        return run((*self.helm_command, *arguments), self.environment)

    def follow(self, *arguments: str) -> "subprocess.Popen[str]":
        """kubectl, whose output is read line by line while it runs."""
        command = (*self.kubectl_command, *arguments)
        return subprocess.Popen(command, env={**self.environment}, stdout=subprocess.PIPE, text=True)

    def image(self, name: str) -> str:
        return f"{self.registry}/{name}:dev"


def run(command: tuple[str, ...], environment: Mapping[str, str], stdin: str | None = None) -> str:
    done = subprocess.run(command, env={**environment}, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandError(f"{' '.join(command)}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def from_context(context: str, environment: Mapping[str, str]) -> Target:
    """A cluster of the user's: needs kubectl, helm and a registry with the images."""
    if absent := [program for program in ("kubectl", "helm") if shutil.which(program) is None]:
        raise TargetError(f"DEMO_CONTEXT is given, but {' and '.join(absent)} is not on the PATH")
    registry = environment.get("DEMO_REGISTRY", "").rstrip("/")
    if not registry:
        names = ", ".join(f"REGISTRY/{name}:dev" for name in IMAGES)
        raise TargetError(
            f"DEMO_CONTEXT is given: set DEMO_REGISTRY=REGISTRY to where that cluster finds {names}. "
            "Make them with docker build (deploy/images/Dockerfile.*), or `python deploy/images --output DIR` and "
            "skopeo copy oci-archive:DIR/NAME.tar docker://REGISTRY/NAME:dev"
        )
    return Target(("kubectl", "--context", context), ("helm", "--kube-context", context), environment, registry, None)


def single_machine(name: str, environment: Mapping[str, str], progress: Callable[[str], None]) -> Target:
    """Brings the cluster up if it is down."""
    instance = cluster.up(name, 3, progress)
    kubectl, helm = (str(instance.binaries / program) for program in ("kubectl", "helm"))
    reaching = {**environment, "KUBECONFIG": str(instance.kubeconfig)}
    return Target((kubectl,), (helm,), reaching, "localhost/quorate", name)


def load_images(name: str, progress: Callable[[str], None]) -> dict[str, str]:
    """Builds the images, loads them into every node, and returns the digests of the archives."""
    instance = cluster.required(name)
    digests = {}
    for image in IMAGES:
        archive = build.build(image)
        progress(f"{build.reference(image)} is built, {archive.stat().st_size / 1e6:.0f} MB")
        cluster.load_image(instance, archive, lambda _: None)
        digests[image] = oci.existing_layer(archive).digest
    return digests


def choose(progress: Callable[[str], None]) -> Target:
    context = os.environ.get("DEMO_CONTEXT")
    if context:
        target = from_context(context, os.environ)
    else:
        target = single_machine(os.environ.get("QUORATE_DEVCLUSTER_NAME", "main"), os.environ, progress)
    return replace(target, helm_arguments=tuple(shlex.split(os.environ.get("DEMO_HELM_ARGUMENTS", ""))))
