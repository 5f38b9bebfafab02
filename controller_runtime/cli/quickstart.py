"""`kraft quickstart`: a whole cluster on this machine, for people without Kubernetes.

Every node is a process of its own with its own directory and log file, exactly as it would run elsewhere. The ports,
ids and directory ids are chosen once and kept in `cluster.json`, so a second start on the same directory resumes the
same cluster. When this process ends, by Ctrl-C, SIGTERM or a failure, it takes the nodes with it, brokers first.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

HOST: Final = "127.0.0.1"
START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.05
_FIRST_BROKER_ID: Final = 101


class QuickstartError(Exception):
    """The cluster cannot be started; says why and what to do."""


@dataclass(frozen=True, slots=True)
class Member:
    """One node: its id and ports, and a controller's directory id."""

    node_id: int
    port: int
    http_port: int
    directory_id: str

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What `cluster.json` remembers."""

    cluster_id: str
    controllers: tuple[Member, ...]
    brokers: tuple[Member, ...]

    @property
    def members(self) -> tuple[Member, ...]:
        return (*self.controllers, *self.brokers)

    @property
    def bootstrap_controllers(self) -> str:
        return ",".join(one.address for one in self.controllers)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(one.address for one in self.brokers)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="kraft quickstart", description="Controllers and brokers on this machine.")
    parser.add_argument(
        "--directory", default="kraft-quickstart", help="where the nodes keep their data (default: %(default)s)"
    )
    parser.add_argument("--controllers", type=int, default=3, help="how many controllers (default: %(default)s)")
    parser.add_argument("--brokers", type=int, default=3, help="how many brokers (default: %(default)s)")
    arguments = parser.parse_args(argv)
    asked_to_end = threading.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: asked_to_end.set())
    try:
        if arguments.controllers < 1 or arguments.brokers < 0:
            raise QuickstartError("at least one controller is needed, and no negative number of brokers")
        directory = os.path.abspath(arguments.directory)
        os.makedirs(directory, exist_ok=True)
        plan = load_or_make_plan(directory, arguments.controllers, arguments.brokers)
        _prepare(directory, plan)
        _run(directory, plan, asked_to_end)
    except (QuickstartError, OSError) as error:
        print(f"kraft quickstart: {error}", file=sys.stderr)
        return 1
    return 0


# The plan.


def load_or_make_plan(directory: str, controllers: int, brokers: int) -> Plan:
    path = os.path.join(directory, "cluster.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            plan = _parse_plan(file.read(), path)
        if (len(plan.controllers), len(plan.brokers)) != (controllers, brokers):
            raise QuickstartError(
                f"{directory} holds a cluster of {len(plan.controllers)} controllers and {len(plan.brokers)} "
                f"brokers: start it with --controllers {len(plan.controllers)} --brokers "
                f"{len(plan.brokers)}, or choose another --directory"
            )
        return plan
    if os.listdir(directory):
        raise QuickstartError(f"{directory} is not empty and holds no cluster of ours: choose another --directory")
    plan = _new_plan(controllers, brokers)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(asdict(plan), file, indent=2)
    os.rename(path + ".new", path)
    return plan


def _parse_plan(text: str, path: str) -> Plan:
    try:
        content = json.loads(text)
        return Plan(
            content["cluster_id"],
            tuple(Member(**one) for one in content["controllers"]),
            tuple(Member(**one) for one in content["brokers"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise QuickstartError(f"{path} cannot be read: {error!r}") from error


def _new_plan(controllers: int, brokers: int) -> Plan:
    from controller_runtime.cli.storage import random_uuid

    count = controllers + brokers
    ports = _free_ports(2 * count)

    def member(position: int, node_id: int) -> Member:
        return Member(node_id, ports[position], ports[count + position], str(random_uuid()))

    return Plan(
        str(random_uuid()),
        tuple(member(n, n + 1) for n in range(controllers)),
        tuple(member(controllers + n, _FIRST_BROKER_ID + n) for n in range(brokers)),
    )


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


# The directories.


def _home(directory: str, member: Member, plan: Plan) -> str:
    return os.path.join(directory, f"{'controller' if member in plan.controllers else 'broker'}-{member.node_id}")


def properties(member: Member, plan: Plan, data: str) -> str:
    is_controller = member in plan.controllers
    lines = {
        "process.roles": "controller" if is_controller else "broker",
        "node.id": member.node_id,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": plan.bootstrap_controllers,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "listeners": f"{'CONTROLLER' if is_controller else 'PLAINTEXT'}://{member.address}",
        "log.dirs": data,
        "quorate.http.listener": f"{HOST}:{member.http_port}",
    }
    if not is_controller:
        lines["offsets.topic.replication.factor"] = min(3, len(plan.brokers))
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def _prepare(directory: str, plan: Plan) -> None:
    """Write each node's configuration, and format what is not formatted. Formatting again changes nothing."""
    voters = ",".join(f"{one.node_id}@{one.address}:{one.directory_id}" for one in plan.controllers)
    for member in plan.members:
        home = _home(directory, member, plan)
        os.makedirs(home, exist_ok=True)
        path = os.path.join(home, "server.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.write(properties(member, plan, os.path.join(home, "data")))
        role = ["--initial-controllers", voters] if member in plan.controllers else []
        _format(["format", "-c", path, "-t", plan.cluster_id, "--ignore-formatted", *role])


def _format(arguments: list[str]) -> None:
    from controller_runtime.cli import storage

    said, failed = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(failed):
        code = storage.main(arguments)
    if code:
        raise QuickstartError(f"formatting failed: {failed.getvalue().strip()}")


# The processes.


def _run(directory: str, plan: Plan, asked_to_end: threading.Event) -> None:
    """Until a signal sets the event. Nothing is raised out of a signal's handler: in the middle of `Popen.poll` that
    would leave its lock taken, and the wait for the node's end would never return."""
    running: list[tuple[Member, subprocess.Popen[bytes]]] = []
    try:
        for member in plan.members:
            running.append((member, _start(_home(directory, member, plan))))
        _wait_until_ready(directory, plan, running, asked_to_end)
        if asked_to_end.is_set():
            return
        for line in greeting(directory, plan):
            print(line)
        sys.stdout.flush()
        while not asked_to_end.wait(0.5):
            _check_alive(directory, plan, running)
    finally:
        _stop([process for member, process in running if member in plan.brokers])
        _stop([process for member, process in running if member in plan.controllers])


def _start(home: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "controller_runtime.cli.main",
        "server-start",
        os.path.join(home, "server.properties"),
    ]
    with open(os.path.join(home, "node.log"), "ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with_parent(),  # noqa: PLW1509 - this process has one thread
        )


def _die_with_parent() -> Callable[[], object]:
    """Linux: a node whose quickstart was killed with SIGKILL gets SIGTERM."""
    import ctypes

    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(1, signal.SIGTERM)


def _wait_until_ready(
    directory: str,
    plan: Plan,
    running: Sequence[tuple[Member, subprocess.Popen[bytes]]],
    asked_to_end: threading.Event,
) -> None:
    deadline = time.monotonic() + START_SECONDS
    waiting = list(plan.members)
    while waiting and not asked_to_end.is_set():
        _check_alive(directory, plan, running)
        waiting = [member for member in waiting if not _is_ready(member)]
        if waiting and time.monotonic() > deadline:
            names = ", ".join(os.path.basename(_home(directory, member, plan)) for member in waiting)
            raise QuickstartError(f"not ready within {START_SECONDS:g} s: {names} (see node.log there)")
        time.sleep(_POLL_SECONDS)


def _is_ready(member: Member) -> bool:
    try:
        with socket.create_connection((HOST, member.http_port), timeout=5) as connection:
            connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: quickstart\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def _check_alive(directory: str, plan: Plan, running: Sequence[tuple[Member, subprocess.Popen[bytes]]]) -> None:
    for member, process in running:
        if (code := process.poll()) is not None:
            log = os.path.join(_home(directory, member, plan), "node.log")
            with open(log, encoding="utf-8", errors="replace") as file:
                last = "".join(file.readlines()[-5:]).rstrip()
            raise QuickstartError(f"node {member.node_id} ended with code {code}; the end of {log}:\n{last}")


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        try:
            process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def greeting(directory: str, plan: Plan) -> Iterator[str]:
    yield f"bootstrap.servers={plan.bootstrap_servers}"
    yield f"bootstrap.controllers={plan.bootstrap_controllers}"
    yield ""
    yield f"{len(plan.controllers)} controllers and {len(plan.brokers)} brokers run, in {directory}. Try next:"
    yield f"  kraft metadata-quorum --bootstrap-controller {plan.bootstrap_controllers} describe --status"
    if plan.brokers:
        yield f"  kraft topics --bootstrap-server {plan.bootstrap_servers} --create --topic hello --partitions 3"
        yield f"  kraft topics --bootstrap-server {plan.bootstrap_servers} --describe --topic hello"
        yield f"  kraft cluster list-endpoints --bootstrap-server {plan.bootstrap_servers}"
    yield f"Ctrl-C ends them; kraft quickstart --directory {directory} resumes this cluster."
