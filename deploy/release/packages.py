"""Debian's packages for an architecture: which versions, with which hashes, and their files.

apt asks the mirrors that this machine asks, checks Debian's signatures, and works in a folder of its own, as if nothing
were installed: so it says what one architecture needs on a machine of another. `packages.lock` has what it said. A
build takes exactly that, or fails: a mirror that has moved on to a newer version says so, and `lock` writes what is to
be reviewed.
"""

import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from deploy.images import base, spec
from deploy.release.architectures import ALL, Architecture

LOCK = Path(__file__).with_name("packages.lock")


class PackagesError(Exception):
    """Packages cannot be had as the lock has them; the message says what to do."""


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """One package: `architecture` is the image's; `all` packages are the same in each."""

    architecture: str
    name: str
    version: str
    sha256: str

    def line(self) -> str:
        return f"{self.architecture} {self.name} {self.version} sha256:{self.sha256}"

    @classmethod
    def read(cls, line: str) -> "Pin":
        architecture, name, version, digest = line.split()
        return cls(architecture, name, version, digest.removeprefix("sha256:"))


def locked(architecture: Architecture, lock: Path = LOCK) -> tuple[Pin, ...]:
    lines = (line for line in lock.read_text().splitlines() if line and not line.startswith("#"))
    found = tuple(sorted(pin for pin in map(Pin.read, lines) if pin.architecture == architecture.name))
    if not found:
        raise PackagesError(f"{lock.name} has no package for {architecture.name}: python -m deploy.release lock")
    return found


def write_lock(work: Path, lock: Path = LOCK) -> int:
    """What Debian has now, for all architectures; returns how many lines."""
    pins: list[Pin] = []
    for architecture in ALL:
        apt = Apt(work / architecture.name, architecture)
        apt.update()
        apt.run("--yes", "--download-only", "install", *spec.BASE_PACKAGES)
        pins += [_pin(architecture, path) for path in apt.archives.glob("*.deb")]
    head = f"# Written by `python -m deploy.release lock` from Debian {spec.SUITE}; review the differences.\n"
    lock.write_text(head + "".join(f"{pin.line()}\n" for pin in sorted(pins)))
    return len(pins)


def _pin(architecture: Architecture, path: Path) -> Pin:
    name, version, _ = path.name.split("_")
    return Pin(architecture.name, name, unquote(version), _digest(path))


def unpack(pins: Iterable[Pin], architecture: Architecture, cache: Path, root: Path) -> None:
    """The pinned packages below `root`, without what images do not need. `cache` keeps files that were fetched."""
    for path in _fetched(tuple(pins), architecture, cache):
        archive = root.with_name("package.tar")
        with archive.open("wb") as file:
            subprocess.run(("dpkg-deb", "--fsys-tarfile", str(path)), stdout=file, check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(root, members=base.wanted(tar), filter="tar")
        archive.unlink()


def _fetched(pins: tuple[Pin, ...], architecture: Architecture, cache: Path) -> list[Path]:
    cache.mkdir(parents=True, exist_ok=True)
    missing = [pin for pin in pins if not _file(cache, pin).exists()]
    if missing:
        apt = Apt(cache / f"apt-{architecture.name}", architecture)
        apt.update()
        apt.download(missing)
        for pin in missing:
            found = [path for path in apt.folder.glob(f"{pin.name}_*.deb") if _digest(path) == pin.sha256]
            if not found:
                raise PackagesError(
                    f"{pin.name} {pin.version} for {architecture.name} is not the file that {LOCK.name} names: do not "
                    f"use it; if Debian has rebuilt it, run `python -m deploy.release lock` and review the differences"
                )
            shutil.copyfile(found[0], part := _file(cache, pin).with_suffix(".part"))
            part.rename(_file(cache, pin))
    for pin in pins:
        if _digest(_file(cache, pin)) != pin.sha256:
            raise PackagesError(f"{_file(cache, pin)} was changed after it was fetched: delete it")
    return [_file(cache, pin) for pin in pins]


def _file(cache: Path, pin: Pin) -> Path:
    return cache / f"{pin.name}-{pin.sha256}.deb"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Apt:
    """apt in a folder of its own, for one architecture, as on a machine where nothing is installed."""

    folder: Path
    architecture: Architecture

    @property
    def archives(self) -> Path:
        return self.folder / "cache" / "archives"

    def update(self) -> None:
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise PackagesError("apt-get and dpkg-deb are missing: build releases on Debian or Ubuntu")
        for part in ("state/lists/partial", "cache/archives/partial"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").touch()
        self.run("update")

    def download(self, pins: Iterable[Pin]) -> None:
        """Into the folder; `_apt` cannot write there, so apt fetches as whoever runs this."""
        self.run("download", *(f"{pin.name}={pin.version}" for pin in pins))

    def run(self, *arguments: str) -> None:
        options = {
            "Dir::State": self.folder / "state",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "APT::Architecture": self.architecture.name,
            "APT::Architectures": self.architecture.name,
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Debug::NoLocking": "true",
        }
        given = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
        done = subprocess.run(
            ("apt-get", "--quiet", *given, *arguments), cwd=self.folder, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise PackagesError(
                f"apt-get {arguments[0]} failed for {self.architecture.name}; if a version is gone, run `python -m "
                f"deploy.release lock` and review the differences:\n{done.stderr[-2000:]}"
            )
