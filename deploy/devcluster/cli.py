"""The commands of `python deploy/devcluster`: a real Kubernetes of several nodes on one machine."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.devcluster import build, cgroups, cluster, namespaces, requirements
from deploy.devcluster.instance import Instance, cache_home

DESCRIPTION = """\
A real Kubernetes of several nodes on one machine, without Docker: Kubernetes, etcd, CoreDNS and Helm from their Go
modules, containerd and runc from Debian, in network, mount and process namespaces of their own.
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="devcluster", description=DESCRIPTION)
    top.add_argument("--name", default=os.environ.get("QUORATE_DEVCLUSTER_NAME", "main"), help="which cluster (main)")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="build what is missing, start the cluster, say how to use it")
    up.add_argument("--nodes", type=int, default=3, help="how many nodes (3)")
    commands.add_parser("build", help="build the programs into the cache, start nothing")
    commands.add_parser("down", help="end the cluster and remove every trace of it")
    commands.add_parser("status", help="the nodes and the programs, and where logs are")
    commands.add_parser("kubeconfig", help="print the path of the kubeconfig for programs on this machine")
    commands.add_parser("clean", help="remove the cache of built programs")
    load = commands.add_parser("load", help="load image archives into every node")
    load.add_argument("images", nargs="+", type=Path, metavar="IMAGE.tar")
    load.add_argument("--node", help="into this node alone, for example node1")
    logs = commands.add_parser("logs", help="the last lines of the programs' logs")
    logs.add_argument("program", nargs="?", help="only this program's, for example kubelet-2; whole")
    for name, text in (("stop-node", "cut a node's power"), ("start-node", "give a node its power back")):
        node = commands.add_parser(name, help=text)
        node.add_argument("node", help="for example node2")
    for name, text in (
        ("kubectl", "run kubectl against the cluster"),
        ("helm", "run helm against the cluster"),
        ("in", "run any command inside the cluster's network, where pods and services are reachable by name"),
    ):
        commands.add_parser(name, help=text, add_help=False)
    return top


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and those that belong to kubectl, helm or the command to run: argparse must not see these."""
    for index, argument in enumerate(arguments):
        if argument in PASS_THROUGH and (index == 0 or arguments[index - 1] != "--name"):
            return list(arguments[: index + 1]), list(arguments[index + 1 :])
        if argument in COMMANDS and (index == 0 or arguments[index - 1] != "--name"):
            break
    return list(arguments), []


def main(arguments: Sequence[str]) -> int:
    own, passed = split(arguments)
    options = parser().parse_args(own)
    options.arguments = passed
    try:
        result = COMMANDS[options.command](options)
    except (
        cluster.ClusterError,
        requirements.Unmet,
        build.BuildError,
        cgroups.CgroupError,
        ValueError,
        OSError,
    ) as error:
        print(f"devcluster: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("devcluster: interrupted", file=sys.stderr)
        return 130
    return result


def reporter() -> Callable[[str], None]:
    """Prints each step with the seconds since the first."""
    began = time.monotonic()

    def report(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f}s  {line}", flush=True)

    return report


def _up(options: argparse.Namespace) -> int:
    report = reporter()
    already = cluster.find(options.name) is not None
    instance = cluster.up(options.name, options.nodes, report)
    nodes = f"{len(instance.nodes)} nodes"
    report(f"the cluster {instance.name} ({nodes}) was running already" if already else f"{nodes} are ready")
    print(usage(instance))
    return 0


def usage(instance: Instance) -> str:
    program = "python deploy/devcluster" + ("" if instance.name == "main" else f" --name {instance.name}")
    return f"""
  {program} kubectl get nodes          or KUBECONFIG={instance.kubeconfig}
  {program} in COMMAND                 runs COMMAND where pods and services are reachable by name
  {program} load IMAGE.tar             for pods with imagePullPolicy: IfNotPresent
  {program} down                       ends it and removes every trace
"""


def _build(_options: argparse.Namespace) -> int:
    binaries = cluster.prepare(reporter())
    print(f"every program is in {binaries}")
    return 0


def _down(options: argparse.Namespace) -> int:
    report = reporter()
    existed = cluster.down(options.name)
    report(f"the cluster {options.name} has ended" if existed else f"no cluster named {options.name} was there")
    return 0


def _status(options: argparse.Namespace) -> int:
    instance = cluster.find(options.name)
    if instance is None:
        others = ", ".join(name for name in cluster.names() if cluster.find(name))
        print(f"no cluster named {options.name} runs here" + (f"; running: {others}" if others else ""))
        return 1
    print(f"cluster {instance.name}, keeper {namespaces.keeper_is_alive(instance)}, logs in {instance.logs}")
    print(f"kubeconfig {instance.kubeconfig}, programs {instance.binaries}")
    return _run_with_api(instance, "kubectl", ["get", "nodes", "-o", "wide"])


def _kubeconfig(options: argparse.Namespace) -> int:
    print(cluster.required(options.name).kubeconfig)
    return 0


def _clean(_options: argparse.Namespace) -> int:
    shutil.rmtree(cache_home(), ignore_errors=True)
    print(f"removed {cache_home()}")
    return 0


def _load(options: argparse.Namespace) -> int:
    instance, report = cluster.required(options.name), reporter()
    node = cluster.node_named(instance, options.node) if options.node else None
    for image in options.images:
        cluster.load_image(instance, image, report, node)
    return 0


def _logs(options: argparse.Namespace) -> int:
    instance = cluster.required(options.name)
    if options.program:
        print((instance.logs / f"{options.program}.log").read_text(errors="replace"), end="")
        return 0
    for log in sorted(instance.logs.glob("*.log")):
        print(f"== {log}")
        print("\n".join(log.read_text(errors="replace").splitlines()[-5:]))
    return 0


def _stop_node(options: argparse.Namespace) -> int:
    instance = cluster.required(options.name)
    cluster.hold_node(instance, cluster.node_named(instance, options.node))
    return 0


def _start_node(options: argparse.Namespace) -> int:
    instance = cluster.required(options.name)
    cluster.release_node(instance, cluster.node_named(instance, options.node))
    return 0


def _kubectl(options: argparse.Namespace) -> int:
    return _run_with_api(cluster.required(options.name), "kubectl", options.arguments)


def _helm(options: argparse.Namespace) -> int:
    return _run_with_api(cluster.required(options.name), "helm", options.arguments)


def _run_with_api(instance: Instance, program: str, arguments: Sequence[str]) -> int:
    environment = {**os.environ, "KUBECONFIG": str(instance.kubeconfig)}
    return subprocess.run((str(instance.binaries / program), *arguments), env=environment, check=False).returncode


def _in(options: argparse.Namespace) -> int:
    instance = cluster.required(options.name)
    command = [argument for index, argument in enumerate(options.arguments) if (index, argument) != (0, "--")]
    if not command:
        raise cluster.ClusterError("say which command to run: devcluster in COMMAND ...")
    environment = namespaces.environment(instance)
    return subprocess.run(cluster.enter(instance, command), env=environment, check=False).returncode


PASS_THROUGH = ("kubectl", "helm", "in")
COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "up": _up,
    "build": _build,
    "down": _down,
    "status": _status,
    "kubeconfig": _kubeconfig,
    "clean": _clean,
    "load": _load,
    "logs": _logs,
    "stop-node": _stop_node,
    "start-node": _start_node,
    "kubectl": _kubectl,
    "helm": _helm,
    "in": _in,
}
