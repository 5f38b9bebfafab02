"""A release from Debian's and PyPI's packages: built twice, with nothing remembered, it is the same; what it holds for
another architecture is that architecture's; what it holds for this one runs.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import struct
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from deploy.images import spec
from deploy.images.build import ROOT
from deploy.release.architectures import ALL, AMD64, ARM64, Architecture

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]


def built(folder: Path, *arguments: str) -> Path:
    """In a process and a cache of its own, so that no layer or compiled module of an earlier build comes into it."""
    command = (sys.executable, "-m", "deploy.release", "build", *arguments, "--output", str(folder / "release"))
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONHASHSEED": "random"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "release"


def files(release: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in release.iterdir()}


def rooted(archive: Path, architecture: Architecture, folder: Path) -> Path:
    """The layers of one architecture's image, one over the other."""
    with tarfile.open(archive) as tar:
        blobs = {member.name.rpartition("/")[2]: file.read() for member in tar if (file := tar.extractfile(member))}

    def of(descriptor: dict[str, Any]) -> Any:
        return json.loads(blobs[descriptor["digest"].removeprefix("sha256:")])

    index = of(json.loads(blobs["index.json"])["manifests"][0])
    (found,) = [each for each in index["manifests"] if each["platform"]["architecture"] == architecture.name]
    for layer in of(found)["layers"]:
        data = gzip.decompress(blobs[layer["digest"].removeprefix("sha256:")])
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(folder, filter="tar")
    return folder


def machines(root: Path) -> dict[str, int]:
    """Programs and libraries by their ELF machine."""
    found: dict[str, int] = {}
    for path in (path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        with path.open("rb") as file:
            head = file.read(20)
        if head[:4] == b"\x7fELF":
            found[str(path.relative_to(root))] = struct.unpack_from("<H", head, 18)[0]
    return found


def check(release: Path, name: str, folder: Path) -> None:
    """All of an image's architectures that are in the release."""
    for architecture in ALL:
        listed = release / f"{name}-{architecture.name}.cdx.json"
        if not listed.exists():
            continue
        root = rooted(release / f"{name}.oci.tar", architecture, folder / f"{name}-{architecture.name}")
        found = machines(root)
        assert len(found) > 50, "libraries of Debian and of Python"
        assert set(found.values()) == {architecture.elf_machine}, {
            path for path, machine in found.items() if machine != architecture.elf_machine
        }
        assert not [path for path in ("bin/sh", "usr/bin/dpkg") if (root / path).exists()]
        components = {each["name"] for each in json.loads(listed.read_text())["components"]}
        installed = {path.name.partition("-")[0] for path in (root / spec.LIBRARY.lstrip("/")).glob("*.dist-info")}
        assert {each.replace("-", "_") for each in components} >= installed - {"quorate"}
        assert "libc6" in components
        if platform.machine() == architecture.machine and os.geteuid() == 0:
            said = subprocess.run(
                ("chroot", str(root), "/usr/local/bin/kraft", "--version"), check=True, capture_output=True, text=True
            )
            assert said.stdout.strip(), "it runs where there is such a machine"


def test_one_architecture_is_built_twice_with_the_same_digest(tmp_path: Path) -> None:
    arguments = ("runtime", "--architecture", ARM64.name)
    first, second = built(tmp_path / "one", *arguments), built(tmp_path / "two", *arguments)
    assert files(first) == files(second)
    check(first, "runtime", tmp_path)


def test_all_is_built_twice_with_the_same_digests(tmp_path: Path) -> None:
    first, second = built(tmp_path / "one"), built(tmp_path / "two")
    assert files(first) == files(second)
    digests = json.loads((first / "digests.json").read_text())
    assert {name: set(each) for name, each in digests.items()} == {
        image.name: {"index", AMD64.name, ARM64.name} for image in spec.IMAGES
    }
    for image in spec.IMAGES:
        check(first, image.name, tmp_path)
