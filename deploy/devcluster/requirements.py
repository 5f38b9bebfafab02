"""What a machine must have before a cluster can run on it, checked before anything is started.

Each lack is one sentence that says what to do. Debian packages are the only thing that is installed, and only by root.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

# Package -> a program or folder that shows that it (or a replacement of it) is there.
DEBIAN_PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "containernetworking-plugins": "/usr/lib/cni/bridge",
    "iptables": "iptables",
    "iproute2": "ip",
    "busybox-static": "/bin/busybox",
    "openssl": "openssl",
    "util-linux": "nsenter",
    "mmdebstrap": "mmdebstrap",
}
CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
GO_MINIMUM = (1, 26)
BUILD_BYTES = 9 * 1024**3
RUN_BYTES = 3 * 1024**3
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"


class Unmet(Exception):
    """The machine lacks something; every lack is one line of the message."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found on the machine."""

    is_root: bool
    go_version: str | None
    free_bytes: int
    missing_packages: tuple[str, ...]


def lacks(machine: Machine, *, must_build: bool) -> list[str]:
    """What keeps a cluster from running here. Pure."""
    found = []
    if not machine.is_root:
        found.append("a cluster needs root (namespaces, mounts, cgroups): run this as root, or use a cluster of yours")
    if must_build and (machine.go_version is None or parse_go_version(machine.go_version) < GO_MINIMUM):
        wanted = ".".join(map(str, GO_MINIMUM))
        have = machine.go_version or "no Go"
        found.append(f"Kubernetes is built from source and needs Go {wanted} or newer on the PATH; found: {have}")
    needed = BUILD_BYTES if must_build else RUN_BYTES
    if machine.free_bytes < needed:
        found.append(f"disk space: {machine.free_bytes / 1e9:.1f} GB are free, {needed / 1e9:.0f} GB are needed")
    if machine.missing_packages:
        found.append(f"Debian packages are missing: apt-get install {' '.join(machine.missing_packages)}")
    return found


def parse_go_version(text: str) -> tuple[int, int]:
    """`go1.26.8` -> (1, 26); a development build of the compiler counts as too old."""
    found = re.match(r"go(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def inspect(folder: Path) -> Machine:
    while not folder.exists():
        folder = folder.parent
    return Machine(
        is_root=os.geteuid() == 0,
        go_version=_go_version(),
        free_bytes=shutil.disk_usage(folder).free,
        missing_packages=missing_packages(),
    )


def missing_packages(packages: Iterable[str] = tuple(DEBIAN_PACKAGES)) -> tuple[str, ...]:
    return tuple(package for package in packages if not _is_present(DEBIAN_PACKAGES[package]))


def install(packages: tuple[str, ...], progress: Callable[[str], None]) -> None:
    progress(f"installing Debian packages: {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ("apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")
    for command in ((*apt, "update", "-q"), (*apt, "install", "-qy", "--no-install-recommends", *packages)):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unmet(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def cni_binaries() -> Path:
    return next((folder for folder in CNI_FOLDERS if (folder / "bridge").exists()), CNI_FOLDERS[0])


def _is_present(sign: str) -> bool:
    if sign.startswith("/usr/lib/cni"):
        return any((folder / Path(sign).name).exists() for folder in CNI_FOLDERS)
    if sign.startswith("/"):
        return Path(sign).exists()
    return shutil.which(sign, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}") is not None


def _go_version() -> str | None:
    if shutil.which("go") is None:
        return None
    done = subprocess.run(("go", "env", "GOVERSION"), capture_output=True, text=True, check=False)
    return done.stdout.strip() or None
