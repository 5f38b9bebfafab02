"""A tool that asks a cluster for longer than two seconds says so to who sits before it, and to nobody else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration


def asked(path: Path, *, terminal: bool) -> str:
    """What `kafka-topics` says on standard error when a broker never answers."""
    config = path / "client.properties"
    config.write_text("default.api.timeout.ms=3500\n")
    master, slave = os.openpty() if terminal else os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = f"127.0.0.1:{silent.getsockname()[1]}"
        words = ["topics", "--bootstrap-server", at, "--command-config", str(config), "--list"]
        done = subprocess.run(
            [sys.executable, "-m", "controller_runtime.cli.main", *words],
            stdout=subprocess.PIPE,
            stderr=slave,
            timeout=120,
            check=False,
        )
    os.close(slave)
    try:
        said = os.read(master, 65536).decode()
    except OSError:  # nothing was said on the terminal, and nobody is there any more
        said = ""
    os.close(master)
    assert done.returncode == 1
    assert b"Error while executing topic command" in done.stdout
    return said


def test_who_sits_before_a_terminal_is_told_that_it_goes_on(tmp_path: Path) -> None:
    assert asked(tmp_path, terminal=True).startswith("still asking the cluster after ")


def test_who_reads_the_output_is_told_what_kafka_says(tmp_path: Path) -> None:
    assert asked(tmp_path, terminal=False) == ""
