"""A real, unmodified Apache Kafka 4.3.1 beside us: its jars, its tools, its nodes.

The jars come from Maven Central through `apache_kafka/pom.xml` and are cached outside the repository. Tests that need
them call `require_java()`: where Java or the jars cannot be had the test is skipped with the reason, and fails instead
when CI is set.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

VERSION: Final = "4.3.1"
JVM_FLAGS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
ATTEMPTS: Final = 3
"""A registry may fail once; Maven keeps what it has got and goes on from there."""
POM: Final = Path(__file__).with_name("pom.xml")

MAIN_CLASSES: Final = {
    "kafka-server-start": "kafka.Kafka",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-metadata-shell": "org.apache.kafka.shell.MetadataShell",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
}


class ToolResult(NamedTuple):
    """What one call of a tool said. `out` is stdout, `err` is stderr, `rc` the exit status."""

    rc: int
    out: str
    err: str


class JavaUnavailable(Exception):
    """Java, Maven or the jars are missing; the message says which and what to install."""


def cache_directory(version: str = VERSION) -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return root / "quorate" / f"apache-kafka-{version}"


def fetch(version: str, pom: Path = POM) -> Path:
    """The folder of this release's jars, from Maven once a machine. Raises JavaUnavailable."""
    place = cache_directory(version) / ("" if pom == POM else pom.name.partition(".")[0])
    library, complete = place / "lib", place / "complete"
    if complete.exists():
        return library
    if shutil.which("mvn") is None:
        raise JavaUnavailable("no mvn on PATH: install maven, it fetches Apache Kafka's jars")
    library.mkdir(parents=True, exist_ok=True)
    said = ""
    for _ in range(ATTEMPTS):
        fetched = subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), f"-Dkafka.version={version}", "dependency:copy-dependencies",
             "-DincludeScope=runtime", f"-DoutputDirectory={library}"],
            capture_output=True, text=True, timeout=540, check=False)  # fmt: skip
        if fetched.returncode == 0:
            complete.touch()
            return library
        said = fetched.stdout[-500:]
    raise JavaUnavailable(f"Maven could not fetch Apache Kafka {version}: {said}")


@cache
def class_path() -> str:
    """The jars, sorted, fetched on first use. Raises JavaUnavailable."""
    if shutil.which("java") is None:
        raise JavaUnavailable("no java on PATH: install openjdk-17-jre-headless")
    library = fetch(VERSION)
    jars = sorted(str(jar) for jar in library.glob("*.jar"))
    logging = cache_directory() / "log4j2.xml"
    if not logging.exists():
        logging.write_text(
            '<Configuration status="ERROR"><Appenders><Console name="c" target="SYSTEM_ERR"><PatternLayout '
            'pattern="[%d] %p %m (%c)%n"/></Console></Appenders><Loggers><Root '
            'level="${sys:quorate.level:-WARN}"><AppenderRef ref="c"/></Root></Loggers></Configuration>\n'
        )
    return ":".join(jars)


def require_java() -> str:
    """The class path, or a skip with the reason; a failure in CI, where the stage must run."""
    try:
        return class_path()
    except JavaUnavailable as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def command(tool: str, arguments: list[str], *, log_level: str = "WARN", version: str = VERSION) -> list[str]:
    logging = f"-Dlog4j2.configurationFile={cache_directory() / 'log4j2.xml'}"
    class_path = require_java()
    if version != VERSION:
        class_path = ":".join(sorted(str(jar) for jar in fetch(version).glob("*.jar")))
    archived = version == VERSION and archive().exists()
    shared = [f"-XX:SharedArchiveFile={archive()}", "-Xlog:disable"] if archived else []
    return ["java", *shared, *JVM_FLAGS, logging, f"-Dquorate.level={log_level}", "-cp", class_path,
            MAIN_CLASSES[tool], *arguments]  # fmt: skip


def run_tool(
    tool: str, *arguments: str, stdin: str = "", timeout_s: float = 60.0, version: str = VERSION
) -> ToolResult:
    """Run one of Apache Kafka's tools to its end, logging off, so that only the tool speaks."""
    done = subprocess.run(
        command(tool, list(arguments), log_level="OFF", version=version),
        input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)  # fmt: skip
    return ToolResult(done.returncode, done.stdout, done.stderr)


def archive() -> Path:
    """Classes of a node in both roles, ready to map: a node that has them starts in half the time, a tool in two
    thirds.
    """
    return cache_directory() / "node.jsa"


def make_archive(directory: Path, ports: tuple[int, int]) -> None:
    """Once per machine: a node alone, which leaves the archive when it ends, under its name when it is whole."""
    if archive().exists():
        return
    properties = directory / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        "controller.listener.names=CONTROLLER\n"
        f"log.dirs={directory / 'data'}\n"
        f"listeners=CONTROLLER://127.0.0.1:{ports[0]},PLAINTEXT://127.0.0.1:{ports[1]}\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{ports[0]}\n"
        "offsets.topic.replication.factor=1\n"
    )
    made = run_tool("kafka-storage", "format", "-c", str(properties), "-t", "b7XFcyEkSgSBsv7c2XVvyg", "--standalone")
    assert made.rc == 0, made.err
    recorded = archive().with_suffix(f".{os.getpid()}")
    node = JavaNode(properties, directory / "log", f"-XX:ArchiveClassesAtExit={recorded}")
    try:
        node.wait_for_log("Kafka Server started", 120)
    finally:
        node.stop(120)
    if recorded.exists():  # a Java may come without what an archive is put on top of
        recorded.replace(archive())


class JavaNode:
    """A running controller or broker of Apache Kafka; end it with `stop` (SIGTERM) or `kill` (SIGKILL)."""

    def __init__(self, properties: Path, log: Path, *flags: str, version: str = VERSION) -> None:
        self.log = log
        words = command("kafka-server-start", [str(properties)], log_level="INFO", version=version)
        with log.open("ab") as output:
            self.process = subprocess.Popen([words[0], *flags, *words[1:]], stdout=output, stderr=output)

    def stop(self, timeout_s: float = 30.0) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)

    def wait_for_log(self, text: str, timeout_s: float = 120.0) -> None:
        """Wait until the node has logged `text`. Raises TimeoutError with the end of the log."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            content = self.log.read_text(errors="replace")
            if text in content:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise TimeoutError(f"{text!r} was never logged: {self.log.read_text(errors='replace')[-2000:]}")
