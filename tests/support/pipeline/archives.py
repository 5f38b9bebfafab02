"""The follower that keeps an archive, as a process of its own, and what its pages say."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.nodes.processes import CLUSTER_ID, ENVIRONMENT, REPOSITORY, eventually, free_ports


class Archive:
    """The program, beside the quorum, and what its pages say."""

    def __init__(self, home: Path, bootstrap: str, *more: str, cluster_id: str = CLUSTER_ID) -> None:
        self.home = home
        (self.port,) = free_ports(1)
        self.log = home.parent / f"{home.name}.log"
        self.command = [
            sys.executable, "-m", "metadata_pipeline.cli", "archive", str(home), "--bootstrap-controller", bootstrap,
            "--cluster-id", cluster_id, "--listen", f"127.0.0.1:{self.port}", "--poll-seconds", "0.2", *more,
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log, cwd=REPOSITORY, env=dict(ENVIRONMENT))

    def end(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30)

    @contextmanager
    def running(self) -> Iterator[Archive]:
        self.start()
        try:
            yield self
        finally:
            if self.process is not None and self.process.poll() is None:
                self.end()

    def page(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def status(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.page("/status")))
        except OSError:
            return {"standing": "", "end": -1, "asides": 0, "snapshots": []}

    def reaches(self, standing: str, end: int = 0) -> dict[str, Any]:
        def there() -> dict[str, Any] | None:
            now = self.status()
            return now if now["standing"] == standing and now["end"] >= end else None

        try:
            return eventually(f"an archive that is {standing} up to {end}", there)
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.status()}\n{self.log.read_text()[-2000:]}") from error


def log_bytes(directory: Path) -> bytes:
    return b"".join(each.read_bytes() for each in sorted(directory.glob("*.log")))
