"""Clients in Go and JavaScript, as programs: built once a machine from `go/` and `js/`, kept outside the repository.

`story.Client` in `go/story/story.go` says which steps there are. A step that a client has no call for is `None`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from support.clients.client_story import Sent

GO: Final = Path(__file__).parent / "go"
JS: Final = Path(__file__).parent / "js"
UNSUPPORTED: Final = 3
CLIENTS: Final = ("franz", "sarama", "segmentio", "kafkajs")


class StepFailed(AssertionError):
    """The client ended with an error; the message has its words."""


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """One client at one cluster."""

    command: tuple[str, ...]
    bootstrap: str

    def step(self, *words: str, given: Sequence[Sent] = (), seconds: float = 120.0) -> Any:
        """What it answered, as JSON; None if it has no call for this. Raises StepFailed."""
        records = json.dumps([_shown(one) for one in given]) if given else ""
        done = subprocess.run(
            [*self.command, self.bootstrap, *words],
            input=records,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if done.returncode == UNSUPPORTED:
            return None
        if done.returncode != 0:
            raise StepFailed(f"{Path(self.command[-1]).name} {' '.join(words)}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def read(self, topic: str, count: int, isolation: str = "read_uncommitted") -> list[Sent]:
        return sorted(map(_sent, self.step("read", topic, str(count), isolation)))

    def group(self, topic: str, group: str, count: int, prefix: str = "") -> list[Sent]:
        """What its members read until so many records with such keys have come, each once: what moves to another member
        before it is committed comes again.
        """
        members = self.step("group", topic, group, str(count), prefix)
        return sorted({_sent(one) for member in members for one in member or ()})


def _shown(one: Sent) -> dict[str, object]:
    key, value = (base64.b64encode(each).decode() for each in (one.key, one.value))
    return {"partition": one.partition, "key": key, "value": value}


def _sent(one: dict[str, Any]) -> Sent:
    return Sent(one["partition"], base64.b64decode(one["key"]), base64.b64decode(one["value"]))


def client(name: str, bootstrap: str) -> ClientProgram:
    """Skips the test where it cannot be built, and fails it in CI."""
    return ClientProgram(_node(name) if name == "kafkajs" else (str(_built(name)),), bootstrap)


def _cache(sources: Path) -> Path:
    digest = hashlib.sha256()
    for file in sorted(path for path in sources.rglob("*") if path.is_file() and "node_modules" not in path.parts):
        digest.update(str(file.relative_to(sources)).encode() + b"\0" + file.read_bytes() + b"\0")
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return root / "quorate" / "clients" / f"{sources.name}-{digest.hexdigest()[:16]}"


def unavailable(reason: str) -> None:
    """Skips the test, and fails it in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def suite_of_franz_go() -> Path:
    """The tests of its own package `kgo`, as one program. Skips as `client` does."""
    return _made("suite-of-franz", "test", "-c", "-trimpath", "github.com/twmb/franz-go/pkg/kgo")


def _built(name: str) -> Path:
    return _made(name, "build", "-trimpath", "-ldflags", "-s -w", f"./{name}")


def _made(name: str, verb: str, *words: str) -> Path:
    """By `go VERB -o NAME WORDS`, unless it is there."""
    program = _cache(GO) / name
    if not program.exists():
        go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
        if go is None:
            unavailable("no go >= 1.26 on PATH to build the clients")
        assert go is not None
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_name(f".{name}.{os.getpid()}")
        environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
        command = [go, verb, "-o", str(unfinished), *words]
        done = subprocess.run(command, cwd=GO, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            unavailable(f"{name} could not be built: {done.stderr[-1000:]}")
        unfinished.rename(program)
    return program


def _node(name: str) -> tuple[str, ...]:
    node, npm, place = shutil.which("node"), shutil.which("npm"), _cache(JS)
    if node is None or npm is None:
        unavailable("no node and npm on PATH (Debian: nodejs npm)")
    assert node is not None
    assert npm is not None
    if not (place / "node_modules").exists():
        unfinished = place.with_name(f".{place.name}.{os.getpid()}")
        shutil.copytree(JS, unfinished, ignore=shutil.ignore_patterns("node_modules"))
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=unfinished, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(unfinished)
            unavailable(f"npm ci: {done.stderr[-1000:]}")
        shutil.rmtree(place, ignore_errors=True)
        unfinished.rename(place)
    return node, str(place / f"{name}.js")
