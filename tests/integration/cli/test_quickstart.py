"""`kraft quickstart` as a user meets it: it says where to connect, resumes, and leaves nothing running."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.results import NewTopic, TopicDescription
from controller_runtime.identifiers import Uuid
from support.nodes.processes import ENVIRONMENT, REPOSITORY, eventually, kraft

pytestmark = pytest.mark.integration


@contextmanager
def quickstart(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    command = [
        sys.executable,
        "-m",
        "controller_runtime.cli.main",
        "quickstart",
        "--directory",
        str(directory),
        *options,
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, env=ENVIRONMENT
    )
    try:
        assert process.stdout is not None
        said: dict[str, str] = {}
        while len(said) < 2 and (line := process.stdout.readline()):
            name, _, value = line.strip().partition("=")
            said[name] = value
        if len(said) < 2:
            pytest.fail(f"it ended before it was ready: {process.communicate(timeout=60)}")
        yield process, said
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=90)


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]


async def topic_id(servers: str) -> Uuid:
    async with AdminClient(bootstrap_servers=servers) as admin:
        found = (await admin.describe_topics(["kept"]))["kept"]
    assert isinstance(found, TopicDescription), found
    return found.topic_id


async def create(servers: str) -> None:
    async with AdminClient(bootstrap_servers=servers) as admin:
        assert isinstance((await admin.create_topics([NewTopic("kept", 2, 1)]))["kept"], Uuid)


def test_it_starts_says_where_to_connect_and_resumes_the_same_cluster(tmp_path: Path) -> None:
    directory = tmp_path / "cluster"
    with quickstart(directory, "--controllers", "1", "--brokers", "1") as (process, said):
        assert set(said) == {"bootstrap.servers", "bootstrap.controllers"}
        nodes = children_of(process.pid)
        assert len(nodes) == 2
        asyncio.run(create(said["bootstrap.servers"]))
        made = asyncio.run(topic_id(said["bootstrap.servers"]))
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 0
        assert not [pid for pid in nodes if is_running(pid)]
    with quickstart(directory, "--controllers", "1", "--brokers", "1") as (process, again):
        assert again == said
        eventually("the topic is known again", lambda: asyncio.run(topic_id(said["bootstrap.servers"])) == made)
        nodes = children_of(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(90) == 0
        assert not [pid for pid in nodes if is_running(pid)]
    log = (directory / "controller-1" / "node.log").read_text()
    assert log.count("stopped: shut down") == 2


def test_nodes_do_not_outlive_a_quickstart_that_was_killed(tmp_path: Path) -> None:
    with quickstart(tmp_path / "cluster", "--controllers", "1", "--brokers", "0") as (process, _):
        nodes = children_of(process.pid)
        process.kill()
        process.wait(20)
        eventually("the node ends too", lambda: not any(is_running(pid) for pid in nodes))


def test_a_node_that_ends_takes_the_cluster_with_it_and_is_named(tmp_path: Path) -> None:
    with quickstart(tmp_path / "cluster", "--controllers", "1", "--brokers", "0") as (process, _):
        os.kill(children_of(process.pid)[0], signal.SIGKILL)
        assert process.wait(60) == 1
        assert process.stderr is not None
        assert "node 1 ended with code -9" in process.stderr.read()


@pytest.mark.parametrize(
    ("prepare", "options", "words"),
    [
        ("other counts", ("--controllers", "2", "--brokers", "0"), "holds a cluster of 1 controllers and 0 brokers"),
        ("foreign", (), "is not empty and holds no cluster of ours"),
        ("broken", (), "cluster.json cannot be read"),
        ("", ("--controllers", "0"), "at least one controller is needed"),
    ],
)
def test_what_cannot_be_started_is_said_in_one_line(
    tmp_path: Path, prepare: str, options: tuple[str, ...], words: str
) -> None:
    directory = tmp_path / "cluster"
    directory.mkdir()
    member = {"node_id": 1, "port": 1, "http_port": 2, "directory_id": "x"}
    match prepare:
        case "other counts":
            plan = {"cluster_id": "c", "controllers": [member], "brokers": []}
            (directory / "cluster.json").write_text(json.dumps(plan))
        case "foreign":
            (directory / "thesis.tex").write_text("important")
        case "broken":
            (directory / "cluster.json").write_text("{")
        case _:
            pass
    done = kraft("quickstart", "--directory", str(directory), *options)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.startswith("kraft quickstart: ")
    assert prepare != "foreign" or (directory / "thesis.tex").read_text() == "important"
