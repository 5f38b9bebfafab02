"""What `make` says before anything is built: the Debian packages that are missing, installed by root, named to
everybody else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tools import prerequisites

pytestmark = pytest.mark.unit

OK: subprocess.CompletedProcess[bytes] = subprocess.CompletedProcess([], 0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A machine with everything but Java; what would have been run on it."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return OK

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "which", lambda program: None if program == "java" else f"/usr/bin/{program}")
    monkeypatch.setattr(sys, "argv", ["prerequisites.py", "test"])
    return commands


def test_who_is_not_root_is_told_the_packages_and_nothing_is_installed(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert prerequisites.main() == 1
    said = capsys.readouterr().err
    assert "missing Debian packages for 'make test': openjdk-17-jre-headless\n" in said
    assert "sudo apt-get install openjdk-17-jre-headless\n" in said
    assert not [command for command in asked if command[0] == "apt-get"]


def test_root_is_told_what_is_installed(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert prerequisites.main() == 0
    assert capsys.readouterr().out == "installing Debian packages: openjdk-17-jre-headless\n"
    update, install = (command for command in asked if command[0] == "apt-get")
    assert update[1] == "update"
    assert (install[1], install[-1]) == ("install", "openjdk-17-jre-headless")
    assert "DPkg::Lock::Timeout=300" in install, "a fresh machine often still installs its own updates"


def test_a_machine_that_has_everything_is_left_alone(
    asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    assert prerequisites.main() == 0
    assert capsys.readouterr().out == ""
    assert not [command for command in asked if command[0] == "apt-get"]
