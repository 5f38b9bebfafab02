"""Our tools and Apache Kafka's, given the same arguments on the same cluster of Apache Kafka: same output, same exit
code.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from support.apache_kafka.java_kafka import JavaNode, ToolResult, run_tool
from support.nodes.processes import CLUSTER_ID, eventually, free_ports, kraft

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC_ID = re.compile(r"TopicId: [\w-]{22}")
DIRECTORY = re.compile(r'"/[^"]*"')


class Home(NamedTuple):
    controller: str
    server: str
    data: Path


@pytest.fixture(scope="module")
def home(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A Java node with both roles and a second broker, and an authorizer that lets everybody do everything."""
    assert java
    directory = tmp_path_factory.mktemp("java-node")
    controller, broker, other = free_ports(3)
    shared = f"""controller.quorum.bootstrap.servers=127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
default.replication.factor=1
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
delegation.token.secret.key=none-that-matters
"""
    first, second = directory / "first.properties", directory / "second.properties"
    first.write_text(f"""{shared}process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
log.dirs={directory / "data"}
""")
    second.write_text(f"""{shared}process.roles=broker
node.id=2
listeners=PLAINTEXT://127.0.0.1:{other}
log.dirs={directory / "data-2a"},{directory / "data-2b"}
""")
    nodes = []
    try:
        for properties, mode in ((first, ["--standalone"]), (second, [])):
            words = ["format", "-c", str(properties), "-t", CLUSTER_ID, *mode]
            formatted = run_tool("kafka-storage", *words, timeout_s=180)
            assert formatted.rc == 0, formatted.err
            nodes.append(JavaNode(properties, properties.with_suffix(".log")))
            nodes[-1].wait_for_log("Kafka Server started", 180)
        yield Home(f"127.0.0.1:{controller}", f"127.0.0.1:{broker}", directory / "data")
    finally:
        for node in reversed(nodes):
            node.stop(120)


def ours(tool: str, *arguments: str, stdin: str = "") -> ToolResult:
    done = kraft(tool.removeprefix("kafka-"), *arguments, stdin=stdin, timeout=240)
    return ToolResult(done.returncode, done.stdout, done.stderr)


def both(tool: str, *arguments: str) -> tuple[ToolResult, ToolResult]:
    """(Kafka's tool, ours), at the same time: for what changes nothing."""
    with ThreadPoolExecutor(2) as pool:
        java = pool.submit(run_tool, tool, *arguments, timeout_s=240)
        return java.result(), pool.submit(ours, tool, *arguments).result()


def test_the_shell_shows_a_living_quorum_of_java_as_javas_shell_shows_its_log(home: Home, tmp_path: Path) -> None:
    at = ["--bootstrap-controller", home.controller]
    made = ours("kafka-topics", "--bootstrap-server", home.server, "--create", "--topic", "shown", "--partitions", "3")
    assert made.rc == 0, made.out
    tree = ["tree", "/image/topics", "/image/cluster", "/image/features"]
    live = ours("kafka-metadata-shell", *at, *tree)
    assert (live.rc, live.err) == (0, "")
    assert "    name:\n      shown\n" in live.out
    copy = tmp_path / "copy" / "log"
    shutil.copytree(home.data / "__cluster_metadata-0", copy)
    segment = str(copy / f"{0:020d}.log")
    asked = [run_tool("kafka-metadata-shell", "--snapshot", segment, *tree, timeout_s=240) for _ in range(3)]
    java = max((one.out for one in asked), key=len)  # Java's may show what it has read so far
    assert java == live.out
    assert ours("kafka-metadata-shell", "--snapshot", segment, *tree).out == java
    assert ours("kafka-metadata-shell", "--snapshot", str(copy), *tree).out == java
    typed = ours("kafka-metadata-shell", *at, stdin="cd image/topics/byName\nls\nexit\n")
    assert typed.rc == 0
    assert typed.out == "Loading...\nStarting...\n[ Kafka Metadata Shell ]\n>> >> shown\n>> "


NOTHING = (0, list[str](), "")


def told(found: ToolResult) -> tuple[int, list[str], str]:
    """Java's order is that of its hash maps; of an error only the first line has words for people."""
    return found.rc, sorted(TOPIC_ID.sub("", found.out).splitlines()), found.err.split("\n", 1)[0]


def alike(tool: str, *arguments: str) -> ToolResult:
    """Both tools say the same."""
    java, own = both(tool, *arguments)
    assert told(own) == told(java), f"{arguments}\n{own.err}\n{java.err}"
    return own


def test_topics_are_altered_alike(home: Home) -> None:
    at = ["--bootstrap-server", home.server]
    for who in ("java", "ours"):
        run = run_tool if who == "java" else ours
        made = run("kafka-topics", *at, "--create", "--topic", f"altered-{who}", "--partitions", "1")
        assert made.rc == 0, made.out + made.err
        more = run("kafka-topics", *at, "--alter", "--topic", f"altered-{who}", "--partitions", "3")
        assert (more.rc, more.out, more.err) == (0, "", "")
        placed = ["--partitions", "4", "--replica-assignment", "1,1,1,1"]
        assert run("kafka-topics", *at, "--alter", "--topic", f"altered-{who}", *placed).rc == 0
        listed = run("kafka-get-offsets", *at, "--topic", f"altered-{who}").out
        assert listed == "".join(f"altered-{who}:{index}:0\n" for index in range(4))
    for arguments in (
        ["--alter", "--topic", "altered-ours", "--partitions", "2"],
        ["--alter", "--topic", "none-such", "--partitions", "2"],
        ["--alter", "--topic", "none-such", "--partitions", "2", "--if-exists"],
        ["--alter", "--topic", "altered-ours", "--partitions", "5", "--replica-assignment", "1,1,1,1,7"],
        ["--alter", "--topic", "altered-ours", "--partitions", "6", "--replica-assignment", "1,1,1,1,1"],
    ):
        alike("kafka-topics", *at, *arguments)


def test_topics_are_described_alike_by_each_report_by_id_and_while_they_move(home: Home, tmp_path: Path) -> None:
    at = ["--bootstrap-server", home.server]
    for words in (
        ["--topic", "shown-one", "--partitions", "3", "--config", "retention.ms=123456"],
        ["--topic", "shown-two", "--replica-assignment", "1:2,2:1", "--config", "min.insync.replicas=2"],
    ):
        assert ours("kafka-topics", *at, "--create", *words).rc == 0
    typed = f"{'x' * 500_000}\n" * 3
    fed = run_tool("kafka-console-producer", *at, "--topic", "shown-one", stdin=typed, timeout_s=180)
    assert fed.rc == 0, fed.err
    described = ours("kafka-topics", *at, "--describe", "--topic", "shown-two").out
    topic_id = described.split("TopicId: ")[1][:22]
    target = tmp_path / "slowly.json"
    rows = [{"topic": "shown-one", "partition": index, "replicas": [2, 1]} for index in range(3)]
    target.write_text(json.dumps({"version": 1, "partitions": rows}))
    file = ["--reassignment-json-file", str(target)]
    moved = ours("kafka-reassign-partitions", *at, "--execute", *file, "--throttle", "1")
    assert moved.rc == 0, moved.out
    which = ["--topic", "shown-.*"]
    for words in (
        which,
        [*which, "--under-replicated-partitions"],
        [*which, "--under-min-isr-partitions"],
        [*which, "--at-min-isr-partitions"],
        [*which, "--unavailable-partitions", "--at-min-isr-partitions"],
        [*which, "--topics-with-overrides", "--partition-size-limit-per-response", "1"],
        [*which, "--partition-size-limit-per-response", "2", "--exclude-internal"],
        ["--topic-id", topic_id],
        ["--topic-id", topic_id, "--topic", "none-such", "--if-exists"],
        ["--topic-id", "AAAAAAAAAAAAAAAAAAAAAA", "--topic", "shown-two"],
        ["--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ"],
        ["--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--if-exists"],
        ["--topic", "none-such"],
        ["--topic", "(["],
    ):
        found = alike("kafka-topics", *at, "--describe", *words)
        if words == which:
            # Which one is added depends on where the producer's records went.
            assert re.search(r"\tAdding Replicas: [12]\t", found.out), "a partition is on the move"
    cancelled = ours("kafka-reassign-partitions", *at, "--cancel", *file)
    assert cancelled.rc == 0, cancelled.out


def test_offsets_records_leaders_and_directories_are_told_alike(home: Home, tmp_path: Path) -> None:
    at = ["--bootstrap-server", home.server]
    assert ours("kafka-topics", *at, "--create", "--topic", "asked", "--partitions", "2").rc == 0
    typed = "".join(f"{number}\n" for number in range(10))
    assert run_tool("kafka-console-producer", *at, "--topic", "asked", stdin=typed, timeout_s=180).rc == 0
    for arguments in (
        ["--topic", "asked"],
        ["--topic", "asked", "--time", "earliest"],
        ["--topic", "asked", "--time", "-3"],
        ["--topic", "asked", "--time", "99999999999999"],
        ["--topic", "asked", "--time", "0"],
        ["--topic", "asked", "--partitions", "1"],
        ["--topic-partitions", "ask.*:1-,asked:0"],
        ["--topic", "none-such"],
        ["--exclude-internal-topics", "--topic-partitions", "asked:-1"],
    ):
        alike("kafka-get-offsets", *at, *arguments)
    path = tmp_path / "delete.json"
    known = '{"topic":"asked","partition":0,"offset":0},{"topic":"asked","partition":1,"offset":-1}'
    for text in (known, '{"topic":"asked","partition":0,"offset":1000}', '{"topic":"x"}', f"{known},{known}"):
        path.write_text(f'{{"partitions":[{text}],"version":1}}')
        java, own = both("kafka-delete-records", *at, "--offset-json-file", str(path))
        said = [sorted(re.sub(r"(Exception: ).*", r"\1", one.out).split("\n")) for one in (own, java)]
        assert (own.rc, said[0]) == (java.rc, said[1]), own.err + java.err
    alike("kafka-get-offsets", *at, "--topic", "asked", "--time", "earliest")
    path.write_text('{"partitions":[{"topic":"asked","partition":7,"offset":0}]}')
    unknown = ours("kafka-delete-records", *at, "--offset-json-file", str(path))  # Java's asks for a minute
    assert "partition: asked-7\terror: org.apache.kafka.common.errors.UnknownTopicOrPartitionException" in unknown.out
    every = ["--election-type", "preferred", "--all-topic-partitions"]
    eventually("no leader has to change", lambda: told(ours("kafka-leader-election", *at, *every)) == NOTHING, 60)
    for arguments in (
        every,
        ["--election-type", "preferred", "--topic", "asked", "--partition", "0"],
        ["--election-type", "unclean", "--topic", "asked", "--partition", "9"],
        ["--election-type", "UNCLEAN", "--topic", "none-such", "--partition", "0"],
    ):
        alike("kafka-leader-election", *at, *arguments)
    java, own = both("kafka-log-dirs", *at, "--describe", "--topic-list", "asked")
    assert (own.rc, own.out.split("\n")[:2]) == (0, java.out.split("\n")[:2])
    assert as_sets(json.loads(own.out.split("\n")[2])) == as_sets(json.loads(java.out.split("\n")[2]))
    alike("kafka-log-dirs", *at, "--describe", "--broker-list", "1,8")
    java, own = both("kafka-broker-api-versions", *at)
    assert own.rc == java.rc
    assert sorted(own.out.split("\n)\n")) == sorted(java.out.split("\n)\n")), "brokers come in any order"


CONFIG_CHANGES = (
    ("--topic {t}", "--add-config cleanup.policy=[compact,delete],max.message.bytes=164867"),
    ("--topic {t}", "--delete-config max.message.bytes"),
    ("--topic {t}", "--delete-config retention.ms"),
    ("--topic {t}", "--add-config retention.ms=x"),
    ("--topic none-such-{t}", "--add-config retention.ms=1"),
    ("--entity-type brokers --entity-name 1", "--add-config log.cleaner.threads=2"),
    ("--entity-type brokers --entity-name 1", "--delete-config log.cleaner.threads"),
    ("--entity-type brokers --entity-default", "--add-config message.max.bytes=6841090"),
    ("--broker-defaults", "--delete-config message.max.bytes,nope"),
    ("--broker-defaults", "--delete-config message.max.bytes"),
    ("--broker-logger 1", "--add-config kafka.server.KafkaApis=DEBUG"),
    ("--broker-logger 1", "--add-config no.such.Logger=DEBUG"),
    ("--broker-logger 1", "--delete-config kafka.server.KafkaApis"),
    ("--group {t}", "--add-config consumer.heartbeat.interval.ms=6000"),
    ("--client-metrics {t}", "--add-config interval.ms=60000,metrics=[a.,b.]"),
    ("--user {t}", "--add-config producer_byte_rate=613984,consumer_byte_rate=2048.5"),
    ("--user {t}", "--delete-config consumer_byte_rate"),
    ("--user {t}", "--delete-config consumer_byte_rate"),
    ("--user {t} --client {t}", "--add-config request_percentage=0.0005"),
    ("--user-defaults --client-defaults", "--add-config request_percentage=250"),
    ("--entity-type clients --entity-name {t}", "--add-config controller_mutation_rate=12345678"),
    ("--ip 127.0.0.77", "--add-config connection_creation_rate=11"),
    ("--user {t}", "--add-config SCRAM-SHA-256=[iterations=8192,password=secret],SCRAM-SHA-512=[password=secret]"),
    ("--user {t}", "--delete-config SCRAM-SHA-512"),
    ("--user none-such", "--delete-config SCRAM-SHA-512"),
)
CONFIG_QUESTIONS = (
    "--entity-type topics", "--topic {t}", "--topic {t} --all", "--entity-type brokers", "--broker 1 --all",
    "--broker 1",
    "--entity-type groups", "--entity-type client-metrics", "--entity-type users", "--entity-type clients",
    "--entity-type users --entity-type clients", "--entity-type ips", "--user-defaults --entity-type clients",
    "--broker-logger 1", "--user {t}", "--topic none-such", "--broker-defaults",
    "--group none-such", "--client-metrics none-such", "--broker 99", "--broker-logger 99", "--topic bad/name",
    "--broker 99 --all --command-config {c}",
)  # fmt: skip


def test_configurations_are_changed_and_described_alike(home: Home, tmp_path: Path) -> None:
    at = ["--bootstrap-server", home.server]
    quick = tmp_path / "quick.properties"
    quick.write_text("default.api.timeout.ms=3000\nrequest.timeout.ms=2000\n")
    for who in ("by-java", "by-ours"):
        assert ours("kafka-topics", *at, "--create", "--topic", who).rc == 0
    for entity, change in CONFIG_CHANGES:
        words = ["--alter", *entity.split(), *change.split()]
        java = run_tool("kafka-configs", *at, *(word.format(t="by-java") for word in words), timeout_s=240)
        own = ours("kafka-configs", *at, *(word.format(t="by-ours") for word in words))
        assert (own.rc, own.out.replace("by-ours", "by-java")) == (java.rc, java.out), (words, own.err, java.err)
        said = [text.replace("by-ours", "by-java").split("\n") for text in (own.err, java.err)]
        assert said[0][:2] == said[1][:2], words
    for question in CONFIG_QUESTIONS:
        words = question.format(t="by-java", c=quick).split()
        java, own = both("kafka-configs", *at, "--describe", *words)
        assert (own.rc, told(own)[1]) == (java.rc, told(java)[1]), (words, own.err, java.err)
    both_at = ["--bootstrap-controller", home.controller]
    for question in ("--broker 1 --all", "--broker-defaults", "--broker-logger 1"):
        java, own = both("kafka-configs", *both_at, "--describe", *question.split())
        assert told(own) == told(java), question
    for arguments in (["--list"], ["--describe"], ["--describe", "--name", "by-java"], ["--describe", "--name", "x"]):
        alike("kafka-client-metrics", *at, *arguments)
    changed = ours("kafka-client-metrics", *at, "--alter", "--name", "by-ours", "--interval", "", "--metrics", "*")
    assert (changed.rc, changed.out) == (0, "Altered client metrics config for by-ours.\n")
    alike("kafka-client-metrics", *at, "--describe")
    gone = ours("kafka-client-metrics", *at, "--delete", "--name", "by-ours")
    assert (gone.rc, gone.out) == (0, "Deleted client metrics config for by-ours.\n")
    assert alike("kafka-client-metrics", *at, "--list").out == "by-java\n"


ACL_CHANGES = (
    "--add --allow-principal User:{u} --operation Read --operation Write --topic stock",
    "--add --deny-principal User:{u} --deny-host 127.0.0.5 --operation All --topic st --resource-pattern-type prefixed",
    "--add --allow-principal User:{u} --consumer --topic pay --group *",
    "--add --allow-principal User:{u} --producer --idempotent --topic led --transactional-id tx",
    "--add --allow-principal User:{u} --cluster",
    "--add --allow-principal User:{u} --operation IdempotentWrite --cluster",
    "--add --allow-principal User:{u} --operation CreateTokens --user-principal User:z",
    "--remove --force --allow-principal User:{u} --operation Write --topic stock",
    "--remove --force --allow-principal User:{u} --topic none",
    "--add --allow-principal {u} --topic t",
)


def test_acls_are_added_removed_and_listed_alike(home: Home) -> None:
    for at in (["--bootstrap-server", home.server], ["--bootstrap-controller", home.controller]):
        for change in ACL_CHANGES:
            java = run_tool("kafka-acls", *at, *change.format(u="java").split(), timeout_s=240)
            own = ours("kafka-acls", *at, *change.format(u="ours").split())
            assert own.rc == java.rc, (change, own, java)
            lines = [text.replace("ours", "java").replace(" \t", "\t").splitlines() for text in (own.out, java.out)]
            assert sorted(lines[0][:6]) == sorted(lines[1][: len(lines[0][:6])]), change
        for question in (
            [],
            ["--topic", "stock"], ["--principal", "User:java"], ["--cluster"], ["--group", "none"],
            ["--topic", "stock", "--resource-pattern-type", "match"],
            ["--topic", "*", "--resource-pattern-type", "any"],
        ):  # fmt: skip
            alike("kafka-acls", *at, "--list", *question)
    asked = ours("kafka-acls", "--bootstrap-server", home.server, "--remove", "--topic", "pay", stdin="n\n")
    assert (asked.rc, asked.out.splitlines()[-1][-5:]) == (0, "(y/n)")
    assert "name=pay" in ours("kafka-acls", "--bootstrap-server", home.server, "--list").out


def test_delegation_tokens_are_refused_alike_without_a_principal(home: Home, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("")
    at = ["--bootstrap-server", home.server, "--command-config", str(config)]
    for arguments in (
        ["--create", "--max-life-time-period", "-1", "--renewer-principal", "User:a"],
        ["--describe"],
        ["--describe", "--owner-principal", "User:a"],
        ["--renew", "--renew-time-period", "5", "--hmac", "x3jQra8="],
        ["--expire", "--expiry-time-period", "-1", "--hmac", "x3jQra8="],
    ):
        java, own = both("kafka-delegation-tokens", *at, *arguments)
        assert (own.rc, own.out.rstrip()) == (java.rc, java.out.rstrip())
        assert own.err.split(": ")[0] == java.err.split(": ")[0]


def test_replicas_are_moved_alike(home: Home, tmp_path: Path) -> None:
    """Each tool moves a topic of its own; then both are asked about both."""
    at = ["--bootstrap-server", home.server]
    spare = str(home.data.with_name("data-2b"))
    said: dict[str, list[ToolResult]] = {"java": [], "ours": []}

    def asked(who: str, *arguments: str) -> None:
        run = run_tool if who == "java" else ours
        found = run("kafka-reassign-partitions", *at, *arguments)
        said[who].append(ToolResult(found.rc, found.out.replace("moved-ours", "moved-java"), found.err))

    for who, answers in said.items():
        topic = f"moved-{who}"
        assert ours("kafka-topics", *at, "--create", "--topic", topic, "--replica-assignment", "1,2,1").rc == 0
        target = tmp_path / f"{who}.json"
        rows: list[dict[str, object]] = [
            {"replicas": [2]},
            {"replicas": [2], "log_dirs": [spare]},
            {"replicas": [1, 2]},
        ]
        partitions = [{"topic": topic, "partition": index, **row} for index, row in enumerate(rows)]
        target.write_text(json.dumps({"version": 1, "partitions": partitions}))
        file = ["--reassignment-json-file", str(target)]
        throttle = ["--throttle", "100000000", "--replica-alter-log-dirs-throttle", "100000000"]
        asked(who, "--execute", *file, *throttle)
        listed = ours("kafka-configs", *at, "--describe", "--topic", topic)
        answers.append(ToolResult(listed.rc, listed.out.replace("moved-ours", "moved-java"), listed.err))
        eventually("nothing moves", lambda: "No partition" in ours("kafka-reassign-partitions", *at, "--list").out)
        eventually(
            "the directory is changed",
            lambda file=file: "progress" not in ours("kafka-reassign-partitions", *at, "--verify", *file).out,  # type: ignore[misc]
        )
        asked(who, "--verify", *file)
        asked(who, "--cancel", *file)
        asked(who, "--list")
    java, own = ([(one.rc, DIRECTORY.sub("DIR", one.out)) for one in said[who]] for who in ("java", "ours"))
    assert own == java
    wrong = tmp_path / "wrong.json"
    for arguments in (["moved-java", 9, [2]], ["none-such", 0, [2]], ["moved-java", 0, [7]], ["moved-java", 0, [1, 1]]):
        names = dict(zip(("topic", "partition", "replicas"), arguments, strict=True))
        wrong.write_text(json.dumps({"version": 1, "partitions": [names]}))
        java_, own_ = both("kafka-reassign-partitions", *at, "--execute", "--reassignment-json-file", str(wrong))
        assert (own_.rc, own_.out.split("\n")[0]) == (java_.rc, java_.out.split("\n")[0])
    words = ["--execute", "--reassignment-json-file", str(wrong), "--disallow-replication-factor-change"]
    wrong.write_text('{"version":1,"partitions":[{"topic":"moved-java","partition":0,"replicas":[1,2]}]}')
    alike("kafka-reassign-partitions", *at, *words)
    topics = tmp_path / "topics.json"
    topics.write_text('{"topics":[{"topic":"moved-java"}],"version":1}')
    words = ["--generate", "--topics-to-move-json-file", str(topics), "--broker-list", "1,2"]
    java_, own_ = both("kafka-reassign-partitions", *at, *words)
    assert (own_.rc, own_.out.split("\n")[:3]) == (java_.rc, java_.out.split("\n")[:3])


def as_sets(value: object) -> object:
    """JSON whose lists have no order."""
    if isinstance(value, dict):
        return {name: as_sets(each) for name, each in value.items()}
    return sorted(map(as_sets, value), key=str) if isinstance(value, list) else value
