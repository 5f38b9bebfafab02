"""A node's pod on this machine: the files that a kubelet would mount, and the guards as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from storage_guard.formats import Grant, Identity, Report, config_hash

CLUSTER_ID = "b7XFcyEkSgSBsv7c2XVvyg"
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class GuardPod:
    """Everything lies below `home`; `volume` may be another pod's."""

    home: Path
    volume: Path
    node_id: int = 1
    cluster_id: str = CLUSTER_ID
    uid: str = "pod-1"
    role: str = "controller"
    rack: str = "None"

    def __post_init__(self) -> None:
        for name in ("pod", "journal", "ledger", "config", "node"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        self.volume.mkdir(exist_ok=True)
        (self.home / "pod" / "uid").write_text(self.uid)
        self.annotate("format-mode", "--no-initial-controllers")
        (self.home / "config" / "server.properties").write_text(self.config)

    @property
    def log(self) -> Path:
        return self.volume / "log"

    @property
    def config(self) -> str:
        return (
            f"process.roles=controller\nnode.id={self.node_id}\nlog.dirs={self.log}\nlisteners=CONTROLLER://127.0.0.1:9093\n"
            "controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=127.0.0.1:9093\n"
        )

    @property
    def config_file(self) -> Path:
        return self.home / "node" / "server.properties"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "NODE_ID": str(self.node_id),
            "CLUSTER_ID": self.cluster_id,
            "NODE_ROLE": self.role,
            "LOG_DIRECTORY": str(self.log),
            "IDENTITY_FILE": str(self.home / "ledger" / "identity.json"),
            "POD_DIRECTORY": str(self.home / "pod"),
            "JOURNAL_DIRECTORY": str(self.home / "journal"),
            "CONFIG_TEMPLATE": str(self.home / "config" / "server.properties"),
            "CONFIG_FILE": str(self.config_file),
            "CONFIG_HASH": config_hash(self.config),
            "RACK": self.rack,
            "TERMINATION_LOG": str(self.home / "termination-log"),
        }

    def annotate(self, name: str, value: str) -> None:
        """As a kubelet does it: the file is replaced, never seen half."""
        written = self.home / "pod" / f".{name}"
        written.write_text(value)
        written.rename(self.home / "pod" / name)

    def grant(self, grant: Grant) -> None:
        self.annotate("grant", grant.to_json())

    def write_ledger(self, identity: Identity) -> None:
        (self.home / "ledger" / "identity.json").write_text(identity.to_json())

    def begin(self, step: str, **changes: str) -> subprocess.Popen[str]:
        """The guard as the first process of its container would run."""
        environment = {**os.environ, **self.environment, **changes}
        command = [sys.executable, "-m", "storage_guard", step]
        return subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self, process: subprocess.Popen[str]) -> Report:
        """Its report, from the termination log."""
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, out + err
        return Report.from_json((self.home / "termination-log").read_text())

    def waiting_line(self, step: str) -> str:
        """The first thing that a guard says which has to wait."""
        process = self.begin(step)
        try:
            assert process.stdout is not None
            return process.stdout.readline()
        finally:
            process.kill()
            process.communicate()

    def run(self, step: str) -> Report:
        return self.finish(self.begin(step))

    def format(self) -> subprocess.CompletedProcess[str]:
        """The init container `format`, with our own tool."""
        mode = (self.home / "pod" / "format-mode").read_text()
        arguments = ["format", "--ignore-formatted", "--cluster-id", self.cluster_id, "--config", str(self.config_file)]
        command = [sys.executable, "-m", "controller_runtime.cli.main", "storage", *arguments, mode]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
