"""Go modules' own tests, as programs: built once a machine from the module as the Go proxy has it, kept outside the
repository.

They are built inside their module, so that they have the dependencies that it names, at its versions.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.clients.programs import GO, unavailable

SARAMA: Final = "github.com/IBM/sarama"
SEGMENTIO: Final = "github.com/segmentio/kafka-go"
TOXIPROXY: Final = "github.com/Shopify/toxiproxy/v2"
_TOXIPROXY: Final = ("v2.12.0", "h1:d1x++lYZg/zijXPPcv7PH0MvHMzEI5aX/YuUi/Sw+yg=")
"""The clients' versions are those of `go/go.mod`."""


@dataclass(frozen=True, slots=True)
class Built:
    program: Path
    folder: Path
    """Of the package: its tests read files there."""


def suite_of_segmentio(package: str = ".") -> Built:
    """Skips the test where it cannot be built, and fails it in CI; the others too."""
    return _built(SEGMENTIO, "test", package, "-c")


def suite_of_sarama() -> Built:
    return _built(SARAMA, "test", ".", "-c", "-tags=functional")


def toxiproxy() -> Path:
    return _built(TOXIPROXY, "build", "./cmd/server").program


def _built(module: str, verb: str, package: str, *words: str) -> Built:
    source = _downloaded(module)
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quorate" / "clients"
    place = root / f"{source.parent.name}-{source.name}".replace("!", "")
    program = place / (package.strip("./").replace("/", "-") or "root")
    if not program.exists():
        place.mkdir(parents=True, exist_ok=True)
        mine = place / f".{program.name}.{os.getpid()}"
        modules = [mine.with_name(mine.name + end) for end in (".mod", ".sum")]
        for name, copy in zip(("go.mod", "go.sum"), modules, strict=True):  # Go writes into them what it has found
            shutil.copyfile(source / name, copy)
        try:
            options = ("-trimpath", "-mod=mod", f"-modfile={modules[0]}", "-o", str(mine))
            _go(verb, *words, *options, package, folder=source)
            mine.rename(program)
        finally:
            for copy in modules:
                copy.unlink()
    return Built(program, source / package)


def _downloaded(module: str) -> Path:
    version, wanted = _TOXIPROXY if module == TOXIPROXY else _version_of_client(module)
    found = json.loads(_go("mod", "download", "-json", f"{module}@{version}", folder=GO))
    assert found["Sum"] == wanted, f"{module} {version} is not what it was: {found}"
    return Path(found["Dir"])


def _version_of_client(module: str) -> tuple[str, str]:
    """And its sum."""
    (version,) = (
        line.split()[1] for line in (GO / "go.mod").read_text().splitlines() if line.strip().startswith(module)
    )
    (wanted,) = (
        line.split()[2] for line in (GO / "go.sum").read_text().splitlines() if line.startswith(f"{module} {version} ")
    )
    return version, wanted


def _go(*words: str, folder: Path) -> str:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        unavailable("no go >= 1.26 on PATH to build the clients' tests")
    assert go is not None
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    done = subprocess.run((go, *words), cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        unavailable(f"go {' '.join(words)}: {done.stderr[-1000:]}")
    return done.stdout
