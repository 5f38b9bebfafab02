"""The world a cluster lives in: its own network, mounts and process ids, entered from outside by nsenter.

`prepare` runs inside, first of all. What it changes ends with the namespaces: the bridge, a tmpfs for sockets, the
names the processes resolve, and shadows over the kernel's settings that a kubelet would else change for the whole
machine.
"""

import contextlib
import os
import subprocess
from pathlib import Path

from deploy.devcluster.components import search_path
from deploy.devcluster.instance import BRIDGE, RUN, Instance

# Everything a kubelet writes at its start (pkg/kubelet/cm, setupKernelTunables); none of it belongs to a namespace.
KERNEL_SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


def unshare_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Starts the command as process 1 of new namespaces: when it ends, the kernel ends all that it started."""
    flags = ("--net", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private")
    return ("unshare", *flags, "--", *command)


def enter_command(keeper_pid: int, command: tuple[str, ...], *, folder: Path) -> tuple[str, ...]:
    """Entering the mount namespace changes the working directory, hence `--wd`."""
    return ("nsenter", f"--target={keeper_pid}", "--net", "--mount", "--pid", f"--wd={folder}", "--", *command)


def environment(instance: Instance) -> dict[str, str]:
    """What a program inside sees: kubectl and helm on its path, and the way to the API server."""
    path = f"{os.environ.get('PATH', '')}:{search_path(instance.binaries)}"
    return {
        **os.environ,
        "PATH": f"{instance.binaries}:{path}",
        "KUBECONFIG": str(instance.config / "inside.kubeconfig"),
    }


def prepare(instance: Instance) -> None:
    RUN.mkdir(parents=True, exist_ok=True)
    Path("/run/netns").mkdir(exist_ok=True)
    for folder in (str(RUN), "/run/netns"):
        _run("mount", "-t", "tmpfs", "tmpfs", folder)
    (RUN / "cni").mkdir()
    (RUN / "cni" / "10-devcluster.conflist").write_text((instance.config / "10-devcluster.conflist").read_text())
    _shadow_kernel_settings()
    _bind(instance.config / "resolv.conf", Path("/etc/resolv.conf").resolve())
    _create_network(instance)


def _create_network(instance: Instance) -> None:
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", BRIDGE, "type", "bridge")
    for node in instance.nodes:
        _run("ip", "address", "add", f"{node.address}/24", "dev", BRIDGE)
    _run("ip", "link", "set", BRIDGE, "up")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def _shadow_kernel_settings() -> None:
    shadows = RUN / "kernel"
    shadows.mkdir()
    for setting in KERNEL_SETTINGS:
        real = Path("/proc/sys") / setting
        if real.exists():
            shadow = shadows / setting.replace("/", "-")
            shadow.write_text(real.read_text())
            _bind(shadow, real)


def _bind(source: Path, target: Path) -> None:
    if not target.exists():
        return
    _run("mount", "--bind", str(source), str(target))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


def keeper_is_alive(instance: Instance) -> int | None:
    """The keeper's process id on the host, if it is the process that was started and not a later one of that number."""
    with contextlib.suppress(OSError, ValueError):
        pid, started = instance.pid_file.read_text().split()
        if start_time(int(pid)) == started:
            return int(pid)
    return None


def start_time(pid: int) -> str | None:
    """A process's start in clock ticks since boot: with its id, its identity. None for one that is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]
