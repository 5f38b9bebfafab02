"""An S3 server: gofakes3, built from the Go module whose version and sums are committed, and kept in the cache. It
serves objects from memory, and puts with conditions (If-None-Match).

with S3Server() as server:
    monkeypatch.setenv(...) for each of server.environment
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest

from support.nodes.processes import eventually, free_ports

SOURCES: Final = Path(__file__).parent / "go"
PACKAGE: Final = "github.com/johannesboyne/gofakes3/cmd/gofakes3"
BUCKET: Final = "lakes"


def program() -> Path:
    """Built unless it is there; the test is skipped where there is no Go."""
    digest = hashlib.sha256(b"".join((SOURCES / name).read_bytes() for name in ("go.mod", "go.sum"))).hexdigest()[:16]
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    built = root / "quorate" / "object-store" / digest / "gofakes3"
    if built.exists():
        return built
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        pytest.skip("no go on PATH: the S3 server is built from a Go module")
    built.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=mod"}
    with tempfile.TemporaryDirectory(prefix="quorate-s3-") as folder:
        work = Path(shutil.copytree(SOURCES, Path(folder) / "work"))
        command = [go, "build", "-trimpath", "-ldflags", "-s -w", "-o", "gofakes3", PACKAGE]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-1000:]
        beside = built.with_suffix(f".{os.getpid()}")
        shutil.copy2(work / "gofakes3", beside)
        beside.rename(built)
    return built


class S3Server:
    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """What clients take: obstore, pyarrow and boto alike."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": "reader",
            "AWS_SECRET_ACCESS_KEY": "not secret", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip

    def __enter__(self) -> Self:
        command = [str(program()), "-host", f"127.0.0.1:{self.port}", "-backend", "memory", "-initialbucket", BUCKET]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually("an S3 server", self._answers, 30)
        return self

    def _answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 1):
            return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)
