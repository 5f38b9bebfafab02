"""What the quorum is told to wait for, when the file says nothing and when it says something."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.cli.storage import main as storage
from controller_runtime.configuration.config import ServerConfig, load
from controller_runtime.identifiers import Instant, Uuid
from controller_runtime.raft.config import RaftConfig
from controller_runtime.server.shell.assembly import Disk, open_disk, raft_config
from controller_runtime.server.shell.node_assembly import build_node

pytestmark = pytest.mark.unit


def formatted(path: Path, *lines: str) -> tuple[ServerConfig, Disk]:
    file = path / "server.properties"
    file.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=C\nlisteners=C://127.0.0.1:9\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:9\nlog.dirs={path / 'data'}\n" + "\n".join(lines)
    )
    assert storage(["format", "-c", str(file), "-t", str(Uuid(b"c" * 16)), "--standalone"]) == 0
    config = load(str(file), [])
    return config, open_disk(config)


def configured(path: Path, *lines: str) -> RaftConfig:
    config, disk = formatted(path, *lines)
    try:
        return raft_config(config, disk, ())
    finally:
        disk.close()


def test_a_frozen_leader_is_given_up_within_a_second_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    found = configured(tmp_path)
    assert (found.fetch_timeout_ms, found.election_timeout_ms) == (700, 1000)
    assert found.fetch_max_wait_ms * 3 <= found.fetch_timeout_ms, "one late answer deposes nobody"


@pytest.mark.parametrize(("written", "held"), [(2000, 500), (30_000, 500), (300, 100)])
def test_the_file_decides_and_fetches_are_held_back_for_a_third_at_most(
    tmp_path: Path, written: int, held: int
) -> None:
    found = configured(tmp_path, f"controller.quorum.fetch.timeout.ms={written}")
    assert (found.fetch_timeout_ms, found.fetch_max_wait_ms) == (written, held)


@pytest.mark.parametrize(("lines", "linger_s"), [((), 0.005), (("controller.quorum.append.linger.ms=0",), 0.0)])
def test_the_linger_of_decisions_is_the_files_or_five_milliseconds(
    tmp_path: Path, lines: tuple[str, ...], linger_s: float
) -> None:
    config, disk = formatted(tmp_path, *lines)
    try:
        controller = build_node(config, disk, config.advertised, Instant(0.0)).controller
        assert controller is not None
        assert controller.config.append_linger_s == linger_s
    finally:
        disk.close()
