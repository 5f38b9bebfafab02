"""Bringing a cluster up, taking it down, and reaching into it. The acting half; what to run is said elsewhere.

`down` leaves nothing: it kills the keeper, with which the kernel ends every process of the cluster; then the cgroups
go, then the state folder. Mounts and network end with their namespaces.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from deploy.devcluster import build, cgroups, keeper, namespaces, pki, render, requirements
from deploy.devcluster.instance import Instance, Node, cache_home, state_home
from deploy.images import oci

ROOT = Path(__file__).resolve().parents[2]
Progress = Callable[[str], None]


class ClusterError(Exception):
    """What was asked cannot be done; the message says why and what to do."""


def find(name: str) -> Instance | None:
    """The cluster of this name if one runs."""
    settings_file = state_home() / name / "instance.json"
    if not settings_file.exists():
        return None
    instance = keeper.load(settings_file)
    return instance if namespaces.keeper_is_alive(instance) else None


def required(name: str) -> Instance:
    if instance := find(name):
        return instance
    raise ClusterError(f"no cluster named {name} runs here; `up` starts it")


def names() -> list[str]:
    return sorted(folder.name for folder in state_home().glob("*") if folder.is_dir())


def up(name: str, node_count: int, progress: Progress) -> Instance:
    """Starts a cluster, or finds that it runs. Two calls for the same name wait for each other."""
    with _one_at_a_time(name):
        return find(name) or _start(name, node_count, progress)


def _start(name: str, node_count: int, progress: Progress) -> Instance:
    binaries = prepare(progress)
    remove_remains(name)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        instance = Instance(name, state_home() / name, binaries, node_count, listener.getsockname()[1])
        write_files(instance)
        try:
            _start_keeper(instance, listener, progress)
        except BaseException:
            _kill(instance)
            raise
    return instance


@contextlib.contextmanager
def _one_at_a_time(name: str) -> Iterator[None]:
    lock_file = state_home() / f".{name}.lock"  # beside the cluster's folder, which is removed under it
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if not (state_home() / name).exists():
                lock_file.unlink(missing_ok=True)


def prepare(progress: Progress) -> Path:
    """Checks the machine and builds what is not in the cache. Returns the folder of the programs."""
    go_version = build.go_version() if shutil.which("go") else ""
    binaries = cache_home() / build.cache_key(go_version)
    machine = requirements.inspect(cache_home())
    if machine.missing_packages and machine.is_root:
        requirements.install(machine.missing_packages, progress)
        machine = requirements.inspect(cache_home())
    unbuilt = build.missing(binaries)
    if lacks := requirements.lacks(machine, must_build=bool(unbuilt)):
        raise requirements.Unmet("\n".join(lacks))
    binaries.mkdir(parents=True, exist_ok=True)
    for number, program in enumerate(unbuilt, start=1):
        progress(
            f"building {program.name} from source, once ({number} of {len(unbuilt)}, "
            f"about {program.usual_minutes} min on two idle cores)"
        )
        build.build(program, binaries, _every_so_often(progress))
    return binaries


def _every_so_often(progress: Progress, interval_seconds: float = 15) -> Progress:
    """The compiler names each package that it is done with; one of many is enough to see that it goes on."""
    count, last = 0, time.monotonic()

    def counted(line: str) -> None:
        nonlocal count, last
        count += 1
        if time.monotonic() - last >= interval_seconds:
            last = time.monotonic()
            progress(f"  … {count} packages, just now {line}")

    return counted


def write_files(instance: Instance) -> None:
    for folder in (instance.state, instance.logs, instance.config, instance.volumes, instance.state / "hold"):
        folder.mkdir(parents=True, exist_ok=True)
    instance.volumes.chmod(0o755)
    pki.create(instance)
    version = cgroups.mounted().version
    files = render.config_files(instance, cgroup_version=version, cni_binaries=requirements.cni_binaries())
    for name, text in files.items():
        (instance.config / name).write_text(text)
    instance.kubeconfig.write_text(render.kubeconfig(instance, "admin", instance.host_api_url))
    write_helper_images(instance.state / "images")
    keeper.save(instance)


def write_helper_images(folder: Path) -> None:
    """The pause container of every pod and the shell that makes volumes' folders, both from Debian's static busybox."""
    folder.mkdir(exist_ok=True)
    commands = ("sh", "mkdir", "rm", "chmod", "ls", "cat", "sleep")
    entries = [oci.Entry("bin/busybox", source=Path("/bin/busybox"))]
    entries += [oci.Entry(f"bin/{command}", link="busybox") for command in commands]
    layer = oci.write_layer(folder / "busybox.layer", entries)
    pause = oci.Config(user="65535:65535", entrypoint=("/bin/sleep", "infinity"))
    shell = oci.Config(user="0:0", entrypoint=("/bin/sh",))
    oci.write_image(folder / "pause.tar", render.PAUSE_IMAGE, (layer,), pause)
    oci.write_image(folder / "busybox.tar", render.HELPER_IMAGE, (layer,), shell)


def _start_keeper(instance: Instance, listener: socket.socket, progress: Progress) -> None:
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from deploy.devcluster.keeper import main"
    command = (
        sys.executable, "-c", f"{program}; sys.exit(main(sys.argv[1:]))",
        str(ROOT), str(instance.settings_file), str(listener.fileno()),
    )  # fmt: skip
    with open(instance.logs / "keeper.log", "ab") as log:
        process = subprocess.Popen(
            namespaces.unshare_command(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            pass_fds=(listener.fileno(),), start_new_session=True, cwd="/", text=True,
        )  # fmt: skip
    _write_pid_file(instance, process)
    assert process.stdout is not None
    try:
        with process.stdout:
            _follow(instance, process.stdout, progress)
    finally:
        process.returncode = 0  # the keeper outlives us on purpose: nobody is to wait for it


def _write_pid_file(instance: Instance, process: "subprocess.Popen[str]") -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(500):
        if text := children.read_text().split():
            instance.pid_file.write_text(f"{text[0]} {namespaces.start_time(int(text[0]))}\n")
            return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise ClusterError(f"namespaces could not be made: {(instance.logs / 'keeper.log').read_text().strip()}")


def _follow(instance: Instance, lines: IO[str], progress: Progress) -> None:
    for line in lines:
        if line.startswith("failed: "):
            raise ClusterError(f"the cluster did not start: {line.removeprefix('failed: ').strip()}")
        if line.strip() == "ready":
            return
        progress(f"waiting for {line.strip()}" if "to be ready" in line else f"starting {line.strip()}")
    raise ClusterError(f"the cluster's keeper ended early; its log: {instance.logs / 'keeper.log'}")


def down(name: str) -> bool:
    """Ends the cluster and removes every trace of it. False when there was none."""
    with _one_at_a_time(name):
        if not (state_home() / name).exists():
            return False
        remove_remains(name)
        return True


def remove_remains(name: str) -> None:
    state = state_home() / name
    if (settings_file := state / "instance.json").exists():
        instance = keeper.load(settings_file)
        _kill(instance)
        with contextlib.suppress(cgroups.CgroupError):
            cgroups.remove(cgroups.mounted(), instance.cgroup_prefix)
    _remove_folder(state)


def _kill(instance: Instance) -> None:
    if pid := namespaces.keeper_is_alive(instance):
        cgroups.hurry(cgroups.mounted(), instance.cgroup_prefix)
        os.kill(pid, signal.SIGKILL)
        while namespaces.keeper_is_alive(instance) == pid:
            time.sleep(0.05)
    cgroups.remove(cgroups.mounted(), instance.cgroup_prefix)


def _remove_folder(folder: Path, patience_seconds: float = 10) -> None:
    """The last process's mounts vanish a moment after it; until then a folder in them can be busy."""
    deadline = time.monotonic() + patience_seconds
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def enter(instance: Instance, command: Iterable[str], *, folder: Path | None = None) -> tuple[str, ...]:
    """The command line that runs a command inside the cluster's network."""
    pid = namespaces.keeper_is_alive(instance)
    if pid is None:
        raise ClusterError(f"the cluster {instance.name} has ended")
    return namespaces.enter_command(pid, tuple(command), folder=folder or Path.cwd())


def load_image(instance: Instance, image: Path, progress: Progress, node: Node | None = None) -> None:
    """Imports an image archive into the container runtime of every node, or of one."""
    nodes = instance.nodes if node is None else (node,)
    if not image.exists():
        raise ClusterError(f"no such image archive: {image}")
    imports = {
        node: subprocess.Popen(
            enter(instance, keeper.import_command(node, image.resolve())), env=namespaces.environment(instance),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for node in nodes
    }  # fmt: skip
    complaints = {node.name: process.communicate()[1] for node, process in imports.items()}
    if any(process.returncode for process in imports.values()):
        raise ClusterError(f"{image} could not be loaded: {complaints}")
    progress(f"loaded {image.name} into {', '.join(node.name for node in nodes)}")


def node_named(instance: Instance, name: str) -> Node:
    for node in instance.nodes:
        if node.name == name:
            return node
    raise ClusterError(f"no node {name}; there are {', '.join(node.name for node in instance.nodes)}")


def hold_node(instance: Instance, node: Node) -> None:
    """Cuts a node's power: its kubelet, its runtime and its pods are killed and stay down until it is released."""
    (instance.state / "hold" / node.name).touch()


def release_node(instance: Instance, node: Node) -> None:
    (instance.state / "hold" / node.name).unlink(missing_ok=True)
