"""promtool, built from the Go module whose version and sums are committed, and kept in the cache: `python -m
deploy.monitoring.promtool check rules FILE`.

The build takes some minutes of a processor. Prometheus' plugins for service discovery are left out (an empty package in
their place), because they are most of its code and no rule needs them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parent / "go"
PACKAGE: Final = "github.com/prometheus/prometheus/cmd/promtool"
PLUGINS: Final = Path("vendor/github.com/prometheus/prometheus/plugins")


class Unavailable(Exception):
    """promtool cannot be had; the message says why."""


def path() -> Path:
    """Where it is, or will be."""
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in ("go.mod", "go.sum"))).hexdigest()[:16]
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return root / "quorate" / "monitoring" / digest / "promtool"


def build() -> Path:
    """Build it unless it is there. Raises Unavailable."""
    program = path()
    if program.exists():
        return program
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise Unavailable("no go on PATH: promtool is built from a Go module")
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="quorate-promtool-") as folder:
        work = Path(shutil.copytree(SOURCES, Path(folder) / "work"))
        _run([go, "mod", "vendor"], work)
        for file in (work / PLUGINS).glob("*.go"):
            file.unlink()
        (work / PLUGINS / "plugins.go").write_text("package plugins\n")
        _run([go, "build", "-mod=vendor", "-trimpath", "-ldflags", "-s -w", "-o", "promtool.new", PACKAGE], work)
        shutil.copy2(work / "promtool.new", program.with_suffix(f".{os.getpid()}"))
        program.with_suffix(f".{os.getpid()}").rename(program)
    return program


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command[1:3])}: {done.stderr[-1000:]}")


def main() -> int:
    try:
        return subprocess.run([build(), *sys.argv[1:]], check=False).returncode
    except Unavailable as missing:
        print(missing, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
