"""The programs that a benchmark needs and that are not Python: etcd, the load generator, and a counter of syncs.

Built from committed sources (Go modules with their sums; one C file) into the cache, named by the hash of what decides
the result, so that each is built once per machine. Whatever is missing raises `Unavailable` with what to install.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

SOURCES: Final = Path(__file__).parent / "go"
COUNTER_SOURCE: Final = Path(__file__).parent / "count_syncs.c"


class Unavailable(Exception):
    """A tool to build with is missing, or the build failed; the message says what."""


def cache_directory() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return root / "quorate" / "benchmarks"


def go_program(name: str) -> Path:
    """`etcd` or `load`, built when it is not there yet."""
    digest = hashlib.sha256()
    for file in sorted(path for path in SOURCES.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(SOURCES)).encode() + b"\0" + file.read_bytes() + b"\0")
    program = cache_directory() / digest.hexdigest()[:16] / name
    if not program.exists():
        _build_go(name, program)
    return program


def _build_go(name: str, program: Path) -> None:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise Unavailable("no go on PATH: etcd and the load generator are built from Go modules")
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f".{name}.{os.getpid()}")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    command = [go, "build", "-trimpath", "-ldflags", "-s -w", "-o", str(unfinished), f"./{name}"]
    done = subprocess.run(command, cwd=SOURCES, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{name} could not be built: {done.stderr[-1000:]}")
    unfinished.rename(program)


def sync_counter() -> Path:
    """A library to preload: counts what a process syncs into the file that QUORATE_SYNC_COUNT names."""
    source = COUNTER_SOURCE.read_bytes()
    library = cache_directory() / f"count-syncs-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if library.exists():
        return library
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Unavailable("no C compiler on PATH: syncs are counted by a preloaded library")
    library.parent.mkdir(parents=True, exist_ok=True)
    unfinished = library.with_suffix(f".{os.getpid()}")
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(unfinished), str(COUNTER_SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"the sync counter could not be built: {done.stderr[-1000:]}")
    unfinished.rename(library)
    return library
