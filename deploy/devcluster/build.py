"""The programs of a cluster, built from Go modules whose versions and sums are committed, and kept in the cache.

The cache's key is the hash of everything that decides the result: sources, go.mod, go.sum, versions, the linker's flags
and Go's version. Each program is built in a copy of its folder, so the repository is never written to, and is moved
into place when it is whole, so an interrupted build leaves nothing half done.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).with_name("go")
KUBERNETES_VERSION = "v1.36.3"
VERSION_PACKAGE = "k8s.io/component-base/version"
# Kubelet, Helm and kubectl compare versions; a build without them calls itself v0.0.0 and is refused.
KUBERNETES_FLAGS = " ".join(
    f"-X {VERSION_PACKAGE}.{name}={value}"
    for name, value in (
        ("gitVersion", KUBERNETES_VERSION),
        ("gitMajor", KUBERNETES_VERSION.removeprefix("v").partition(".")[0]),
        ("gitMinor", KUBERNETES_VERSION.removeprefix("v").partition(".")[2].partition(".")[0]),
        ("buildDate", "1970-01-01T00:00:00Z"),
    )
)


class BuildError(Exception):
    """A program could not be built; the message ends with what the compiler said."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program: its folder under go/, the package to build, its name, the flags for the linker, a usual time."""

    folder: str
    package: str
    name: str
    linker_flags: str = ""
    links: tuple[str, ...] = ()
    usual_minutes: str = "1"


PROGRAMS = (
    Program("kube", ".", "kube", KUBERNETES_FLAGS, links=("kubectl",), usual_minutes="5"),
    Program("coredns", ".", "coredns"),
    Program("local-path", "github.com/rancher/local-path-provisioner", "local-path-provisioner"),
    Program("helm", "helm.sh/helm/v4/cmd/helm", "helm"),
)


def build_command(program: Program, output: Path) -> tuple[str, ...]:
    linker_flags = f"-s -w {program.linker_flags}".strip()
    return ("go", "build", "-v", "-trimpath", "-ldflags", linker_flags, "-o", str(output), program.package)


def cache_key(go_version: str, sources: Path = SOURCES) -> str:
    digest = hashlib.sha256(go_version.encode())
    for program in PROGRAMS:
        digest.update(repr(program).encode())
        for file in sorted((sources / program.folder).iterdir()):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def go_version() -> str:
    return subprocess.run(("go", "env", "GOVERSION"), check=True, capture_output=True, text=True).stdout.strip()


def missing(binaries: Path) -> tuple[Program, ...]:
    return tuple(program for program in PROGRAMS if not (binaries / program.name).exists())


def build(program: Program, binaries: Path, progress: Callable[[str], None]) -> None:
    """Builds one program; `progress` gets a line of the Go command's output at a time."""
    work = binaries / f".{program.name}.{os.getpid()}"
    shutil.copytree(SOURCES / program.folder, work)
    # CGO off: static binaries. The toolchain is the machine's, never one that is downloaded.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    try:
        output = work / "out" / program.name
        _run(build_command(program, output), work, environment, progress, program.name)
        output.rename(binaries / program.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for link in program.links:
        (binaries / link).unlink(missing_ok=True)
        (binaries / link).symlink_to(program.name)


def _run(
    command: tuple[str, ...], folder: Path, environment: dict[str, str], progress: Callable[[str], None], name: str
) -> None:
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        last: list[str] = []
        for line in process.stdout:
            progress(line.rstrip())
            last = [*last[-19:], line.rstrip()]
    if process.returncode != 0:
        raise BuildError(f"{name} could not be built:\n  " + "\n  ".join(last))
